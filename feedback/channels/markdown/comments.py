"""The comments FABER writes on an issue, in the seeds' layout; whatever is put in stays inside."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import PurePosixPath

from feedback.channels.markdown import particulars
from feedback.channels.markdown.escape import block, code, fenced, flat, folded, line, link
from runs.domain.values.actors import Source
from runs.domain.values.background import BackgroundSection
from runs.domain.values.forms.questions import FieldType, FormQuestion, is_typed
from runs.domain.values.questions import FeedbackType, Option
from runs.domain.values.status import RequestStatus

MAX_CHARACTERS = 60_000  # GitHub refuses a comment longer than 65,536
ROOM_FOR_CONTEXT = 33_000  # the rest is for the question, its options and its outcome
LONGEST_SUMMARY = 21_000  # a message of a step is never longer
SHORTEST_SUMMARY = 1_000
MOST_QUESTIONS = 30
MOST_FILES = 100  # that a comment lists
MOST_FORMS = 10  # of the requests a reply explains the answers to

_CLOSED = {
    RequestStatus.PENDING: "it is open",
    RequestStatus.ANSWERED: "it has its answer",
    RequestStatus.CANCELLED: "it is no longer asked, and an answer does nothing",
    RequestStatus.SUPERSEDED: "a newer request took its place",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    path: str
    url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionShown:
    response: str
    who: str
    source: Source
    at: datetime
    comment: str = ""
    url: str = ""  # of the comment that gave it
    marks: tuple[str, ...] = ()  # what sets it apart
    override: str = ""  # why an operator decided for others


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedAgain:
    """The request that took the place of an answered one, and why."""

    request_id: str
    url: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangesShown:
    """The files that a run changed, each with its counts."""

    total: str
    files: tuple[tuple[str, str], ...]  # a path, and how much of it changed
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What a comment says of one request."""

    request_id: str
    run_id: str
    title: str
    work_id: str
    type: FeedbackType
    phase: str
    step: str
    prompt: str
    options: tuple[Option, ...]
    url: str
    requested_at: datetime
    due_at: datetime | None = None
    on_timeout: str = ""
    escalated_to: tuple[str, ...] = ()
    assignee: str = ""
    repeats: str = ""  # the request in which somebody refused the same
    round_name: str = ""
    round_limit: str = ""  # why only operators may request changes
    summary: str = ""
    artifacts: tuple[Link, ...] = ()
    sections: tuple[BackgroundSection, ...] = ()
    form: tuple[FormQuestion, ...] = ()
    changes: ChangesShown | None = None
    status: RequestStatus = RequestStatus.PENDING
    closed_at: datetime | None = None
    decision: DecisionShown | None = None
    again: AskedAgain | None = None


def mark(name: str) -> str:
    """An invisible line by which a comment is found again."""
    return f"<!-- faber:{re.sub(r'[^A-Za-z0-9_./:]+', '-', name)} -->"


def has_mark(body: str, name: str) -> bool:
    return mark(name) in body


def request_comment(shown: Shown) -> str:
    """The comment of a request, open or closed; its last line is the same for good."""
    is_open = shown.status is RequestStatus.PENDING
    parts = [
        f"**{line(shown.title, 200)}** · "
        + link(f"{'Review and answer' if is_open else 'See'} this request in FABER", shown.url),
        f"## Feedback {'Requested' if is_open else shown.status.value.capitalize()}",
        "\n".join(_fields(shown)),
        "" if is_open else _outcome(shown),
        "### Decision Needed",
        block(shown.prompt, 7_000),
        *_context(shown),
        *(_options(shown) if is_open else ()),
        *(_how_to_respond(shown) if is_open else ()),
        mark(shown.request_id),
    ]
    stays = "_This feedback request will remain open until addressed._\n" if is_open else ""
    ids = f"_Run ID: {code(shown.run_id)} | Request ID: {code(shown.request_id)}_"
    return joined([*parts, f"---\n{stays}{ids}"])


