"""Lays out what commands say: columns, cards and times, coloured on a screen only."""

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.utils import timezone

from runs.domain.values.status import RunStatus

TITLE = 48  # characters of a title beside other columns
_LABEL = 12
GAP = 2
_KEPT = "\n\t\N{ZERO WIDTH JOINER}\N{VARIATION SELECTOR-16}"  # emoji are made with the last two


def clean(text: object) -> str:
    """Without the characters that steer a terminal or hide in a text."""
    whole = str(text).replace("\r\n", "\n")
    return "".join(c for c in whole if c in _KEPT or not unicodedata.category(c).startswith("C"))


def one_line(text: object, longest: int = 200) -> str:
    line = " ".join(clean(text).split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def age(moment: datetime) -> str:
    """How long ago, in the largest unit that says enough."""
    seconds = max(0, int((timezone.now() - moment).total_seconds()))
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def duration(seconds: float) -> str:
    if seconds < 10:
        return f"{seconds:.1f}s"
    if seconds < 60:
        return f"{seconds:.0f}s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}m{rest:02d}s"


def size(count: int) -> str:
    """Bytes, in the largest unit that says enough."""
    amount = float(count)
    for unit in ("B", "kB", "MB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} GB"


def columns(
    header: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    colour: bool,
    bends: Sequence[str] = (),
    goes: Sequence[str] = (),
) -> str:
    """On a screen that is too narrow some columns are shortened, and of these the first go."""
    cells = [header, *([one_line(cell) for cell in row] for row in rows)]
    if not colour:
        return "\n".join("".join(row).rstrip() for row in _padded(cells))
    from runs.terminal.screen import table  # noqa: PLC0415  pipes need not pay for rich

    return table(cells, bends=bends or header[-1:], goes=goes)


def card(title: str, fields: Iterable[tuple[str, object]]) -> str:
    """A title, and under it what is known; what is empty is left out."""
    known = [(label, text) for label, value in fields if (text := clean(value or ""))]
    width = max([_LABEL, *(len(label) + 2 for label, _ in known)])
    lines = [title]
    for label, text in known:
        first, *more = text.split("\n")
        lines += [f"  {label:<{width}}{first}", *(" " * (width + 2) + line for line in more)]
    return "\n".join(lines)


def run_line(run: Mapping[str, Any]) -> str:
    """Run JSON in one line: which run, how it stands, how far it is."""
    progress = run["progress"]
    steps = f"{progress['done']} of {progress['total']} steps"
    why = f": {one_line(run['error'])}" if run["error"] else ""
    return f"{run['run_id']} {words(run['status'])} ({steps}){_decided(run)}{why}"


def run_card(run: Mapping[str, Any], *, waits: str = "") -> str:
    """Run JSON as people read it, and why it has not begun."""
    progress = run["progress"]
    artifacts = (f"{name} {value}" for name, value in run["artifacts"].items())
    return card(
        f"{run['run_id']}  {words(run['status'])}",
        [
            ("Title", run["title"]),
            ("Project", run["project"]),
            ("Work id", run["work_id"]),
            ("Workflow", run["workflow_id"]),
            ("Step", step_of(run)),
            ("Progress", f"{progress['done']} of {progress['total']} steps"),
            ("Taken over", taken_over_of(run)),
            ("Queued", waits),
            ("Request", run["pending_request"]),
            ("Outcome", ended_of(run)),
            ("Error", run["error"]),
            ("Late result", "\n".join(map(_late, run["late_results"]))),
            ("Artifacts", "\n".join(artifacts)),
            ("Started", f"{_when(run['created_at'])} by {run['started_by']}"),
            ("Ended", _when(run["completed_at"])),
            ("URL", run["url"]),
        ],
    )


def taken_over_of(run: Mapping[str, Any]) -> str:
    source, step = run["rerun_of"], run["rerun_from"]
    return f"everything before {step} from {source}" if step else ""


def _decided(run: Mapping[str, Any]) -> str:
    return f", {one_line(ended)}" if (ended := ended_of(run)) else ""


def ended_of(run: Mapping[str, Any]) -> str:
    """Who rejected or cancelled a run; nothing for one that ended by itself or goes on."""
    if run["status"] != RunStatus.CANCELLED:
        return ""
    return f"{run['outcome']} by {run['ended_by']}" if run["ended_by"] else str(run["outcome"])


def _late(late: Mapping[str, Any]) -> str:
    said = late["response"]
    where = f"{late['phase']}:{late['step']} attempt {late['attempt']}"
    return f"{where}: {said.get('status', '')}, {one_line(said.get('message', ''))}"


def step_of(run: Mapping[str, Any]) -> str:
    """Where the run stands; nowhere when it has ended well."""
    return f"{run['current_phase']}:{run['current_step']}" if run["current_step"] else ""


def _when(moment: str | None) -> str:
    return f"{moment[:16].replace('T', ' ')} UTC" if moment else ""


def words(name: str) -> str:
    return name.replace("_", " ")


def event_line(document: Mapping[str, object]) -> str:
    """One event of a history, as people read it."""
    number, kind = str(document.get("event_id", "")), str(document.get("type", ""))
    at = str(document.get("timestamp", ""))[:19].replace("T", " ")
    where = ":".join(str(document[key]) for key in ("phase", "step") if document.get(key))
    said = one_line(f"{where} {_spoken(document)}")
    return clean(f"{number:>4}  {at}  {kind:<18} {said}").rstrip()


def _spoken(document: Mapping[str, object]) -> str:
    user, message = document.get("user"), str(document.get("message", ""))
    return " – ".join(filter(None, [message, f"by {user}" if user else ""]))


def _padded(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    widths = [max(map(len, column)) + GAP for column in zip(*rows, strict=True)]
    return [[c.ljust(w) for c, w in zip(row, widths, strict=True)] for row in rows]
