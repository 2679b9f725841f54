"""Says on the issue what should be said there: once, and brought up to date in place."""

import hashlib
import logging
from collections.abc import Callable, Mapping
from datetime import timedelta

from django.db import transaction

from feedback.channels.markdown.comments import has_mark
from feedback.channels.trackers import channel, checks, replies
from feedback.models import Delivery
from feedback.requests import outbox
from runs import trackers
from runs.domain.values.status import RequestStatus
from runs.jobs import log_context, queue
from runs.jobs.table import Job
from runs.models import clock
from runs.trackers import (
    AWAITING_LABEL,
    Comment,
    NotThere,
    RefusedCredentials,
    TrackerClient,
    TrackerError,
)

logger = logging.getLogger(__name__)

# Kept while a call lasts: so long after a worker was killed another looks for its comment.
_TURN = timedelta(seconds=6)
# What is not there may be made, moved back or shown to the token meanwhile; then nobody asks more.
TRIES_FOR_A_PLACE = 8
_SHORTEST, _LONGEST = timedelta(seconds=5), timedelta(minutes=15)
# A tracker is asked for what is newer by its clock; ours may be off, or was when this was noted.
_CLOCKS_APART = timedelta(days=1)


def deliver(delivery_pk: int) -> None:
    """Post or edit one comment; what cannot be done now is tried again later."""
    # Of a tracker that is off it stays due, should that come back.
    rows = Delivery.objects.filter(tracker__in=trackers.running()).select_related(
        "request__run__project", "run__project"
    )
    delivery = outbox.take(rows, delivery_pk, turn=_TURN)
    if delivery is None:
        return
    about = delivery.request.run if delivery.request else delivery.run
    log_context.note_run(about.run_id if about else "")
    client = trackers.service(delivery.place.tracker).client()
    try:
        with outbox.Turn(delivery, _TURN) as turn:
            bring = _BRINGING.get(delivery.kind, _bring_comment)
            digest = bring(client, delivery, turn)
    except outbox.TurnLostError:
        logger.info("Comment %s is left to whoever has it now.", delivery.mark)
    except TrackerError as error:
        _put_off(delivery, error)
    else:
        _done(delivery, digest)


def deliver_now(delivery_pk: int) -> None:
    """Try at once, also what was given up."""
    Delivery.objects.filter(pk=delivery_pk).update(is_due=True, next_try_at=clock.now())
    deliver(delivery_pk)


def _bring_comment(client: TrackerClient, delivery: Delivery, turn: outbox.Turn) -> str:
    """Post or edit the comment; gives a hash of what it says now."""
    body = client.as_posted(replies.comment(delivery))
    digest = hashlib.sha256(body.encode()).hexdigest()
    if delivery.comment_id is None:
        earlier = _found(client, delivery)
        comment = earlier or client.create_comment(delivery.place, body, check=turn.check)
        _remember(delivery, comment)
        if earlier and earlier.body != body:
            _edit(client, delivery, earlier.id, body)
    elif delivery.shown != digest:
        _edit(client, delivery, delivery.comment_id, body)
    _label(client, delivery)
    return digest


_BRINGING: Mapping[str, Callable[[TrackerClient, Delivery, outbox.Turn], str]] = {
    Delivery.Kind.CHECK: checks.bring_up_to_date
}


def _found(client: TrackerClient, delivery: Delivery) -> Comment | None:
    """The comment of an earlier try whose end nobody heard of."""
    if not delivery.attempts and delivery.version == 1:
        return None
    ours = client.login
    since = delivery.created_at - _CLOCKS_APART
    for comment in client.comments_of(delivery.place, since=since):
        if comment.author == ours and has_mark(comment.body, delivery.mark):
            return comment
    return None


def _edit(client: TrackerClient, delivery: Delivery, comment_id: int, body: str) -> None:
    try:
        client.edit_comment(delivery.place, comment_id, body)
    except NotThere:
        # Somebody deleted it, and it is theirs to do so: it is not posted a second time.
        logger.info("Comment %s was deleted there.", delivery.mark)


def _remember(delivery: Delivery, comment: Comment) -> None:
    delivery.comment_id, delivery.comment_url = comment.id, comment.url
    delivery.posted_at = clock.now()
    delivery.save(update_fields=["comment_id", "comment_url", "posted_at"])


def _label(client: TrackerClient, delivery: Delivery) -> None:
    """The issue shows from afar that it waits, where its project wants that or it began there."""
    request = delivery.request
    if request is None:
        return
    if not (request.run.project.labels_issues or channel.is_followed(request.run)):
        return
    # Another run may be about the same issue: it waits as long as one of them does.
    if Delivery.objects.filter(
        tracker=delivery.tracker,
        repository=delivery.repository,
        issue=delivery.issue,
        is_merge_request=delivery.is_merge_request,
        request__status=RequestStatus.PENDING,
    ).exists():
        client.add_label(delivery.place, AWAITING_LABEL)
    else:
        client.remove_label(delivery.place, AWAITING_LABEL)


def _done(delivery: Delivery, digest: str) -> None:
    said = Delivery.objects.filter(pk=delivery.pk)
    with transaction.atomic():
        said.update(attempts=0, last_error="", next_try_at=clock.now(), shown=digest)
        # Something may have been decided while this was being said: then it is due again.
        if not said.filter(version=delivery.version).update(is_due=False):
            queue.enqueue(Job.DELIVER, delivery.pk)


def _put_off(delivery: Delivery, error: TrackerError) -> None:
    # A token that may comment may well not be allowed to set checks.
    is_hopeless = isinstance(error, NotThere) or (
        delivery.kind == Delivery.Kind.CHECK and isinstance(error, RefusedCredentials)
    )
    if is_hopeless and delivery.attempts + 1 >= TRIES_FOR_A_PLACE:
        _give_up(delivery, error)
        return
    wait = _SHORTEST * 2 ** min(delivery.attempts, 10)
    if error.retry_after is not None:
        wait = timedelta(seconds=error.retry_after)
    next_try = clock.now() + min(max(wait, _SHORTEST), _LONGEST)
    logger.warning("Comment %s could not be posted: %s", delivery.mark, error)
    outbox.put_off(delivery, next_try, str(error), Job.DELIVER)


def _give_up(delivery: Delivery, error: TrackerError) -> None:
    logger.warning("Comment %s is not posted any more: %s", delivery.mark, error)
    Delivery.objects.filter(pk=delivery.pk, version=delivery.version).update(
        is_due=False, next_try_at=clock.now(), last_error=str(error)[:1000]
    )
