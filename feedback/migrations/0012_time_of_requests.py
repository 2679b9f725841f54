"""What time asks for while a request is open."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('faber_feedback', '0011_code_changes'),
        ('faber_runs', '0017_time_of_projects'),
    ]

    operations = [
        migrations.AddField(
            model_name='feedbackrequest',
            name='acts_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='feedbackrequest',
            name='due_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='feedbackrequest',
            name='escalate_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='feedbackrequest',
            name='escalate_to',
            field=models.JSONField(blank=True, db_default=[], default=list),
        ),
        migrations.AddField(
            model_name='feedbackrequest',
            name='escalated_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='feedbackrequest',
            name='on_timeout',
            field=models.CharField(blank=True, db_default='', default='', max_length=100),
        ),
        migrations.AddField(
            model_name='feedbackrequest',
            name='remind_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='feedbackrequest',
            name='remind_every',
            field=models.CharField(blank=True, db_default='', default='', max_length=10),
        ),
        migrations.AddField(
            model_name='feedbackrequest',
            name='reminded',
            field=models.PositiveIntegerField(db_default=0, default=0),
        ),
        migrations.AddIndex(
            model_name='feedbackrequest',
            index=models.Index(condition=models.Q(('status', 'pending')), fields=['acts_at'], name='requests_by_time'),
        ),
    ]
