"""Which token asked a question, and which refusal it comes after."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('faber_feedback', '0020_quorum_of_groups'),
    ]

    operations = [
        migrations.AddField(
            model_name='feedbackrequest',
            name='asked_by',
            field=models.CharField(blank=True, db_default='', default='', max_length=100),
        ),
        migrations.AddField(
            model_name='feedbackrequest',
            name='repeats',
            field=models.CharField(blank=True, db_default='', default='', max_length=40),
        ),
    ]
