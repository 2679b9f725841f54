"""Tells from what workers leave in the database whether any of them is alive."""

from collections.abc import Mapping
from datetime import timedelta

from django.db.models import DurationField, ExpressionWrapper, Max
from django.db.models.functions import Now

from runs.jobs import queue
from runs.jobs.engine import OutOfReach
from runs.jobs.table import Lane
from runs.models import WorkerBeat, machine

# Longer than it takes to notice a stuck cluster and start another, so that nobody is alarmed
# about what heals by itself.
PATIENCE = timedelta(seconds=15)

COLUMNS = {Lane.STEPS: "beat_at", Lane.SHORT: "short_beat_at"}


def record() -> None:
    """Leave a sign of life; only a worker that takes steps can."""
    note(Lane.STEPS)


def record_short() -> None:
    """Leave a sign of life; only a worker that takes short jobs can."""
    note(Lane.SHORT)


def note(lane: Lane) -> None:
    """A lane of this machine was seen to live."""
    # The clock of the database, so that hosts with clocks of their own agree.
    column = COLUMNS[lane]
    WorkerBeat.objects.bulk_create(
        [WorkerBeat(host=machine.name(), **{column: Now()})],
        update_conflicts=True,
        unique_fields=["host"],
        update_fields=[column],
    )


Ages = Mapping[Lane, timedelta | None]


def ages() -> Ages:
    """How long ago each lane last gave a sign, on any host; None when it never did."""
    since = {
        column: ExpressionWrapper(Now() - Max(column), output_field=DurationField())
        for column in COLUMNS.values()
    }
    found = WorkerBeat.objects.aggregate(**{f"{name}_age": age for name, age in since.items()})
    return {lane: found[f"{column}_age"] for lane, column in COLUMNS.items()}


def silent(found: Ages) -> list[Lane]:
    """The lanes that nobody works in."""
    return [lane for lane, age in found.items() if age is None or age >= PATIENCE]


def why_nothing_runs() -> str:
    """For who has just queued something; nothing when a worker will take it."""
    if worker_is_alive():
        return ""
    try:
        queue.check()
    except OutOfReach:
        return "The broker of the job queue is out of reach. Steps run when it is back."
    return "No worker is running. Start one with `faber up` or `faber work`."


def worker_is_alive() -> bool:
    """Whether some worker takes steps, and some the short jobs.

    Who executes a run at a terminal takes no jobs, whatever steps it holds.
    """
    return not silent(ages())
