"""Hears comments on issues, and acts on those that command: each once, each with a reply."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import timedelta

from django.conf import settings
from django.core.cache import cache
from django.db import transaction
from django.db.models import QuerySet

from feedback.channels.github import answer_text, channel, commands, replies
from feedback.channels.github.commands import Command, CommandKind
from feedback.models import CommentState, Delivery, FeedbackRequest, InboundComment
from feedback.requests import shown
from feedback.requests.answers import Words, respond
from runs import engine, github
from runs.accounts import github_links
from runs.chain import refusals
from runs.domain.values.actors import Actor
from runs.domain.values.errors import FaberError, InvalidAnswer, NotAllowed, NotFound, Refused
from runs.domain.values.questions import Option, resolve
from runs.domain.values.status import RequestStatus
from runs.engine.find import find_run
from runs.github import Comment, GitHubError, NotThere, Permission
from runs.jobs import queue
from runs.jobs.table import Job
from runs.models import Run, clock

logger = logging.getLogger(__name__)

_PERMISSION_LASTS = 60  # seconds
_SHORTEST_WAIT, _LONGEST_WAIT = timedelta(seconds=10), timedelta(minutes=10)
# A comment that was deleted never comes back.
_LOOKS_FOR_A_COMMENT = 4
_NO_COMMAND = "The comment contains no command."


def hear(repository: str, comment: Comment) -> bool:
    """Keep a comment that speaks to us and have it acted on; what was heard before is dropped."""
    if comment.is_bot or commands.parse(comment.body) is None:
        return False
    if comment.author.casefold() == github.client().login.casefold():
        return False
    with transaction.atomic():
        heard, is_new = InboundComment.objects.get_or_create(
            comment_id=comment.id,
            defaults={
                "repository": repository,
                "issue": comment.issue,
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


def act_on(heard_pk: int) -> None:
    """Do what a comment says, or say why not; what GitHub keeps from us is tried again."""
    heard = InboundComment.objects.get(pk=heard_pk)
    if heard.state != CommentState.HEARD:
        return
    client = github.client()
    try:
        client.react(heard.repository, heard.comment_id, "eyes")
        may = _may_command(client, heard)
    except GitHubError as error:
        _put_off(heard, error)
        return
    if may and heard.is_edited:
        _refuse_edited(heard)
    elif may:
        _act(heard)
    else:
        _turn_away(heard)


def _act(heard: InboundComment) -> None:
    """The deed, its record and its reply are one transaction, so that it is done once."""
    try:
        with _compared(heard) as seen, transaction.atomic():
            if _claim(heard, CommentState.DONE):
                _conclude(heard, _do(heard, seen))
    except FaberError as error:
        _note(heard, error)
        with transaction.atomic():
            if _claim(heard, CommentState.REFUSED):
                _conclude(heard, replies.refusal(error))


@contextmanager
def _compared(heard: InboundComment) -> Iterator[Mapping[str, shown.Seen]]:
    """What the requests show that the comment may be about."""
    names = [asked.request_id for asked in _open(heard)[:2]]
    with ExitStack() as looks:
        yield {name: looks.enter_context(shown.compared(name)) for name in names}


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


def _put_off(heard: InboundComment, error: GitHubError) -> None:
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
    told = replies.not_permitted(heard.author)
    _note(heard, NotAllowed(told))
    before = InboundComment.objects.filter(
        repository__iexact=heard.repository,
        issue=heard.issue,
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


def _conclude(heard: InboundComment, told: str) -> None:
    InboundComment.objects.filter(pk=heard.pk).update(result=told)
    channel.reply(heard, told)


def _may_command(client: github.Client, heard: InboundComment) -> bool:
    """Asked of the API for that very person; never taken from what a payload says."""
    allowed = {login.casefold() for login in settings.FABER_GITHUB_ALLOW}
    for run in _runs_on(heard)[:1]:
        allowed |= {str(login).casefold() for login in run.project.github_allow}
    if heard.author.casefold() in allowed:
        return True
    key = f"github-permission:{heard.repository}:{heard.author}:{heard.author_number}".casefold()
    known = cache.get(key)
    if known is None:
        known = client.permission(heard.repository, heard.author, heard.author_number).value
        cache.set(key, known, _PERMISSION_LASTS)
    return Permission(known).can_write


# What can be commanded


def _do(heard: InboundComment, seen: Mapping[str, shown.Seen]) -> str:
    command = commands.parse(heard.body, _options_on(heard))
    match command:
        case Command(kind=CommandKind.RESUME):
            return _resume(heard, command, seen)
        case Command(kind=CommandKind.STATUS):
            return replies.status(_named(heard, command) or _newest(heard))
        case Command(kind=CommandKind.CANCEL):
            return _cancel(heard, command)
        case Command(kind=CommandKind.HELP):
            return replies.help_text()
        case _:
            raise Refused(_unclear(heard, command.reason if command else _NO_COMMAND))


def _unclear(heard: InboundComment, reason: str) -> str:
    """Why nothing was done, with what could be said instead."""
    return replies.accepted_forms(reason, *_open(heard)[: replies.MOST_FORMS])


def _resume(heard: InboundComment, command: Command, seen: Mapping[str, shown.Seen]) -> str:
    asked = _asked(heard, command)
    answer, comment = command.response, command.feedback
    if answer is None:
        reading = answer_text.read(command.feedback, asked.feedback_type, asked.choices)
        if reading.response is None:
            raise Refused(replies.accepted_forms(reading.reason, asked))
        answer, comment = reading.response, reading.comment
    try:
        choice = resolve(asked.feedback_type, asked.choices, answer, asked.form)
        if choice.needs_words and not command.has_words:
            comment = ""  # a quote does not say what should change
        response = respond(
            asked.request_id,
            answer,
            actor=_actor(heard),
            words=Words(comment=comment),
            seen=seen.get(asked.request_id),
        )
    except InvalidAnswer as error:
        raise Refused(replies.accepted_forms(_why(error), asked)) from error
    return replies.understood(asked, response)


def _why(error: InvalidAnswer) -> str:
    """What is wrong with each answer of a form on a line of its own, as Markdown shows lines."""
    lines = str(error).split("\n")
    listed = "\n".join(f"- {each}" for each in lines)
    return (
        f"These answers are not valid:\n\n{listed}" if error.details.get("problems") else lines[0]
    )


def _cancel(heard: InboundComment, command: Command) -> str:
    runs = _named(heard, command) or [asked.run for asked in _open(heard)]
    if len(runs) != 1:
        raise Refused(replies.which_run(runs))
    run, actor = runs[0], _actor(heard)
    engine.cancel(run.pk, reason=f"{actor.name} cancelled it on the issue", actor=actor)
    return replies.cancelled(run)


def _asked(heard: InboundComment, command: Command) -> FeedbackRequest:
    """The request that is meant: the only open one, or the last of the run that is named."""
    if command.run:
        (run,) = _named(heard, command)
        found = list(run.requests.order_by("-pk")[:1])
    else:
        found = list(_open(heard))
        if len(found) > 1:
            raise Refused(replies.which_run([asked.run for asked in found]))
        # With nothing open, the answer to a closed request is told who decided what.
        found = found or list(_on_issue(heard).order_by("-pk")[:1])
    if not found:
        raise NotFound("This issue has no open request.")
    asked = found[0]
    if _is_older(heard, asked):
        raise Refused("The comment is older than the request, so it can't answer it.")
    return asked


def _is_older(heard: InboundComment, asked: FeedbackRequest) -> bool:
    """Whether it was written before the question was asked."""
    # GitHub numbers comments in their order. Its clock is not ours, and counts whole seconds.
    ours = Delivery.objects.filter(request=asked, repository__iexact=heard.repository)
    question = ours.exclude(comment_id=None).first()
    if question is not None and question.comment_id is not None:
        if heard.comment_id > question.comment_id:
            return False
        # A question that was posted late may have been read and answered before it stood there.
        if question.posted_at is None or question.posted_at <= heard.heard_at:
            return True
    return heard.commented_at + timedelta(seconds=1) < asked.requested_at


def _named(heard: InboundComment, command: Command) -> list[Run]:
    """The run that `--run` names, if it does; only runs of this repository can be meant."""
    if not command.run:
        return []
    here = Run.objects.filter(project__name__iexact=heard.repository)
    return [find_run(command.run, seen_by=None, among=here)]


def _newest(heard: InboundComment) -> list[Run]:
    return list(_runs_on(heard).order_by("-created_at")[:5])


def _options_on(heard: InboundComment) -> Sequence[Option]:
    """What the open requests offer, so that an option's own name is understood."""
    return [option for asked in _open(heard) for option in asked.choices]


def _open(heard: InboundComment) -> QuerySet[FeedbackRequest]:
    return _on_issue(heard).filter(status=RequestStatus.PENDING).order_by("pk")


def _on_issue(heard: InboundComment) -> QuerySet[FeedbackRequest]:
    return FeedbackRequest.objects.filter(run__in=_runs_on(heard)).select_related("run__project")


def _runs_on(heard: InboundComment) -> QuerySet[Run]:
    runs = Run.objects.filter(project__name__iexact=heard.repository, work_id=str(heard.issue))
    return runs.select_related("project")


def _actor(heard: InboundComment) -> Actor:
    return github_links.actor_of(heard.author, heard.author_number)


def _note(heard: InboundComment, error: FaberError) -> None:
    asked = _open(heard).first()
    refusals.note(
        error,
        actor=_actor(heard),
        what=f"a comment on {heard.repository}#{heard.issue}",
        request_id=asked.request_id if asked else "",
    )
