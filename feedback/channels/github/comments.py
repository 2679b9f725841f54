"""The comments FABER writes on an issue, in the seeds' layout; whatever is put in stays inside."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import PurePosixPath

from feedback.channels.github.escape import block, code, fenced, flat, line, link
from runs.domain.values.actors import Source
from runs.domain.values.questions import FeedbackType, Option
from runs.domain.values.status import RequestStatus, RunStatus
from runs.domain.workflow.plan import Progress

MAX_CHARACTERS = 60_000  # GitHub refuses a comment longer than 65,536
_LONG = 1_200  # from here on a text is folded


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What a comment says of one request."""

    request_id: str
    run_id: str
    work_id: str
    type: FeedbackType
    phase: str
    step: str
    prompt: str
    options: tuple[Option, ...]
    url: str
    requested_at: datetime
    summary: str = ""
    artifacts: tuple[Link, ...] = ()
    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    suggested_fixes: tuple[str, ...] = ()
    status: RequestStatus = RequestStatus.PENDING
    closed_at: datetime | None = None
    decision: DecisionShown | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStatusShown:
    """What a comment says of one run."""

    run_id: str
    status: RunStatus
    url: str
    phase: str = ""
    step: str = ""
    progress: Progress | None = None
    updated_at: datetime | None = None
    message: str = ""
    pending: Shown | None = None


def mark(name: str) -> str:
    """An invisible line by which a comment is found again."""
    return f"<!-- faber:{re.sub(r'[^A-Za-z0-9_./:]+', '-', name)} -->"


def has_mark(body: str, name: str) -> bool:
    return mark(name) in body


