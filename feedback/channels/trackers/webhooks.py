"""Takes the deliveries of trackers: checked, kept as they came, read by a worker.

A delivery is a hint. Which comment it is about is taken from it; who wrote what, where and when
is asked of the tracker.
"""

import hashlib
import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Protocol

from django.db import transaction
from django.db.models import F, QuerySet
from django.http import HttpRequest, JsonResponse
from django.utils import timezone

from feedback.channels.github import payload as of_github
from feedback.channels.gitlab import payload as of_gitlab
from feedback.channels.markdown import commands
from feedback.channels.trackers import schedule
from feedback.channels.trackers.inbound import hear, hear_signal
from feedback.models import Webhook
from runs import trackers
from runs.accounts import forwarding
from runs.domain.values.plain_json import storable
from runs.jobs import queue
from runs.jobs.table import Job
from runs.models import Project, clock, tracked_at
from runs.trackers import NotThere, Place, Slowed, Tracker, TrackerError, Unreachable

logger = logging.getLogger(__name__)

LARGEST = 25 * 1024 * 1024
AT_ONCE = 100
# A comment may be shown a moment after it was told of; one that was deleted never is.
_LOOKS_FOR_A_COMMENT = 4
_SHORTEST_WAIT, _LONGEST_WAIT = timedelta(seconds=10), timedelta(minutes=10)


class PayloadReader(Protocol):
    """How the payload of a tracker is read; whatever it says, nothing is raised."""

    def repository(self, payload: object) -> str: ...

    def new_text(self, event: str, payload: object) -> str:
        """What a new comment says; nothing when the delivery is about anything else."""

    def comment_of(self, payload: object) -> tuple[Place, int] | None:
        """Where the comment is, as far as the tracker must be told, and its number."""

    def signalled(self, event: str, payload: object) -> Place | None:
        """The issue that got a label or an assignee; None for anything else."""


_READERS: Mapping[Tracker, PayloadReader] = {Tracker.GITHUB: of_github, Tracker.GITLAB: of_gitlab}


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter:
    """What the headers of a delivery say, and how it is known to be the tracker's."""

    tracker: Tracker
    delivery_id: str
    event: str
    is_genuine: Callable[[bytes, str], bool]  # by its body and the secret
    problem: str  # said to whoever sent one that is not


def receive(request: HttpRequest, letter: Letter) -> JsonResponse:
    """Keep what a tracker sends, when it is the tracker; nothing is acted on here.

    With `?project=` the secret is that project's own, which says nothing about other repositories.
    """
    named = request.GET.get("project")
    project = _project(named) if named is not None else None
    body = request.read(LARGEST + 1)  # not `body`, which is meant for forms and stops earlier
    if len(body) > LARGEST:
        return too_large()
    if not letter.is_genuine(body, _secret(letter.tracker, named, project)):
        return said(401, letter.problem)
    try:
        payload = _payload(body)
    except RecursionError:
        return said(400, "The delivery is nested too deeply.")
    except ValueError:
        return said(400, "The delivery is not JSON.")
    reader = _READERS[letter.tracker]
    if project and reader.repository(payload).casefold() != project.tracked_as.casefold():
        return said(401, "The secret belongs to another repository.")
    # A busy repository sends many that cannot hold a command.
    is_spoken = "@faber" in reader.new_text(letter.event, payload).casefold()
    if not is_spoken and not _may_start(letter.tracker, reader.signalled(letter.event, payload)):
        return said(202, "Nothing to do.")
    _keep(letter, body)
    return said(202, "Stored.")


def refusal_without_secret(tracker: Tracker, *, is_forwarded: bool) -> JsonResponse | None:
    """What can be said of any delivery before its body is there."""
    if not is_forwarded and not trackers.service(tracker).options().webhook_secret:
        return said(503, "No webhook secret is set.")
    return None


def too_large() -> JsonResponse:
    return said(413, "The delivery is larger than 25 MB.")


def said(status: int, message: str) -> JsonResponse:
    return JsonResponse({"message": message}, status=status)


def read_new() -> None:
    """Hear the comments of all deliveries that are due, in the order they came."""
    for tracker in trackers.running():
        _read_new(tracker)


