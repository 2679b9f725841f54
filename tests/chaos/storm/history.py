"""What clients, steps, GitHub and the database saw of one storm."""

from dataclasses import dataclass, field
from pathlib import Path

from pydantic import TypeAdapter

ACKNOWLEDGED, REFUSED, UNKNOWN = "acknowledged", "refused", "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sign:
    """A line that a step wrote of itself; the lines are in the order in which they were written."""

    what: str  # begin, alive, end
    run: str
    step: str
    attempt: int
    pid: int
    at: float  # seconds since the machine started


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a client asked for, under a key of its own, and what it was told."""

    key: str
    outcome: str
    about: str = ""  # the run that was started, the request that was answered
    told: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """A command that somebody wrote on an issue."""

    comment_id: int
    request: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What a client was told of a run, when it was something new."""

    run: str
    status: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    run: str
    key: str
    status: str
    last_event: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRow:
    run: str
    number: int
    type: str
    document: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptRow:
    run: str
    step: str
    number: int
    status: str
    reason: str
    feedback: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRow:
    request: str
    run: str
    status: str
    is_on_github: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseRow:
    request: str
    comment: str
    action: str
    decides: bool
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HeardRow:
    comment_id: int
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """The database at the end."""

    runs: tuple[RunRow, ...] = ()
    events: tuple[EventRow, ...] = ()
    attempts: tuple[AttemptRow, ...] = ()
    requests: tuple[RequestRow, ...] = ()
    responses: tuple[ResponseRow, ...] = ()
    heard: tuple[HeardRow, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    signs: tuple[Sign, ...] = ()
    starts: tuple[Asked, ...] = ()
    answers: tuple[Asked, ...] = ()
    spoken: tuple[Spoken, ...] = ()
    marks: tuple[str, ...] = ()  # of every comment that the site wrote on GitHub
    looks: tuple[Look, ...] = ()
    wakings: tuple[float, ...] = ()  # when a host went on that had been stopped as a whole
    askew: tuple[str, ...] = ()  # runs seen awaiting without one open request, or the reverse
    tables: Tables = field(default_factory=Tables)
    rest: float | None = None  # seconds after the last fault; None: it never came to rest
    unrest: str = ""  # what was still to be done then
    troubles: tuple[str, ...] = ()  # what else must not happen


_FORM = TypeAdapter(History)


def write(history: History, file: Path) -> None:
    file.write_bytes(_FORM.dump_json(history, indent=1))


def read(file: Path) -> History:
    return _FORM.validate_json(file.read_bytes())
