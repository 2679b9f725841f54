"""What there is to say of requests and runs, from rows, without any secret."""

from collections.abc import Sequence
from dataclasses import replace
from urllib.parse import quote

from django.conf import settings

from feedback.channels.notices.text import Message, OptionShown, causes
from feedback.models import Announcement, FeedbackRequest, NoticeKind
from feedback.requests import code_changes, shown
from feedback.requests.foresight import outlooks
from feedback.requests.request_json import request_url
from runs.domain.values.numbers import number_of
from runs.domain.values.questions import Option
from runs.domain.values.status import RequestStatus
from runs.domain.values.text import one_line
from runs.engine.concealing import concealed
from runs.models import Run
from runs.record import state_json

HEADINGS = {
    NoticeKind.OPENED: "Waiting for a decision",
    NoticeKind.REMINDER: "Still waiting for a decision",
    NoticeKind.ESCALATED: "Escalated to you",
    NoticeKind.DELEGATED: "Handed over to you",
    NoticeKind.DECIDED: "Decided",
    NoticeKind.WITHDRAWN: "No longer needed",
    NoticeKind.SUPERSEDED: "Asked again",
    NoticeKind.RUN_FINISHED: "Run completed",
    NoticeKind.RUN_FAILED: "Run failed",
    NoticeKind.TEST: "Test",
}


def message(announcement: Announcement) -> Message:
    """What is said now, whenever it was noted."""
    kind = NoticeKind(announcement.kind)
    if announcement.request:
        made = _of_request(announcement.request, kind)
    elif announcement.run:
        made = _of_run(announcement.run, kind)
    else:
        made = _test()
    return _without_secrets(made)


def digest(announcements: Sequence[Announcement]) -> Message:
    """Several things to say, in one message."""
    every = [message(announcement) for announcement in announcements]
    subject = f"FABER: {number_of(len(every), 'notice')}"
    return Message(
        subject=subject,
        heading="Digest",
        title=number_of(len(every), "notice"),
        where="",
        url=f"{settings.FABER_BASE_URL}/",
        link="Open the inbox",
        options=tuple(
            OptionShown(label=f"{each.heading}: {each.title}", causes=each.where, url=each.url)
            for each in every
        ),
    )


def _of_request(asked: FeedbackRequest, kind: NoticeKind) -> Message:
    run, url = asked.run, request_url(asked)
    base = Message(
        subject=f"[{run.project.name}] {one_line(asked.title, 150)}",
        heading=HEADINGS[kind],
        title=asked.title,
        where=_where(run, f"{asked.phase} → {asked.step}", asked.round_name),
        url=url,
    )
    if asked.status != RequestStatus.PENDING:
        return replace(base, outcome=_outcome(asked))
    background = asked.background
    return replace(
        base,
        link="Review and answer",
        question=asked.subtitle or asked.prompt,
        summary=background.summary,
        changes=code_changes.total_of(asked.snapshot) if asked.snapshot else "",
        sections=background.sections,
        options=_options(asked, url),
    )


def _options(asked: FeedbackRequest, url: str) -> tuple[OptionShown, ...]:
    here = outlooks.standing_of(asked)
    return tuple(
        OptionShown(
            label=option.label,
            causes=causes(outlooks.foreseen(asked, here, option.action)) or _described(option),
            url=f"{url}?choose={quote(option.value, safe='')}",
        )
        for option in asked.choices
    )


def _described(option: Option) -> str:
    return one_line(option.description, 200)


def _outcome(asked: FeedbackRequest) -> str:
    if again := shown.newer(asked):
        why = shown.why_again(again)
        return f"{why} Please answer the new request: {request_url(again)}".strip()
    decision = asked.decision
    if decision is None:
        return "The request was withdrawn; nothing is asked any more."
    said = f"{decision.who} answered {one_line(decision.response, 200)}."
    return f"{said} {one_line(decision.comment, 500)}".strip()


def _of_run(run: Run, kind: NoticeKind) -> Message:
    return Message(
        subject=f"[{run.project.name}] {HEADINGS[kind]}: {one_line(run.title, 120)}",
        heading=HEADINGS[kind],
        title=run.title,
        where=_where(run),
        url=state_json.run_url(run),
        link="View run",
        outcome=one_line(run.error, 500) if kind is NoticeKind.RUN_FAILED else "",
    )


def _test() -> Message:
    return Message(
        subject="FABER: test",
        heading=HEADINGS[NoticeKind.TEST],
        title="Notices from FABER arrive here",
        where="",
        url=f"{settings.FABER_BASE_URL}/",
    )


def _where(run: Run, *more: str) -> str:
    issue = f"{run.project.name} #{run.work_id}" if run.work_id else run.project.name
    return " · ".join(filter(None, (issue, *more)))


def _without_secrets(made: Message) -> Message:
    return replace(
        made,
        subject=concealed(made.subject),
        title=concealed(made.title),
        question=concealed(made.question),
        summary=concealed(made.summary),
        outcome=concealed(made.outcome),
        sections=tuple(
            replace(section, items=tuple(map(concealed, section.items)))
            for section in made.sections
        ),
    )
