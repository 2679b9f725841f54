from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('faber_feedback', '0035_what_was_not_sent'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='delivery',
            index=models.Index(condition=models.Q(('is_due', False)), fields=['attempts', 'next_try_at'], name='deliveries_done'),
        ),
        migrations.AddIndex(
            model_name='notice',
            index=models.Index(condition=models.Q(('sent_at', None), models.Q(('last_error', ''), _negated=True)), fields=['receiver', 'created_at'], name='notices_failing'),
        ),
        migrations.AddIndex(
            model_name='webhookdelivery',
            index=models.Index(condition=models.Q(('delivered_at', None), models.Q(('last_error', ''), _negated=True)), fields=['endpoint', 'tried_at'], name='webhooks_failing'),
        ),
    ]