def _read_new(tracker: Tracker) -> None:
    while unread := list(due().filter(tracker=tracker).order_by("tries", "pk")[:AT_ONCE]):
        for kept in unread:
            try:
                _read(tracker, kept)
            except TrackerError as error:
                _put_off(kept, error)
                if isinstance(error, Slowed | Unreachable):
                    return  # the others would fare no better
            else:
                Webhook.objects.filter(pk=kept.pk).update(read_at=timezone.now())


def due() -> QuerySet[Webhook]:
    """Deliveries that were not read yet, without those whose next try is later."""
    return Webhook.objects.filter(read_at=None, try_at__lte=clock.now())


def _may_start(tracker: Tracker, place: Place | None) -> bool:
    """Whether what is done to this issue may start a run."""
    if place is None:
        return False
    return tracked_at(tracker, place.repository).exclude(start_workflow="").exists()


def _read(tracker: Tracker, kept: Webhook) -> None:
    reader, payload = _READERS[tracker], _payload(bytes(kept.body))
    if place := reader.signalled(kept.event, payload):
        if _may_start(tracker, place):
            _read_signals(place, since=kept.received_at - schedule.MARGIN)
        return
    if commands.parse(reader.new_text(kept.event, payload)) is None:
        return  # most comments only speak of us: the tracker is asked about those that may command
    named = reader.comment_of(payload)
    # Elsewhere the site may have rights too, but nothing to do.
    if named is None or not tracked_at(tracker, named[0].repository).exists():
        logger.warning("Delivery %s is about no comment of a project.", kept.delivery_id)
        return
    place, comment_id = named
    client = trackers.service(tracker).client()
    try:
        comment = client.comment(place, comment_id)
    except NotThere:
        if kept.tries + 1 < _LOOKS_FOR_A_COMMENT:
            raise
        logger.info("Comment %s of %s is gone.", comment_id, place.repository)
        return
    if comment.place.repository.casefold() == place.repository.casefold():
        hear(client, comment)


def _read_signals(place: Place, *, since: datetime) -> None:
    """Who did what is read from the issue's own events; older ones had their time."""
    client = trackers.service(place.tracker).client()
    for signal in client.signals_of(place):
        if signal.at >= since:
            hear_signal(client, signal)


def _put_off(kept: Webhook, error: TrackerError) -> None:
    logger.warning("Delivery %s cannot be read now: %s", kept.delivery_id, error)
    wait = min(_SHORTEST_WAIT * 2 ** min(kept.tries, 10), _LONGEST_WAIT)
    until = clock.now() + max(wait, timedelta(seconds=error.retry_after or 0))
    Webhook.objects.filter(pk=kept.pk).update(tries=F("tries") + 1, try_at=until)
    if isinstance(error, Slowed):
        due().filter(tracker=kept.tracker).update(try_at=until)


def _project(name: str) -> Project | None:
    # A name with a NUL would be an error to PostgreSQL instead of nobody's.
    return Project.objects.filter(name__iexact=name).first() if "\0" not in name else None


def _secret(tracker: Tracker, named: str | None, project: Project | None) -> str:
    if named is None:
        return trackers.service(tracker).options().webhook_secret
    return forwarding.secret_of(project) if project else ""


def _payload(body: bytes) -> Any:
    """What any database keeps: one delivery that cannot be stored would hold up all after it."""
    return storable(json.loads(body))


def _keep(letter: Letter, body: bytes) -> None:
    """Once: a tracker's button sends the same delivery again, and so may others."""
    # Without an id the content is one: the same comment is the same delivery.
    name = letter.delivery_id[:100] or hashlib.sha256(body).hexdigest()
    with transaction.atomic():
        # Whoever reads goes on until nothing is left, so that one job is enough for many.
        is_read_anyway = due().filter(tracker=letter.tracker).exists()
        kept = Webhook(tracker=letter.tracker, delivery_id=name, event=letter.event, body=body)
        Webhook.objects.bulk_create([kept], ignore_conflicts=True)
        if not is_read_anyway:
            queue.enqueue(Job.READ_WEBHOOKS)
