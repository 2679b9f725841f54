"""Reads comments and events of repositories: what a webhook did not bring is found here."""

import logging
from datetime import timedelta

from feedback.channels.trackers import schedule
from feedback.channels.trackers.inbound import hear, hear_signal
from feedback.models import Listening
from runs import trackers
from runs.models import clock, tracked_at
from runs.trackers import Tracker, TrackerClient, TrackerError

logger = logging.getLogger(__name__)

# GitHub counts whole seconds, and a comment may be listed a moment after it was made.
_OVERLAP = timedelta(seconds=2)


def poll(listening_pk: int) -> int:
    """Hear what is new in one repository; returns how much of it spoke to us."""
    listening = Listening.objects.get(pk=listening_pk)
    client = trackers.service(Tracker(listening.tracker)).client()
    try:
        heard = _hear_comments(client, listening) + _hear_signals(client, listening)
    except TrackerError as error:
        logger.warning("%s cannot be read now: %s", listening.repository, error)
        Listening.objects.filter(pk=listening.pk).update(last_error=str(error)[:1000])
        return 0
    listening.polled_at, listening.last_error = clock.now(), ""
    listening.save(update_fields=["polled_at", "last_error"])
    return heard


def _hear_comments(client: TrackerClient, listening: Listening) -> int:
    news = client.comments_since(listening.repository, listening.since, listening.etag)
    if news is None:
        return 0
    heard = sum(hear(client, comment) for comment in news.comments)
    listening.etag = news.etag
    if news.comments:
        newest = max(comment.updated_at for comment in news.comments)
        listening.since = max(listening.since, newest - _OVERLAP)
        listening.etag = ""  # of another question from now on
    listening.save(update_fields=["since", "etag"])
    return heard


def _hear_signals(client: TrackerClient, listening: Listening) -> int:
    """The labels and assignments, where some project says what they start."""
    here = tracked_at(Tracker(listening.tracker), listening.repository).exclude(start_workflow="")
    labels = [project.start_label for project in here]
    if not labels:
        return 0
    since = listening.events_since or listening.since
    wanted = [label for label in labels if label]
    news = client.signals_since(listening.repository, since, wanted, listening.events_etag)
    if news is None:
        return 0
    heard = sum(hear_signal(client, signal) for signal in news.signals)
    newest = max((signal.at for signal in news.signals), default=since)
    listening.events_since = max(since, newest - _OVERLAP)
    listening.events_etag = news.etag
    listening.save(update_fields=["events_since", "events_etag"])
    return heard


def poll_all() -> int:
    schedule.listen_where_issues_start()
    rows = Listening.objects.filter(tracker__in=trackers.running())
    return sum(poll(pk) for pk in rows.values_list("pk", flat=True))
