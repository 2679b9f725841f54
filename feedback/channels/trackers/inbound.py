"""Hears comments on issues, and acts on those that command: each once, each with a reply."""

import logging
from datetime import timedelta

from django.core.cache import cache
from django.db import transaction

from feedback.channels.markdown import commands
from feedback.channels.trackers import channel, commanded, replies, starts
from feedback.models import CommentState, InboundComment, InboundKind
from runs import trackers
from runs.chain import refusals
from runs.domain.values.errors import FaberError, NotAllowed
from runs.jobs import queue
from runs.jobs.table import Job
from runs.models import clock, tracked_at
from runs.trackers import (
    Comment,
    NotThere,
    Permission,
    Signal,
    SignalKind,
    TrackerClient,
    TrackerError,
)

logger = logging.getLogger(__name__)

_PERMISSION_LASTS = 60  # seconds
_SHORTEST_WAIT, _LONGEST_WAIT = timedelta(seconds=10), timedelta(minutes=10)
# A comment that was deleted never comes back.
_LOOKS_FOR_A_COMMENT = 4
_NO_COMMAND = "The comment contains no command."


def hear(client: TrackerClient, comment: Comment) -> bool:
    """Keep a comment that speaks to us and have it acted on; what was heard before is dropped."""
    if comment.is_bot or commands.parse(comment.body) is None:
        return False
    if comment.author.casefold() == client.login.casefold():
        return False
    with transaction.atomic():
        heard, is_new = InboundComment.objects.get_or_create(
            tracker=comment.place.tracker,
            kind=InboundKind.COMMENT,
            comment_id=comment.id,
            defaults={
                "repository": comment.place.repository,
                "issue": comment.place.issue,
                "is_merge_request": comment.place.is_merge_request,
                "author": comment.author,
                "author_number": comment.author_id,
                "body": comment.body,
                "is_edited": comment.is_edited,
                "commented_at": comment.created_at,
            },
        )
        if is_new:
            queue.enqueue(Job.ACT_ON_COMMENT, heard.pk)
    return is_new


def hear_signal(client: TrackerClient, signal: Signal) -> bool:
    """Keep a label or an assignment that starts a run, and have it acted on; each once."""
    ours = client.login.casefold()
    if signal.is_bot or signal.author.casefold() == ours or not _starts(signal, ours):
        return False
    with transaction.atomic():
        heard, is_new = InboundComment.objects.get_or_create(
            tracker=signal.place.tracker,
            kind=InboundKind(signal.kind),
            comment_id=signal.id,
            defaults={
                "repository": signal.place.repository,
                "issue": signal.place.issue,
                "is_merge_request": signal.place.is_merge_request,
                "author": signal.author,
                "author_number": signal.author_id,
                "body": signal.name,
                "commented_at": signal.at,
            },
        )
        if is_new:
            queue.enqueue(Job.ACT_ON_COMMENT, heard.pk)
    return is_new


def _starts(signal: Signal, ours: str) -> bool:
    here = tracked_at(signal.place.tracker, signal.place.repository).exclude(start_workflow="")
    if signal.kind is SignalKind.ASSIGNMENT:
        return signal.name.casefold() == ours and here.exists()
    return any(starts.is_label_of(project, signal.name) for project in here)


def act_on(heard_pk: int) -> None:
    """Do what a comment says, or say why not; what the tracker keeps from us is tried again."""
    heard = InboundComment.objects.get(pk=heard_pk)
    if heard.state != CommentState.HEARD:
        return
    client = trackers.service(heard.place.tracker).client()
    try:
        is_meant = _is_meant(client, heard)
        may = _may_command(client, heard)
    except TrackerError as error:
        _put_off(heard, error)
        return
    if not is_meant:
        _drop(heard)
    elif may and heard.is_edited:
        _refuse_edited(heard)
    elif may:
        _act(heard)
    else:
        _turn_away(heard)


def _is_meant(client: TrackerClient, heard: InboundComment) -> bool:
    """Say on the comment that it was read; a label counts only as long as it is there."""
    if heard.kind == InboundKind.COMMENT:
        client.react(heard.place, heard.comment_id, "eyes")
        return True
    issue = client.issue(heard.place)
    labels = {label.casefold() for label in issue.labels}
    is_there = heard.kind != InboundKind.LABEL or heard.body.casefold() in labels
    return issue.state == "open" and is_there


