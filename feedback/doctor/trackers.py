"""What is wrong between the site and trackers: credentials, comments that did not go out or in."""

from collections.abc import Iterator
from functools import partial

from django.utils import timezone

from feedback.channels.trackers import inbound, polling
from feedback.channels.trackers import webhooks as deliveries
from feedback.channels.trackers.delivery import deliver_now
from feedback.doctor import given_up
from feedback.doctor.finding import MOST, PATIENCE, Finding, place_of
from feedback.models import CommentState, Delivery, InboundComment, Listening, Webhook
from runs import trackers
from runs.models import Project
from runs.trackers import Permission, Tracker, TrackerError


def comments() -> Iterator[Finding]:
    """Comments that wait to go out, or to be acted on."""
    before = timezone.now() - PATIENCE
    for delivery in Delivery.objects.filter(is_due=True, created_at__lt=before)[:MOST]:
        yield Finding(
            what=f"The comment {delivery.mark} is missing on {place_of(delivery)}",
            cause=delivery.last_error or "its job is lost",
            since=delivery.created_at,
            repair="Post it again.",
            fix=partial(deliver_now, delivery.pk),
        )
    yield from given_up.findings()
    heard = InboundComment.objects.filter(state=CommentState.HEARD, heard_at__lt=before)
    for comment in heard[:MOST]:
        yield Finding(
            what=f"The {comment.kind} by {comment.author} on {place_of(comment)} was not processed",
            cause=f"{comment.place.tracker.label} is unreachable, or its job is lost",
            since=comment.heard_at,
            repair="Process it.",
            fix=partial(inbound.act_on, comment.pk),
        )
    for kept in Webhook.objects.filter(read_at=None, received_at__lt=before)[:MOST]:
        label = Tracker(kept.tracker).label
        yield Finding(
            what=f"The delivery {kept.delivery_id} was not processed",
            cause=f"{label} is unreachable" if kept.tries else "its job is lost",
            since=kept.received_at,
            repair="Read it.",
            fix=deliveries.read_new,
        )


def findings() -> Iterator[Finding]:
    """What the settings of each tracker lack."""
    for tracker in trackers.running():
        yield from _credentials(tracker)
        yield from _deafness(tracker)
        yield from _unwritable(tracker)
        yield from _unread(tracker)


def _credentials(tracker: Tracker) -> Iterator[Finding]:
    service = trackers.service(tracker)
    try:
        service.client().whoami()
    except TrackerError as error:
        yield Finding(
            what=f"{tracker.label} rejects the site's credentials",
            cause=str(error),
            since=None,
            repair=service.options().credentials,
        )


def _deafness(tracker: Tracker) -> Iterator[Finding]:
    options = trackers.service(tracker).options()
    own = Project.objects.filter(webhook_number__gt=0, tracker__in=trackers.names_of(tracker))
    if not (options.poll_seconds or options.webhook_secret or own.exists()):
        name = tracker.upper()
        yield Finding(
            what=f"FABER does not receive {tracker.label} comments",
            cause="no webhook secret is set and polling is off",
            since=None,
            repair=f"Set FABER_{name}_WEBHOOK_SECRET or FABER_{name}_POLL_SECONDS.",
        )


def _unread(tracker: Tracker) -> Iterator[Finding]:
    for listening in Listening.objects.filter(tracker=tracker).exclude(last_error="")[:MOST]:
        yield Finding(
            what=f"The comments of {listening.repository} can't be read",
            cause=listening.last_error,
            since=listening.polled_at,
            repair="Give the token read access to its issues, then read them again.",
            fix=partial(polling.poll, listening.pk),
        )


def _unwritable(tracker: Tracker) -> Iterator[Finding]:
    """Repositories in which the token's owner may not write."""
    client = trackers.service(tracker).client()
    for listening in Listening.objects.filter(tracker=tracker)[:MOST]:
        try:
            allowed = client.own_permission(listening.repository)
        except TrackerError:
            continue  # told above, or when the comments are read
        if not allowed.can_write and allowed is not Permission.TRIAGE:
            yield Finding(
                what=f"The site can't comment in {listening.repository}",
                cause=f"{client.login} has the permission “{allowed.value}” there",
                since=None,
                repair=f"Give {client.login} write access to {listening.repository}.",
            )
