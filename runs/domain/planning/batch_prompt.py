"""What a group of runs asks, as people read it: the layout of the seeds."""

from collections.abc import Sequence

from runs.domain.planning.batch import Asked, Counts, Member, Stop, count
from runs.domain.values.background import BackgroundSection
from runs.domain.values.numbers import number_of
from runs.domain.values.questions import FeedbackType, Option
from runs.domain.values.text import shortened

EXAMPLES = 3
MOST_ITEMS = 5
LONGEST_ITEM = 300
LONGEST_ERROR = 500


def prompt(members: Sequence[Member]) -> str:
    counts = count(members)
    open_ones = [member for member in members if member.stop is Stop.AWAITING_FEEDBACK]
    failed = [member for member in members if member.stop is Stop.ERROR]
    parts = ["## Parallel Workflow Status", "\n".join([_headline(counts), *_bullets(counts)])]
    if open_ones or failed:
        parts += ["### Feedback Needed", *map(_request_part, open_ones), *map(_failed, failed)]
        parts += ["### Provide Feedback", _examples([*open_ones, *failed])]
    return "\n\n".join(parts) + "\n"


def _headline(counts: Counts) -> str:
    runs = number_of(counts.total, "workflow run")
    if counts.all_stopped:
        return f"{runs} completed initial execution:"
    return f"{counts.stopped} of {runs} stopped so far:"


def _bullets(counts: Counts) -> list[str]:
    going = counts.by_stop[Stop.IN_PROGRESS] - counts.waiting
    told = (
        (counts.by_stop[Stop.COMPLETED], "completed successfully"),
        (counts.by_stop[Stop.AWAITING_FEEDBACK], "awaiting feedback (see below)"),
        (counts.by_stop[Stop.ERROR], "failed with error (see below)"),
        (counts.by_stop[Stop.CANCELLED], "cancelled"),
        (going, "in progress"),
        (counts.waiting, "queued"),
    )
    return [f"- {number} {words}" for number, words in told if number]


def _request_part(member: Member) -> str:
    asks = member.asks
    if asks is None:  # such a member is in progress
        return ""
    is_error = asks.type is FeedbackType.ERROR_RESOLUTION
    lines = [
        _title(member),
        f"- Type: {asks.type.value.replace('_', ' ').title()}",
        f"- Error: {shortened(_line(asks.error or asks.prompt), LONGEST_ERROR)}"
        if is_error
        else f"- Question: {_line(asks.prompt)}",
        *(_told(section) for section in asks.told),
        f"- Options: {_numbered(asks)}",
    ]
    return "\n".join(lines)


def _told(section: BackgroundSection) -> str:
    """What a run says besides, on one line; a group may be large."""
    shown = [shortened(_line(line), LONGEST_ITEM) for line in section.lines[:MOST_ITEMS]]
    if more := section.lines[MOST_ITEMS:]:
        shown.append(f"and {len(more)} more on the request page")
    return f"- {section.title}: {' / '.join(line.removeprefix('- ') for line in shown)}"


def _failed(member: Member) -> str:
    lines = [
        _title(member),
        "- Status: Failed",
        f"- Error: {_line(member.error) or 'unknown'}",
        f"- Options: {_brackets(member.options)}",
    ]
    return "\n".join(lines)


def _title(member: Member) -> str:
    about = member.branch or member.target
    return f"**Run {member.name}**{f' ({_line(about)})' if about else ''}:"


def _numbered(asks: Asked) -> str:
    if asks.type.takes_text:
        # Any text answers, so a number would be somebody's text.
        return " ".join(["your own words", *(f"or {option.value}" for option in asks.options)])
    return _brackets(asks.options)


def _brackets(options: Sequence[Option]) -> str:
    return " ".join(f"[{number}] {option.value}" for number, option in enumerate(options, start=1))


def _examples(members: Sequence[Member]) -> str:
    lines = [f"{member.name}: {_example(member)}" for member in members[:EXAMPLES]]
    return "\n".join(["Example format:", *lines])


def _example(member: Member) -> str:
    if member.asks and member.asks.type.takes_text:
        return "your answer in words"
    return member.options[0].value if member.options else "approve"


def _line(text: str) -> str:
    """One line, whatever a step wrote: nothing of it may look like a line of the prompt."""
    return " ".join(text.split())
