"""From 0027 to 0031 in one, for a database that has none of them."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    replaces = [('faber_feedback', '0027_requests_by_age'), ('faber_feedback', '0028_deliveries'), ('faber_feedback', '0029_event_of_a_tool_call'), ('faber_feedback', '0030_tallies'), ('faber_feedback', '0031_requests_of_project')]

    dependencies = [
        ('faber_feedback', '0026_inbox_by_due'),
        ('faber_runs', '0034_no_attempts_by_outcome'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='feedbackrequest',
            index=models.Index(fields=['requested_at', 'id'], name='requests_by_age'),
        ),
        migrations.AlterModelOptions(
            name='delivery',
            options={'verbose_name_plural': 'deliveries'},
        ),
        migrations.AddField(
            model_name='toolcall',
            name='event',
            field=models.CharField(blank=True, db_default='', default='', max_length=200),
        ),
        migrations.CreateModel(
            name='KeptTotal',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=40, unique=True)),
                ('up_to', models.BigIntegerField(default=0)),
                ('unfinished', models.JSONField(default=list)),
                ('sums', models.JSONField(default=list)),
                ('seen', models.BigIntegerField(default=0)),
                ('seen_at', models.DateTimeField()),
            ],
        ),
        migrations.AddField(
            model_name='feedbackrequest',
            name='project',
            field=models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='faber_runs.project'),
        ),
        migrations.AddIndex(
            model_name='feedbackrequest',
            index=models.Index(condition=models.Q(('status', 'pending')), fields=['project', 'status', 'due_at', 'ranked_at', 'id'], name='requests_of_project'),
        ),
        migrations.AddIndex(
            model_name='feedbackrequest',
            index=models.Index(condition=models.Q(('status', 'pending')), fields=['project', 'status', 'type'], name='types_of_project'),
        ),
    ]
