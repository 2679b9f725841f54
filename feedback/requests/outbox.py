"""What should have left by now and did not: its job was lost with the worker that had it."""

from datetime import timedelta

from django.db.models import QuerySet
from django.utils import timezone

from feedback.models import Callback, Delivery
from runs.jobs import queue

# How long something due may wait for its job before another is queued.
_PATIENCE = timedelta(seconds=30)


def queue_again(rows: QuerySet[Delivery] | QuerySet[Callback], job: str, most: int = 100) -> None:
    now = timezone.now()
    late = rows.filter(is_due=True, next_try_at__lt=now - _PATIENCE)
    for pk in list(late.values_list("pk", flat=True)[:most]):
        # From now on it waits for this job, so that the next sweep does not queue another.
        if late.filter(pk=pk).update(next_try_at=now):
            queue.enqueue(job, pk)
