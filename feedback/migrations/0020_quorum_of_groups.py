"""How many of each group must agree."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('faber_feedback', '0019_handover'),
    ]

    operations = [
        migrations.AddField(
            model_name='feedbackrequest',
            name='quorum_groups',
            field=models.JSONField(blank=True, db_default={}, default=dict),
        ),
    ]
