"""What a comment can command, done: answered, cancelled, started, told of."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta

from django.db.models import QuerySet

from feedback.channels.markdown import answer_text, commands
from feedback.channels.markdown.commands import Command, CommandKind
from feedback.channels.trackers import channel, replies, starts
from feedback.models import Delivery, FeedbackRequest, InboundComment, InboundKind
from feedback.requests import shown
from feedback.requests.answers import Words, respond
from feedback.requests.handover import delegation
from feedback.requests.inquiries import asking
from runs import engine
from runs.accounts import tracker_links
from runs.domain.values.actors import Actor
from runs.domain.values.errors import InvalidAnswer, NotFound, Refused
from runs.domain.values.questions import Option, resolve
from runs.domain.values.status import RequestStatus
from runs.engine.find import find_run
from runs.models import Run, tracked_at

_NO_COMMAND = "The comment contains no command."


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """What was read and looked at before the transaction in which a command is obeyed."""

    command: Command | None
    seen: Mapping[str, shown.Seen] = field(default_factory=dict)
    start: engine.Start | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What came of a command: a reply, unless a comment that is there says so already."""

    text: str
    is_shown: bool = False


@contextmanager
def made_ready(heard: InboundComment) -> Iterator[Ready]:
    """The command, with what the requests show that it may be about, or the run it may start."""
    command = _command(heard)
    if command and command.kind is CommandKind.START:
        yield Ready(command=command, start=starts.order_of(heard, command, actor_of(heard)))
        return
    names = [asked.request_id for asked in open_requests(heard)[:2]]
    with ExitStack() as looks:
        seen = {name: looks.enter_context(shown.compared(name)) for name in names}
        yield Ready(command=command, seen=seen)


def obey(heard: InboundComment, ready: Ready) -> Told:
    """Do what is commanded, and tell what came of it."""
    command = ready.command
    match command:
        case Command(kind=CommandKind.RESUME):
            return _resume(heard, command, ready.seen)
        case Command(kind=CommandKind.STATUS):
            return Told(text=replies.status(_named(heard, command) or _newest(heard)))
        case Command(kind=CommandKind.CANCEL):
            return _cancel(heard, command)
        case Command(kind=CommandKind.ASK):
            return _ask(heard, command)
        case Command(kind=CommandKind.DELEGATE, to=str(to)):
            return _delegate(heard, command, to)
        case Command(kind=CommandKind.START) if ready.start:
            run = starts.begin(heard, ready.start)
            return Told(text=f"Started {run.run_id}.", is_shown=True)
        case Command(kind=CommandKind.HELP):
            return Told(text=replies.help_text())
        case _:
            raise Refused(_unclear(heard, command.reason if command else _NO_COMMAND))


def allowed_logins(heard: InboundComment) -> set[str]:
    """Who may command without write access, by the project that it is about."""
    command = _command(heard)
    if command and command.kind is CommandKind.START:
        about = starts.projects_at(heard)[:1]
    else:
        about = [run.project for run in _runs_on(heard)[:1]]
    return {str(login).casefold() for project in about for login in project.github_allow}


def actor_of(heard: InboundComment) -> Actor:
    return tracker_links.actor_of(heard.place.tracker, heard.author, heard.author_number)


def open_requests(heard: InboundComment) -> QuerySet[FeedbackRequest]:
    return _on_issue(heard).filter(status=RequestStatus.PENDING).order_by("pk")


def _command(heard: InboundComment) -> Command | None:
    """A label or an assignment that was heard says only one thing."""
    if heard.kind != InboundKind.COMMENT:
        return Command(kind=CommandKind.START)
    return commands.parse(heard.body, _options_on(heard))


def _unclear(heard: InboundComment, reason: str) -> str:
    """Why nothing was done, with what could be said instead."""
    return replies.accepted_forms(reason, *open_requests(heard)[: replies.MOST_FORMS])


def _resume(heard: InboundComment, command: Command, seen: Mapping[str, shown.Seen]) -> Told:
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
            actor=actor_of(heard),
            words=Words(comment=comment),
            seen=seen.get(asked.request_id),
        )
    except InvalidAnswer as error:
        raise Refused(replies.accepted_forms(_why(error), asked)) from error
    is_plain = response.decides and not replies.is_asked_again(response)
    return Told(
        text=replies.understood(asked, response),
        # Nobody has to be spoken to: both comments about it say so now.
        is_shown=is_plain and channel.is_followed(asked.run),
    )


def _ask(heard: InboundComment, command: Command) -> Told:
    asked = _asked(heard, command)
    inquiry = asking.ask(asked.request_id, command.feedback, actor=actor_of(heard))
    return Told(text=replies.asked_agent(inquiry))


def _delegate(heard: InboundComment, command: Command, to: str) -> Told:
    asked = _asked(heard, command)
    handed = delegation.delegate(
        asked.request_id, to, actor=actor_of(heard), comment=command.feedback
    )
    return Told(text=replies.handed_over(handed))


def _why(error: InvalidAnswer) -> str:
    """What is wrong with each answer of a form on a line of its own, as Markdown shows lines."""
    lines = str(error).split("\n")
    listed = "\n".join(f"- {each}" for each in lines)
    return (
        f"These answers are not valid:\n\n{listed}" if error.details.get("problems") else lines[0]
    )


def _cancel(heard: InboundComment, command: Command) -> Told:
    runs = _named(heard, command) or [asked.run for asked in open_requests(heard)]
    if len(runs) != 1:
        raise Refused(replies.which_run(runs))
    run, actor = runs[0], actor_of(heard)
    engine.cancel(run.pk, reason=f"{actor.name} cancelled it on the issue", actor=actor)
    return Told(text=replies.cancelled(run), is_shown=channel.is_followed(run))


def _asked(heard: InboundComment, command: Command) -> FeedbackRequest:
    """The request that is meant: the only open one, or the last of the run that is named."""
    if command.run:
        (run,) = _named(heard, command)
        found = list(run.requests.order_by("-pk")[:1])
    else:
        found = list(open_requests(heard))
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
    # Trackers number comments in their order. Their clock is not ours; one counts whole seconds.
    ours = Delivery.objects.filter(
        request=asked, tracker=heard.tracker, repository__iexact=heard.repository
    )
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
    return [find_run(command.run, seen_by=None, among=_runs_in_repository(heard))]


def _newest(heard: InboundComment) -> list[Run]:
    return list(_runs_on(heard).order_by("-created_at")[:5])


def _options_on(heard: InboundComment) -> Sequence[Option]:
    """What the open requests offer, so that an option's own name is understood."""
    return [option for asked in open_requests(heard) for option in asked.choices]


def _on_issue(heard: InboundComment) -> QuerySet[FeedbackRequest]:
    return FeedbackRequest.objects.filter(run__in=_runs_on(heard)).select_related("run__project")


def _runs_on(heard: InboundComment) -> QuerySet[Run]:
    runs = _runs_in_repository(heard).filter(work_id__in=heard.place.work_ids)
    return runs.select_related("project")


def _runs_in_repository(heard: InboundComment) -> QuerySet[Run]:
    """Those of projects on that very tracker: another may have a repository of the same name."""
    projects = tracked_at(heard.place.tracker, heard.repository)
    return Run.objects.filter(project__in=list(projects.values_list("pk", flat=True)))