def _drop(heard: InboundComment) -> None:
    """Nobody is told: whoever took the label off, or closed the issue, knows."""
    if _claim(heard, CommentState.REFUSED):
        InboundComment.objects.filter(pk=heard.pk).update(result="It was taken back.")


def _act(heard: InboundComment) -> None:
    """The deed, its record and its reply are one transaction, so that it is done once."""
    try:
        with commanded.made_ready(heard) as ready, transaction.atomic():
            if _claim(heard, CommentState.DONE):
                told = commanded.obey(heard, ready)
                _conclude(heard, told.text, is_shown=told.is_shown)
    except FaberError as error:
        _note(heard, error)
        with transaction.atomic():
            if _claim(heard, CommentState.REFUSED):
                _conclude(heard, replies.refusal(error))


def _refuse_edited(heard: InboundComment) -> None:
    with transaction.atomic():
        if _claim(heard, CommentState.REFUSED):
            _conclude(heard, replies.edited())


def look_once_more(heard_pk: int) -> None:
    """Act on a comment that was given up, should it be there; one that is gone is dropped."""
    given_up = InboundComment.objects.filter(pk=heard_pk, state=CommentState.GIVEN_UP)
    given_up.update(state=CommentState.HEARD)
    act_on(heard_pk)
    given_up.update(state=CommentState.REFUSED)


def _put_off(heard: InboundComment, error: TrackerError) -> None:
    """The sweep comes back to it, until it is clear that there is nothing to come back to."""
    logger.warning("Comment %s cannot be acted on now: %s", heard.comment_id, error)
    waiting = InboundComment.objects.filter(pk=heard.pk, state=CommentState.HEARD)
    if isinstance(error, NotThere) and heard.tries + 1 >= _LOOKS_FOR_A_COMMENT:
        waiting.update(state=CommentState.GIVEN_UP, result=str(error), tries=heard.tries + 1)
        return
    wait = min(_SHORTEST_WAIT * 2 ** min(heard.tries, 10), _LONGEST_WAIT)
    until = clock.now() + max(wait, timedelta(seconds=error.retry_after or 0))
    waiting.update(tries=heard.tries + 1, try_at=until)


def _turn_away(heard: InboundComment) -> None:
    """Whoever may not command is told so once on an issue, not at every try."""
    is_start = heard.kind != InboundKind.COMMENT
    told = replies.not_permitted(heard.author, *(["start runs"] if is_start else []))
    _note(heard, NotAllowed(told))
    before = InboundComment.objects.filter(
        tracker=heard.tracker,
        repository__iexact=heard.repository,
        issue=heard.issue,
        is_merge_request=heard.is_merge_request,
        author__iexact=heard.author,
        state=CommentState.REFUSED,
        result=told,
    )
    with transaction.atomic():
        is_known = before.exists()
        if not _claim(heard, CommentState.REFUSED):
            return
        if is_known:
            InboundComment.objects.filter(pk=heard.pk).update(result=told)
        else:
            _conclude(heard, told)


def _claim(heard: InboundComment, state: CommentState) -> bool:
    unheard = InboundComment.objects.filter(pk=heard.pk, state=CommentState.HEARD)
    return bool(unheard.update(state=state))


def _conclude(heard: InboundComment, told: str, *, is_shown: bool = False) -> None:
    InboundComment.objects.filter(pk=heard.pk).update(result=told)
    if not is_shown:
        channel.reply(heard, told)


def _may_command(client: TrackerClient, heard: InboundComment) -> bool:
    """Asked of the API for that very person; never taken from what a payload says."""
    options = trackers.service(heard.place.tracker).options()
    allowed = {login.casefold() for login in options.allow} | commanded.allowed_logins(heard)
    if heard.author.casefold() in allowed:
        return True
    person = f"{heard.author}:{heard.author_number}"
    key = f"{heard.tracker}-permission:{heard.repository}:{person}".casefold()
    known = cache.get(key)
    if known is None:
        known = client.permission(heard.repository, heard.author, heard.author_number).value
        cache.set(key, known, _PERMISSION_LASTS)
    return Permission(known).can_write


def _note(heard: InboundComment, error: FaberError) -> None:
    asked = commanded.open_requests(heard).first()
    refusals.note(
        error,
        actor=commanded.actor_of(heard),
        what=f"a {heard.kind} on {heard.place}",
        request_id=asked.request_id if asked else "",
    )