def help_comment() -> str:
    """What `@faber help` posts."""
    rows = [
        ("@faber resume", "answers the pending request with the text above it"),
        ("@faber resume --run ID", "the same, for that run"),
        ("@faber approve", "answers with an option; the other text is the comment"),
        ("@faber ask QUESTION", "asks the agent before you decide; the request stays open"),
        ("@faber delegate NAME", "hands the pending request over; the other text is a comment"),
        ("@faber start [WORKFLOW]", "starts a run on this issue"),
        ("@faber status [--run ID]", "posts the status"),
        ("@faber cancel [--run ID]", "cancels the pending request and its run"),
        ("@faber help", "lists these"),
    ]
    lines = [f"| `{command}` | {does} |" for command, does in rows]
    return joined(
        [
            "Put each command on its own line. FABER ignores quotes and code blocks.",
            "\n".join(["| Comment | What it does |", "|---|---|", *lines]),
        ]
    )


def forms_comment(reason: str, requests: Sequence[Shown] = ()) -> str:
    """The reply to a doubtful comment: why nothing was done, and what would be understood."""
    parts = [f"No action taken. {block(reason, 1_000)}"]
    if len(requests) > 1:
        parts.append("This issue has more than one open request. Name the run.")
    for shown in requests[:MOST_FORMS]:
        run = f" --run {flat(shown.run_id, 300)}" if len(requests) > 1 else ""
        parts += [f"To answer {link(shown.request_id, shown.url)}:", _forms(shown, run)]
    return joined(parts if requests else [*parts, help_comment()])


def _fields(shown: Shown) -> Iterator[str]:
    yield f"**Workflow Run**: {code(shown.run_id)}"
    yield f"**Phase**: {line(shown.phase.capitalize(), 100)}"
    yield f"**Step**: {line(shown.step, 150)}"
    if shown.round_name:
        yield f"**Round**: {line(shown.round_name.removeprefix('Round '), 100)}"
    yield f"**Requested**: {moment(shown.requested_at)}"
    if shown.due_at:
        then = f", then {line(shown.on_timeout, 100)} is taken" if shown.on_timeout else ""
        yield f"**Due**: {moment(shown.due_at)}{then}"
    if shown.repeats:
        yield f"**Asked again**: this was refused before in {code(shown.repeats)}"
    if shown.assignee:
        yield f"**Assigned to**: {line(shown.assignee, 150)}"
    if shown.escalated_to:
        yield f"**Escalated to**: {line(', '.join(shown.escalated_to), 300)}"


def _outcome(shown: Shown) -> str:
    decision = shown.decision
    if decision is None:
        when = f", {moment(shown.closed_at)}" if shown.closed_at else ""
        return f"**{shown.status.value.capitalize()}**: {_CLOSED[shown.status]}{when}."
    where = link(decision.source.where, decision.url)
    chosen = f"**{line(decision.response, 1_000)}** by **{line(decision.who, 150)}** {where}"
    said = block(decision.comment, 4_000)
    quoted = "\n".join(f"> {each}" for each in said.split("\n")) if said else ""
    marks = f" ({', '.join(decision.marks)})" if decision.marks else ""
    told = f"**Answered**{marks}: {chosen}, {moment(decision.at)}."
    why = f"**Override**: {line(decision.override, 1_000)}" if decision.override else ""
    return joined([told, why, quoted, _again(shown)])


def _again(shown: Shown) -> str:
    if shown.again is None:
        return ""
    newer = link(shown.again.request_id, shown.again.url)
    return f"**Asked again**: {line(shown.again.why, 1_000)} Please answer {newer} instead."


