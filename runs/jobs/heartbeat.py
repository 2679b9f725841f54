"""Tells from what workers leave in the database whether any of them is alive."""

import socket
from datetime import timedelta

from django.db.models import DurationField, ExpressionWrapper, F
from django.db.models.functions import Now

from runs.models import StepAttempt, WorkerBeat

# Longer than it takes to notice a stuck cluster and start another, so that nobody is alarmed
# about what heals by itself.
PATIENCE = timedelta(seconds=15)


def record() -> None:
    """Leave a sign of life; only a worker that takes jobs can."""
    # The clock of the database, so that hosts with clocks of their own agree.
    WorkerBeat.objects.bulk_create(
        [WorkerBeat(host=socket.gethostname(), beat_at=Now())],
        update_conflicts=True,
        unique_fields=["host"],
        update_fields=["beat_at"],
    )


def latest_age() -> timedelta | None:
    """How long ago a worker last took a beat, on any host; None when none ever did."""
    since = ExpressionWrapper(Now() - F("beat_at"), output_field=DurationField())
    ages = WorkerBeat.objects.order_by("-beat_at").values_list(since, flat=True)
    return ages.first()


def worker_is_alive() -> bool:
    """Whether some worker takes jobs, or all are so busy with steps that none can."""
    age = latest_age()
    return (age is not None and age < PATIENCE) or _somebody_holds_a_step()


def _somebody_holds_a_step() -> bool:
    held = StepAttempt.objects.filter(
        status=StepAttempt.Status.RUNNING, is_remote=False, lease_until__gt=Now()
    )
    return held.exists()
