"""Who a request is assigned to, and who handed it over to whom."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('faber_feedback', '0018_standing_rules'),
    ]

    operations = [
        migrations.AddField(
            model_name='feedbackrequest',
            name='assignee',
            field=models.CharField(blank=True, db_default='', default='', max_length=150),
        ),
        migrations.AddField(
            model_name='feedbackrequest',
            name='dealt_to',
            field=models.CharField(blank=True, db_default='', default='', max_length=150),
        ),
        migrations.AddField(
            model_name='feedbackrequest',
            name='delegated',
            field=models.JSONField(blank=True, db_default=[], default=list),
        ),
        migrations.AlterField(
            model_name='announcement',
            name='kind',
            field=models.CharField(choices=[('opened', 'Opened'), ('reminder', 'Reminder'), ('escalated', 'Escalated'), ('delegated', 'Delegated'), ('decided', 'Decided'), ('withdrawn', 'Withdrawn'), ('superseded', 'Superseded'), ('run_finished', 'Run Finished'), ('run_failed', 'Run Failed'), ('test', 'Test')], max_length=20),
        ),
    ]