def _context(shown: Shown) -> Iterator[str]:
    told = [particulars.told(section) for section in shown.sections]
    room = max(SHORTEST_SUMMARY, ROOM_FOR_CONTEXT - sum(map(len, told)))
    # A failure's prompt already ends with what the step said.
    if shown.summary.strip() and shown.summary.strip() not in shown.prompt:
        yield folded("Summary", block(shown.summary, min(LONGEST_SUMMARY, room)))
    if links := [_artifact(each) for each in shown.artifacts[:10]]:
        yield f"**Artifact{'s' if len(links) > 1 else ''}**: {', '.join(links)}"
    if shown.changes:
        yield _changes(shown.changes)
    yield from told


def _changes(changes: ChangesShown) -> str:
    named = ((code(flat(path, 200)).replace("|", "\\|"), counts) for path, counts in changes.files)
    rows = [f"| {path} | {counts} |" for path, counts in islice(named, MOST_FILES)]
    if more := len(changes.files) - len(rows):
        rows.append(f"| … and {more} more | |")
    table = "\n".join(["| File | Lines |", "|---|---|", *rows])
    title = f"**Code changes**: {link(changes.total, changes.url)}"
    return (
        f"{title}\n<details>\n<summary>Files</summary>\n\n{table}\n\n</details>" if rows else title
    )


def _options(shown: Shown) -> Iterator[str]:
    yield "### Options"
    named = [(line(option.value, 100), line(option.description, 150)) for option in shown.options]
    lines = [
        f"{number}. **{value}**{f' - {description}' if description else ''}"
        for number, (value, description) in enumerate(named[:30], start=1)
    ]
    yield "\n".join(lines) or "Any text is an answer."
    yield line(shown.round_limit, 150)


def _how_to_respond(shown: Shown) -> Iterator[str]:
    yield "### How to Respond"
    yield (
        "Reply to this issue with your decision. Include `@faber resume` in your comment to "
        "trigger workflow continuation."
    )
    yield f"**Example response:**\n{fenced(_example(shown))}"


def _example(shown: Shown) -> str:
    values = [option.value for option in shown.options]
    if shown.type.takes_text and is_typed(shown.form):
        said = "\n".join(_samples(shown.form))
    elif "approve" in values:
        said = "I approve this design. The approach looks good."
    elif shown.type.takes_text or not values:
        said = "Your answer, in your own words."
    else:
        said = f"{flat(values[0], 100)}. Your reasons, if you like."
    return f"{said}\n\n@faber resume"


def _samples(form: Sequence[FormQuestion]) -> Iterator[str]:
    for question in form[:MOST_QUESTIONS]:
        offered = [flat(option, 100) for option in question.options]
        given = {
            FieldType.NUMBER: "42",
            FieldType.BOOLEAN: "yes",
            FieldType.DATE: "2026-11-16",
            FieldType.CHOICE: "".join(offered[:1]),
            FieldType.MULTI: ", ".join(offered[:2]),
        }
        said = given.get(question.type, "Your answer, in your own words.")
        yield f"{flat(question.id, 100)}: {said}" if len(form) > 1 else said


def _forms(shown: Shown, run: str) -> str:
    if shown.type.takes_text and is_typed(shown.form) and len(shown.form) > 1:
        lines = [
            f"- {code(f'{flat(question.id, 100)}: …')} {line(str(question), 300)}"
            for question in shown.form[:MOST_QUESTIONS]
        ]
        last = f"- and below these lines {code(f'@faber resume{run}')} on a line of its own"
        return "\n".join([*lines, last])
    if shown.type.takes_text:
        return f"- your answer, and below it {code(f'@faber resume{run}')} on a line of its own"
    words = [
        f"- {code(f'@faber resume {flat(option.value, 100)}{run}')}"
        f"{' with what should change above it' if option.needs_words else ''}"
        for option in shown.options[:10]
    ]
    own = f"- your decision in your own words, beginning with an option, then `@faber resume{run}`"
    return "\n".join([*words, own])


def _artifact(shown: Link) -> str:
    return link(line(PurePosixPath(shown.path).name or shown.path, 150), shown.url)


def moment(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def joined(parts: Iterable[str]) -> str:
    return "\n\n".join(part for part in parts if part)
