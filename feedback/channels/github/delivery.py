"""Says on the issue what should be said there: once, and brought up to date in place."""

import hashlib
import logging
from datetime import timedelta

from django.db import transaction

from feedback.channels.github import replies
from feedback.channels.github.comments import has_mark
from feedback.models import Delivery
from feedback.requests import outbox
from runs import github
from runs.domain.values.status import RequestStatus
from runs.github import Comment, GitHubError, NotThere
from runs.jobs import queue
from runs.jobs.table import Job
from runs.models import clock

logger = logging.getLogger(__name__)

# Kept while a call lasts: so long after a worker was killed another looks for its comment.
_TURN = timedelta(seconds=6)
# What is not there may be made, moved back or shown to the token meanwhile; then nobody asks more.
TRIES_FOR_A_PLACE = 8
_SHORTEST, _LONGEST = timedelta(seconds=5), timedelta(minutes=15)
_LABEL = "faber:awaiting"
# GitHub is asked for what is newer by its clock; ours may be off, or was when this was noted.
_CLOCKS_APART = timedelta(days=1)


def deliver(delivery_pk: int) -> None:
    """Post or edit one comment; what cannot be done now is tried again later."""
    if not github.is_on():  # it stays due, should GitHub come back
        return
    rows = Delivery.objects.select_related("request__run__project", "run__project")
    delivery = outbox.take(rows, delivery_pk, turn=_TURN)
    if delivery is None:
        return
    body = replies.comment(delivery)
    digest = hashlib.sha256(body.encode()).hexdigest()
    try:
        with outbox.Turn(delivery, _TURN) as turn:
            _bring_up_to_date(delivery, body, digest, turn)
    except outbox.TurnLostError:
        logger.info("Comment %s is left to whoever has it now.", delivery.mark)
    except GitHubError as error:
        _put_off(delivery, error)
    else:
        _done(delivery, digest)


def deliver_now(delivery_pk: int) -> None:
    """Try at once, also what was given up."""
    Delivery.objects.filter(pk=delivery_pk).update(is_due=True, next_try_at=clock.now())
    deliver(delivery_pk)


def _bring_up_to_date(delivery: Delivery, body: str, digest: str, turn: outbox.Turn) -> None:
    client = github.client()
    if delivery.comment_id is None:
        earlier = _found(client, delivery)
        comment = earlier or client.create_comment(
            delivery.repository, delivery.issue, body, check=turn.check
        )
        _remember(delivery, comment)
        if earlier and earlier.body != body:
            _edit(client, delivery, earlier.id, body)
    elif delivery.shown != digest:
        _edit(client, delivery, delivery.comment_id, body)
    _label(client, delivery)


def _found(client: github.Client, delivery: Delivery) -> Comment | None:
    """The comment of an earlier try whose end nobody heard of."""
    if not delivery.attempts and delivery.version == 1:
        return None
    ours = client.login
    since = delivery.created_at - _CLOCKS_APART
    for comment in client.comments_of(delivery.repository, delivery.issue, since=since):
        if comment.author == ours and has_mark(comment.body, delivery.mark):
            return comment
    return None


def _edit(client: github.Client, delivery: Delivery, comment_id: int, body: str) -> None:
    try:
        client.edit_comment(delivery.repository, comment_id, body)
    except NotThere:
        # Somebody deleted it, and it is theirs to do so: it is not posted a second time.
        logger.info("Comment %s was deleted on GitHub.", delivery.mark)


def _remember(delivery: Delivery, comment: Comment) -> None:
    delivery.comment_id, delivery.comment_url = comment.id, comment.url
    delivery.posted_at = clock.now()
    delivery.save(update_fields=["comment_id", "comment_url", "posted_at"])


def _label(client: github.Client, delivery: Delivery) -> None:
    """The issue shows from afar that it waits, where its project wants that."""
    request = delivery.request
    if request is None or not request.run.project.labels_issues:
        return
    if request.status == RequestStatus.PENDING:
        client.add_label(delivery.repository, delivery.issue, _LABEL)
    else:
        client.remove_label(delivery.repository, delivery.issue, _LABEL)


def _done(delivery: Delivery, digest: str) -> None:
    said = Delivery.objects.filter(pk=delivery.pk)
    with transaction.atomic():
        said.update(attempts=0, last_error="", next_try_at=clock.now(), shown=digest)
        # Something may have been decided while this was being said: then it is due again.
        if not said.filter(version=delivery.version).update(is_due=False):
            queue.enqueue(Job.DELIVER, delivery.pk)


def _put_off(delivery: Delivery, error: GitHubError) -> None:
    if isinstance(error, NotThere) and delivery.attempts + 1 >= TRIES_FOR_A_PLACE:
        _give_up(delivery, error)
        return
    wait = _SHORTEST * 2 ** min(delivery.attempts, 10)
    if error.retry_after is not None:
        wait = timedelta(seconds=error.retry_after)
    next_try = clock.now() + min(max(wait, _SHORTEST), _LONGEST)
    logger.warning("Comment %s could not be posted: %s", delivery.mark, error)
    outbox.put_off(delivery, next_try, str(error), Job.DELIVER)


def _give_up(delivery: Delivery, error: NotThere) -> None:
    logger.warning("Comment %s is not posted any more: %s", delivery.mark, error)
    Delivery.objects.filter(pk=delivery.pk, version=delivery.version).update(
        is_due=False, next_try_at=clock.now(), last_error=str(error)[:1000]
    )
