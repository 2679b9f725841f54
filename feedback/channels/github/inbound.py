"""Hears comments on issues, and acts on those that command: each once, each with a reply."""

import logging
from collections.abc import Sequence
from datetime import timedelta

from django.conf import settings
from django.core.cache import cache
from django.db import transaction
from django.db.models import QuerySet

from feedback.channels.github import answer_text, channel, commands, replies
from feedback.channels.github.commands import Command, CommandKind
from feedback.models import CommentState, FeedbackRequest, InboundComment
from feedback.requests.answers import Words, respond
from runs import engine, github
from runs.accounts import users
from runs.domain.values.actors import Actor, Role, Source
from runs.domain.values.errors import FaberError, InvalidAnswer, NotFound, Refused
from runs.domain.values.questions import Option
from runs.domain.values.status import RequestStatus
from runs.engine.find import find_run
from runs.github import Comment, GitHubError, Permission
from runs.jobs import queue
from runs.jobs.table import Job
from runs.models import Run

logger = logging.getLogger(__name__)

_PERMISSION_LASTS = 60  # seconds


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
                "body": comment.body,
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
        logger.warning("Comment %s cannot be acted on now: %s", heard.comment_id, error)
        return  # the sweep comes back to it
    if may:
        _act(heard)
    else:
        _turn_away(heard)


def _act(heard: InboundComment) -> None:
    """The deed, its record and its reply are one transaction, so that it is done once."""
    try:
        with transaction.atomic():
            if _claim(heard, CommentState.DONE):
                _conclude(heard, _do(heard))
    except FaberError as error:
        with transaction.atomic():
            if _claim(heard, CommentState.REFUSED):
                _conclude(heard, replies.refusal(error))


def _turn_away(heard: InboundComment) -> None:
    """Whoever may not command is told so once on an issue, not at every try."""
    told = replies.not_permitted(heard.author)
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
    key = f"github-permission:{heard.repository}:{heard.author}".casefold()
    known = cache.get(key)
    if known is None:
        known = client.permission(heard.repository, heard.author).value
        cache.set(key, known, _PERMISSION_LASTS)
    return Permission(known).can_write


# What can be commanded


def _do(heard: InboundComment) -> str:
    command = commands.parse(heard.body, _options_on(heard))
    match command:
        case Command(kind=CommandKind.RESUME):
            return _resume(heard, command)
        case Command(kind=CommandKind.STATUS):
            return replies.status(_named(heard, command) or _newest(heard))
        case Command(kind=CommandKind.CANCEL):
            return _cancel(heard, command)
        case Command(kind=CommandKind.HELP):
            return replies.help_text()
        case _:
            raise Refused(command.reason if command else "There is no command in it.")


def _resume(heard: InboundComment, command: Command) -> str:
    asked = _asked(heard, command)
    answer, comment = command.response, command.words
    if answer is None:
        reading = answer_text.read(command.words, asked.feedback_type, asked.choices)
        if reading.response is None:
            raise Refused(replies.accepted_forms(asked, reading.reason))
        answer, comment = reading.response, reading.comment
    try:
        response = respond(
            asked.request_id, answer, actor=_actor(heard), words=Words(comment=comment)
        )
    except InvalidAnswer as error:
        raise Refused(replies.accepted_forms(asked, str(error))) from error
    return replies.understood(asked, response)


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
        raise NotFound("Nothing is asked on this issue.")
    asked = found[0]
    # GitHub's moments are whole seconds.
    if heard.commented_at + timedelta(seconds=1) < asked.requested_at:
        raise Refused("The comment is older than the question, so it cannot answer it.")
    return asked


def _named(heard: InboundComment, command: Command) -> list[Run]:
    """The run that `--run` names, if it does; only runs of this repository can be meant."""
    if not command.run:
        return []
    here = Run.objects.filter(project__name__iexact=heard.repository)
    return [find_run(command.run, among=here)]


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
    """The comment's author as the API gives it; with an account of that name, one person."""
    account = users.of_github_login(heard.author)
    groups = {Role.REVIEWER.value}
    if account:
        groups |= set(account.groups.values_list("name", flat=True))
    return Actor(
        name=heard.author,
        source=Source.ISSUE_COMMENT,
        method="issue_comment_author",
        user_id=account.pk if account else None,
        groups=frozenset(groups),
    )
