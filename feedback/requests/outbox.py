"""Rows that must leave the site: taken by one worker at a time, put off when sending fails."""

from datetime import datetime, timedelta
from typing import TypeVar

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from feedback.models import Outgoing
from runs.jobs import queue
from runs.jobs.table import Job

R = TypeVar("R", bound=Outgoing)

# How long something due may wait for its job before another is queued.
_PATIENCE = timedelta(seconds=30)


def take(rows: QuerySet[R], pk: int, *, turn: timedelta) -> R | None:
    """The row, unless it is somebody else's turn or nothing is due; a turn outlasts any sending."""
    now = timezone.now()
    due = rows.filter(pk=pk, is_due=True, next_try_at__lte=now)
    with transaction.atomic():
        row = due.first()
        # Written before anything is sent: a second try knows that there was a first.
        taken = row and due.filter(attempts=row.attempts).update(
            attempts=row.attempts + 1, next_try_at=now + turn
        )
    return row if taken else None


def put_off(row: Outgoing, until: datetime, why: str, job: Job) -> None:
    """Note why it could not be sent, and have it tried again."""
    with transaction.atomic():
        type(row)._default_manager.filter(pk=row.pk).update(
            next_try_at=until, last_error=why[:1000]
        )
        queue.enqueue_at(until, job, row.pk)


def catch_up(rows: QuerySet[R], job: Job, most: int = 100) -> None:
    """Queue what should have left by now and did not: its job was lost with its worker."""
    now = timezone.now()
    late = rows.filter(is_due=True, next_try_at__lt=now - _PATIENCE)
    for pk in list(late.values_list("pk", flat=True)[:most]):
        # From now on it waits for this job, so that the next sweep does not queue another.
        if late.filter(pk=pk).update(next_try_at=now):
            queue.enqueue(job, pk)
