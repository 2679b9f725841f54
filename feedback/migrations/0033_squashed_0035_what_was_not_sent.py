"""From 0033 to 0035 in one, for a database that has none of them."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    replaces = [('faber_feedback', '0033_daily_totals'), ('faber_feedback', '0034_requests_by_date_and_weight'), ('faber_feedback', '0035_what_was_not_sent')]

    dependencies = [
        ('faber_feedback', '0032_projects_of_requests'),
        ('faber_runs', '0034_no_attempts_by_outcome'),
        ('faber_runs', '0035_runs_by_cost'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='DailyTotal',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=40)),
                ('day', models.DateField()),
                ('counted', models.BigIntegerField(default=0)),
                ('usd', models.FloatField(default=0.0)),
                ('tokens_in', models.BigIntegerField(default=0)),
                ('tokens_out', models.BigIntegerField(default=0)),
                ('project', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='faber_runs.project')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('name', 'day', 'project'), name='one_total_a_day')],
            },
        ),
        migrations.AddIndex(
            model_name='feedbackrequest',
            index=models.Index(models.F('status'), models.OrderBy(models.F('steps_behind'), descending=True), models.F('requested_at'), condition=models.Q(('status', 'pending')), name='requests_that_block'),
        ),
        migrations.AddIndex(
            model_name='feedbackrequest',
            index=models.Index(condition=models.Q(('due_at__isnull', False)), fields=['status', 'closed_at', 'due_at'], name='requests_with_date'),
        ),
        migrations.AddIndex(
            model_name='callback',
            index=models.Index(condition=models.Q(('delivered_at', None)), fields=['is_due'], name='callbacks_undone'),
        ),
        migrations.AddIndex(
            model_name='notice',
            index=models.Index(condition=models.Q(('sent_at', None)), fields=['is_due'], name='notices_unsent'),
        ),
        migrations.AddIndex(
            model_name='webhookdelivery',
            index=models.Index(condition=models.Q(('delivered_at', None)), fields=['is_due'], name='webhooks_undone'),
        ),
    ]