def request_comment(shown: Shown) -> str:
    """The comment of a request, open or closed; its last line is the same for good."""
    is_open = shown.status is RequestStatus.PENDING
    parts = [
        link(f"{'Review and answer' if is_open else 'See'} this request in FABER", shown.url),
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
    return _joined([*parts, f"---\n{stays}{ids}"])


def status_comment(runs: Sequence[RunStatusShown]) -> str:
    """What `@faber status` posts."""
    if not runs:
        return "No workflow run belongs to this issue."
    cards = [_card(run) for run in runs[:10]]
    more = [f"{len(runs) - 10} older runs are not shown."] if len(runs) > 10 else []
    return _joined(["## Workflow Status", *cards, *more])


def help_comment() -> str:
    """What `@faber help` posts."""
    rows = [
        ("@faber resume", "answers the pending request with the text above it"),
        ("@faber resume --run ID", "the same, for that run"),
        ("@faber approve", "answers with an option; the other text is the comment"),
        ("@faber status [--run ID]", "posts the status"),
        ("@faber cancel [--run ID]", "cancels the pending request and its run"),
        ("@faber help", "lists these"),
    ]
    lines = [f"| `{command}` | {does} |" for command, does in rows]
    return _joined(
        [
            "Each stands on a line of its own; quotes and code do nothing.",
            "\n".join(["| Comment | What it does |", "|---|---|", *lines]),
        ]
    )


def forms_comment(reason: str, requests: Sequence[Shown] = ()) -> str:
    """The reply to a doubtful comment: why nothing was done, and what would be understood."""
    parts = [f"Nothing was done. {block(reason, 1_000)}"]
    if len(requests) > 1:
        parts.append("More than one request is open on this issue, so name the run.")
    for shown in requests[:10]:
        run = f" --run {flat(shown.run_id, 300)}" if len(requests) > 1 else ""
        parts += [f"To answer {link(shown.request_id, shown.url)}:", _forms(shown, run)]
    return _joined(parts if requests else [*parts, help_comment()])


def _fields(shown: Shown) -> Iterator[str]:
    yield f"**Workflow Run**: {code(shown.run_id)}"
    yield f"**Phase**: {line(shown.phase.capitalize(), 100)}"
    yield f"**Step**: {line(shown.step, 150)}"
    yield f"**Requested**: {_time(shown.requested_at)}"


def _outcome(shown: Shown) -> str:
    decision = shown.decision
    if decision is None:
        when = f", {_time(shown.closed_at)}" if shown.closed_at else ""
        return f"**{shown.status.value.capitalize()}**: {_CLOSED[shown.status]}{when}."
    where = link(decision.source.where, decision.url)
    chosen = f"**{line(decision.response, 1_000)}** by **{line(decision.who, 150)}** {where}"
    said = block(decision.comment, 4_000)
    quoted = "\n".join(f"> {each}" for each in said.split("\n")) if said else ""
    return _joined([f"**Answered**: {chosen}, {_time(decision.at)}.", quoted])


def _context(shown: Shown) -> Iterator[str]:
    # A failure's prompt already ends with what the step said.
    if shown.summary.strip() and shown.summary.strip() not in shown.prompt:
        yield _folded("Summary", block(shown.summary, 8_000))
    if links := [_artifact(each) for each in shown.artifacts[:10]]:
        yield f"**Artifact{'s' if len(links) > 1 else ''}**: {', '.join(links)}"
    lists = {
        "Errors": shown.errors,
        "Warnings": shown.warnings,
        "Suggested fixes": shown.suggested_fixes,
    }
    for title, items in lists.items():
        if items:
            yield _folded(title, "\n".join(f"- {line(item)}" for item in items[:8]))


def _folded(title: str, text: str) -> str:
    if len(text) <= _LONG and text.count("\n") < 15:
        return f"**{title}**:\n{text}"
    return f"<details>\n<summary>{title}</summary>\n\n{text}\n\n</details>"


def _options(shown: Shown) -> Iterator[str]:
    yield "### Options"
    named = [(line(option.value, 100), line(option.description, 150)) for option in shown.options]
    lines = [
        f"{number}. **{value}**{f' - {description}' if description else ''}"
        for number, (value, description) in enumerate(named[:30], start=1)
    ]
    yield "\n".join(lines) or "Any text is an answer."


def _how_to_respond(shown: Shown) -> Iterator[str]:
    yield "### How to Respond"
    yield (
        "Reply to this issue with your decision. Include `@faber resume` in your comment to "
        "trigger workflow continuation."
    )
    yield f"**Example response:**\n{fenced(_example(shown))}"


def _example(shown: Shown) -> str:
    values = [option.value for option in shown.options]
    if "approve" in values:
        said = "I approve this design. The approach looks good."
    elif shown.type.takes_text or not values:
        said = "Your answer, in your own words."
    else:
        said = f"{flat(values[0], 100)}. Your reasons, if you like."
    return f"{said}\n\n@faber resume"


def _forms(shown: Shown, run: str) -> str:
    if shown.type.takes_text:
        return f"- your answer, and below it {code(f'@faber resume{run}')} on a line of its own"
    words = [
        f"- {code(f'@faber resume {flat(option.value, 100)}{run}')}"
        f"{' with what should change above it' if option.needs_words else ''}"
        for option in shown.options[:10]
    ]
    own = f"- your decision in your own words, beginning with an option, then `@faber resume{run}`"
    return "\n".join([*words, own])


def _card(run: RunStatusShown) -> str:
    at = [line(run.phase.capitalize(), 100), line(run.step, 150)]
    asked = run.pending
    rows = {
        "Workflow Run": link(code(run.run_id), run.url),
        "Status": run.status.label,
        "At": " → ".join(part for part in at if part),
        "Progress": "{} of {} steps".format(*run.progress) if run.progress else "",
        "Updated": _time(run.updated_at) if run.updated_at else "",
        "Message": line(run.message, 500),
        "Waits for": f"{link(asked.request_id, asked.url)}: {line(asked.prompt)}" if asked else "",
    }
    return "\n".join(f"**{name}**: {value}" for name, value in rows.items() if value)


def _artifact(shown: Link) -> str:
    return link(line(PurePosixPath(shown.path).name or shown.path, 150), shown.url)


def _time(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def _joined(parts: Iterable[str]) -> str:
    return "\n\n".join(part for part in parts if part)
