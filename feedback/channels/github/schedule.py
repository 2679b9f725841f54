"""Sees to it that GitHub is listened to in time; `polling` and `webhook` do the listening."""

from datetime import timedelta

from django.conf import settings
from django.db.models import Q
from django.utils import timezone

from feedback.models import CommentState, InboundComment, Listening, Webhook
from runs.jobs import queue
from runs.jobs.table import Job
from runs.models import clock

# How long a heard comment may wait for its job before the sweep queues another.
_PATIENCE = timedelta(seconds=10)
# By how much our clock may be ahead of GitHub's, by which comments are asked for.
_MARGIN = timedelta(minutes=15)


def listen_to(repository: str) -> None:
    """Begin to read the comments of a repository, from a little before now."""
    Listening.objects.get_or_create(
        repository=repository.casefold(), defaults={"since": timezone.now() - _MARGIN}
    )


def catch_up(most: int = 100) -> None:
    """Queue what was heard and not acted on, and the repositories whose turn has come."""
    now = clock.now()
    lost = queue.lost_before(Job.ACT_ON_COMMENT, now, _PATIENCE)
    waiting = InboundComment.objects.filter(state=CommentState.HEARD, try_at__lt=lost)
    for pk in list(waiting.values_list("pk", flat=True)[:most]):
        if waiting.filter(pk=pk).update(try_at=now):
            queue.enqueue(Job.ACT_ON_COMMENT, pk)
    unread = Webhook.objects.filter(
        read_at=None, try_at__lt=queue.lost_before(Job.READ_WEBHOOKS, now, _PATIENCE)
    )
    # From now on they wait for this job, so that neither the next sweep nor another machine's
    # queues one more: whoever reads goes on until nothing is left.
    if unread.exists() and unread.update(try_at=now):
        queue.enqueue(Job.READ_WEBHOOKS)
    if settings.FABER_GITHUB_POLL_SECONDS:
        _queue_polls(most)


def _queue_polls(most: int) -> None:
    now = clock.now()
    # A repository whose turn comes while its last read still waits gets no second one.
    interval = timedelta(seconds=settings.FABER_GITHUB_POLL_SECONDS)
    turn = queue.lost_before(Job.POLL, now, interval)
    # Whoever read in a time to come had a clock that was set back since.
    is_due = Q(polled_at=None) | Q(polled_at__lt=turn) | Q(polled_at__gt=now + _PATIENCE)
    due = Listening.objects.filter(is_due)
    for pk in list(due.values_list("pk", flat=True)[:most]):
        if due.filter(pk=pk).update(polled_at=now):
            queue.enqueue(Job.POLL, pk)
