from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('faber_feedback', '0026_inbox_by_due'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='feedbackrequest',
            index=models.Index(fields=['requested_at', 'id'], name='requests_by_age'),
        ),
    ]
