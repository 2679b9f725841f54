"""Why an operator decided in the place of those who were asked."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('faber_feedback', '0013_webhooks'),
    ]

    operations = [
        migrations.AddField(
            model_name='feedbackresponse',
            name='override',
            field=models.JSONField(blank=True, db_default={}, default=dict),
        ),
    ]
