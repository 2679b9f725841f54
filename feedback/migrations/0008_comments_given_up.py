"""How often GitHub was asked for a comment that commands, and when; when ours was posted."""

import django.db.models.functions.datetime
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('faber_feedback', '0007_record_of_what_was_there'),
    ]

    operations = [
        migrations.AddField(
            model_name='delivery',
            name='posted_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.RemoveIndex(
            model_name='inboundcomment',
            name='comments_to_act_on',
        ),
        migrations.AddField(
            model_name='inboundcomment',
            name='tries',
            field=models.PositiveIntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name='inboundcomment',
            name='try_at',
            field=models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), default=django.utils.timezone.now),
        ),
        migrations.AlterField(
            model_name='inboundcomment',
            name='state',
            field=models.CharField(choices=[('heard', 'Heard'), ('done', 'Done'), ('refused', 'Refused'), ('given_up', 'Given Up')], default='heard', max_length=10),
        ),
        migrations.AddIndex(
            model_name='inboundcomment',
            index=models.Index(fields=['state', 'try_at'], name='comments_to_act_on'),
        ),
    ]
