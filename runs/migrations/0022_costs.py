"""What agents cost, in columns of their own: sums need not read what steps handed back."""

import math
from collections import defaultdict

from django.conf import settings
from django.db import migrations, models


_AT_ONCE = 500
_COLUMNS = ("cost_usd", "input_tokens", "output_tokens")


def note_those_told(apps, schema_editor):
    """Copy what agents told before there were columns for it."""
    attempts = apps.get_model("faber_runs", "StepAttempt").objects
    runs = apps.get_model("faber_runs", "Run").objects
    sums = defaultdict(lambda: dict.fromkeys(_COLUMNS))
    changed = []
    told = attempts.filter(usage__isnull=False).only("pk", "run_id", "usage")
    for attempt in told.iterator(chunk_size=_AT_ONCE):
        for name, amount in _amounts(attempt.usage).items():
            setattr(attempt, name, amount)
            of_run = sums[attempt.run_id]
            of_run[name] = (of_run[name] or 0) + amount
        changed.append(attempt)
        if len(changed) == _AT_ONCE:
            attempts.bulk_update(changed, _COLUMNS)
            changed.clear()
    attempts.bulk_update(changed, _COLUMNS)
    for run_pk, amounts in sums.items():
        runs.filter(pk=run_pk).update(**amounts)


def _amounts(usage):
    known = usage if isinstance(usage, dict) else {}
    told = {name: known.get(name) for name in _COLUMNS}
    return {
        name: amount if name == "cost_usd" else round(amount)
        for name, amount in told.items()
        if isinstance(amount, int | float)
        and amount is not True
        and math.isfinite(amount)
        and 0 <= amount < 10**15
    }


class Migration(migrations.Migration):
    dependencies = [
        ("faber_runs", "0021_upkeep"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name="run",
            name="budgets",
            field=models.JSONField(blank=True, db_default={}, default=dict),
        ),
        migrations.AddField(
            model_name="run",
            name="cost_usd",
            field=models.FloatField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="run",
            name="input_tokens",
            field=models.BigIntegerField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="run",
            name="output_tokens",
            field=models.BigIntegerField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="stepattempt",
            name="cost_usd",
            field=models.FloatField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="stepattempt",
            name="input_tokens",
            field=models.BigIntegerField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="stepattempt",
            name="output_tokens",
            field=models.BigIntegerField(blank=True, null=True),
        ),
        migrations.RunPython(note_those_told, migrations.RunPython.noop, elidable=True),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                condition=models.Q(
                    ("cost_usd__isnull", False), ("output_tokens__isnull", False), _connector="OR"
                ),
                fields=["project", "cost_usd", "input_tokens", "output_tokens"],
                name="runs_that_cost",
            ),
        ),
        migrations.AddIndex(
            model_name="stepattempt",
            index=models.Index(
                condition=models.Q(
                    ("cost_usd__isnull", False), ("output_tokens__isnull", False), _connector="OR"
                ),
                fields=["finished_at", "run", "cost_usd", "input_tokens", "output_tokens"],
                name="attempts_that_cost",
            ),
        ),
    ]
