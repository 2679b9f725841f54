"""How long people of a project may take, and when they are there."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('faber_runs', '0016_code_changes'),
    ]

    operations = [
        migrations.AddField(
            model_name='project',
            name='business_hours',
            field=models.CharField(blank=True, db_default='', default='', max_length=300),
        ),
        migrations.AddField(
            model_name='project',
            name='due',
            field=models.CharField(blank=True, db_default='', default='', max_length=10),
        ),
        migrations.AddField(
            model_name='project',
            name='escalate_after',
            field=models.CharField(blank=True, db_default='', default='', max_length=10),
        ),
        migrations.AddField(
            model_name='project',
            name='escalate_to',
            field=models.JSONField(blank=True, db_default=[], default=list),
        ),
        migrations.AddField(
            model_name='project',
            name='on_timeout',
            field=models.JSONField(blank=True, db_default=[], default=list),
        ),
        migrations.AddField(
            model_name='project',
            name='remind',
            field=models.CharField(blank=True, db_default='', default='', max_length=10),
        ),
        migrations.AddField(
            model_name='project',
            name='timezone',
            field=models.CharField(blank=True, db_default='', default='', max_length=60),
        ),
    ]
