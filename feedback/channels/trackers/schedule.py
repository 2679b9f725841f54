"""Sees to it that trackers are listened to in time; `polling` and `webhooks` do the listening."""

from collections.abc import Sequence
from datetime import timedelta

from django.db.models import Q
from django.utils import timezone

from feedback.models import CommentState, InboundComment, Listening, Webhook
from runs import trackers
from runs.jobs import queue
from runs.jobs.table import Job
from runs.models import Project, clock
from runs.trackers import Tracker

# How long a heard comment may wait for its job before the sweep queues another.
_PATIENCE = timedelta(seconds=10)
# By how much our clock may be ahead of a tracker's, by which comments are asked for.
MARGIN = timedelta(minutes=15)
_ANY_ISSUE = "1"


def listen_to(tracker: Tracker, repository: str) -> None:
    """Begin to read the comments of a repository, from a little before now."""
    Listening.objects.get_or_create(
        tracker=tracker,
        repository=repository.casefold(),
        defaults={"since": timezone.now() - MARGIN},
    )


def listen_where_issues_start() -> None:
    """Begin to read the repositories of projects that say what their issues start."""
    known = set(Listening.objects.values_list("tracker", "repository"))
    for project in Project.objects.exclude(start_workflow=""):
        place = trackers.place_of(project.tracker, project.tracked_as, _ANY_ISSUE)
        if place and (place.tracker.value, place.repository.casefold()) not in known:
            listen_to(place.tracker, place.repository)


def catch_up(running: Sequence[Tracker], most: int = 100) -> None:
    """Queue what was heard and not acted on, and the repositories whose turn has come."""
    now = clock.now()
    lost = queue.lost_before(Job.ACT_ON_COMMENT, now, _PATIENCE)
    waiting = InboundComment.objects.filter(
        state=CommentState.HEARD, try_at__lt=lost, tracker__in=running
    )
    for pk in list(waiting.values_list("pk", flat=True)[:most]):
        if waiting.filter(pk=pk).update(try_at=now):
            queue.enqueue(Job.ACT_ON_COMMENT, pk)
    unread = Webhook.objects.filter(
        read_at=None,
        try_at__lt=queue.lost_before(Job.READ_WEBHOOKS, now, _PATIENCE),
        tracker__in=running,
    )
    # From now on they wait for this job, so that neither the next sweep nor another machine's
    # queues one more: whoever reads goes on until nothing is left.
    if unread.exists() and unread.update(try_at=now):
        queue.enqueue(Job.READ_WEBHOOKS)
    listen_where_issues_start()
    for tracker in running:
        if seconds := trackers.service(tracker).options().poll_seconds:
            _queue_polls(tracker, timedelta(seconds=seconds), most)


def _queue_polls(tracker: Tracker, interval: timedelta, most: int) -> None:
    now = clock.now()
    # A repository whose turn comes while its last read still waits gets no second one.
    turn = queue.lost_before(Job.POLL, now, interval)
    # Whoever read in a time to come had a clock that was set back since.
    is_due = Q(polled_at=None) | Q(polled_at__lt=turn) | Q(polled_at__gt=now + _PATIENCE)
    due = Listening.objects.filter(is_due, tracker=tracker)
    for pk in list(due.values_list("pk", flat=True)[:most]):
        if due.filter(pk=pk).update(polled_at=now):
            queue.enqueue(Job.POLL, pk)
