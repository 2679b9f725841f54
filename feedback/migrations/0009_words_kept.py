"""What is typed on a batch, suggestions on lines, and edits that come with an approval."""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('faber_feedback', '0008_comments_given_up'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name='feedbackresponse',
            name='edits',
            field=models.JSONField(blank=True, db_default=[], default=list),
        ),
        migrations.AddField(
            model_name='reviewcomment',
            name='replacement',
            field=models.TextField(blank=True, db_default='', default=''),
        ),
        migrations.AlterField(
            model_name='reviewcomment',
            name='kind',
            field=models.CharField(choices=[('must', 'Must change'), ('should', 'Should change'), ('question', 'Question'), ('suggestion', 'Suggestion')], default='must', max_length=10),
        ),
        migrations.CreateModel(
            name='BatchDraft',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('batch_id', models.CharField(blank=True, max_length=60)),
                ('values', models.JSONField(default=dict)),
                ('saved_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('author', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('batch_id', 'author'), name='one_batch_draft_per_person')],
            },
        ),
    ]
