"""Sees to it that GitHub is listened to in time; `polling` and `webhook` do the listening."""

from datetime import timedelta

from django.conf import settings
from django.db.models import Q
from django.utils import timezone

from feedback.models import CommentState, InboundComment, Listening, Webhook
from runs.jobs import queue
from runs.jobs.table import Job

# How long a heard comment may wait for its job before the sweep queues another.
_PATIENCE = timedelta(seconds=10)
_MARGIN = timedelta(minutes=5)


def listen_to(repository: str) -> None:
    """Begin to read the comments of a repository, from a little before now."""
    Listening.objects.get_or_create(
        repository=repository.casefold(), defaults={"since": timezone.now() - _MARGIN}
    )


def catch_up(most: int = 100) -> None:
    """Queue what was heard and not acted on, and the repositories whose turn has come."""
    now = timezone.now()
    waiting = InboundComment.objects.filter(state=CommentState.HEARD, heard_at__lt=now - _PATIENCE)
    for pk in list(waiting.values_list("pk", flat=True)[:most]):
        if waiting.filter(pk=pk).update(heard_at=now):
            queue.enqueue(Job.ACT_ON_COMMENT, pk)
    if Webhook.objects.filter(read_at=None, received_at__lt=now - _PATIENCE).exists():
        queue.enqueue(Job.READ_WEBHOOKS)
    if settings.FABER_GITHUB_POLL_SECONDS:
        _queue_polls(most)


def _queue_polls(most: int) -> None:
    now = timezone.now()
    turn = now - timedelta(seconds=settings.FABER_GITHUB_POLL_SECONDS)
    due = Listening.objects.filter(Q(polled_at=None) | Q(polled_at__lt=turn))
    for pk in list(due.values_list("pk", flat=True)[:most]):
        if due.filter(pk=pk).update(polled_at=now):
            queue.enqueue(Job.POLL, pk)
