"""Finds run directories and reads one: every document of it, or everything that is wrong."""

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from feedback.exchange import old_spellings
from feedback.exchange.export import RECORD
from feedback.exchange.full_record import digest
from feedback.exchange.plain_files import MOST_BYTES, names_in, read_plain
from feedback.exchange.record_reader import Record
from feedback.exchange.run_directory import EventFound, Json, Metadata, StateDocument, T, read
from feedback.exchange.storable import unfit
from runs.domain.values.errors import Invalid, NotFound, Problem
from runs.domain.values.events import chain
from runs.domain.values.ids import is_run_id
from runs.domain.workflow.problems import Notes
from runs.terminal.inputs import parse_json

# Where the original keeps its runs, under the root of a work tree.
BASES = (Path(".fractary", "faber", "runs"), Path(".fractary", "plugins", "faber", "runs"))

MOST_EVENTS = 20_000
_OF_A_RUN = ("state.json", "metadata.json", "events")


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRead:
    """An event as it was read, and the document that is kept of it."""

    found: EventFound
    document: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Directory:
    """A run directory as values; each document made sense, which says nothing of their sum."""

    folder: Path
    state: StateDocument
    metadata: Metadata
    events: Sequence[EventRead]
    raw_state: Json
    raw_metadata: Json
    record: Record | None = None  # ours, when it is of the same moment as the rest
    notes: Sequence[Problem] = field(default_factory=tuple)


def hash_of(events: Sequence[EventRead]) -> str:
    last = ""
    for told in events:
        last = chain(last, told.document)
    return last


def runs_below(folder: Path) -> dict[Path, str]:
    """The folder itself when it is a run's, else every run of a base path or a work tree.

    Each with the id that its place gives it; one that is named has none.
    """
    if folder.is_file():
        raise Invalid([Problem(str(folder), "is a file, not a run directory")])
    if not folder.is_dir():
        raise NotFound(f"There is no folder {folder}.")
    if any((folder / name).exists() for name in _OF_A_RUN):
        return {folder: ""}
    bases = [folder, *(folder / base for base in BASES)]
    return {
        base / place: place
        for base in bases
        for place in sorted(_places(str(base), depth=3))
        if is_run_id(place)
    }


def _places(base: str, *, depth: int) -> Iterator[str]:
    """Ids of runs by the folders that lie below a base.

    Links are not followed: they may lead anywhere, and to the same run twice. Hundreds of runs
    are looked for every second, so this asks the system as little as it can.
    """
    try:
        with os.scandir(base) as entries:
            names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return
    for name in names:
        inner = f"{base}/{name}"
        if depth > 1:
            yield from (f"{name}/{place}" for place in _places(inner, depth=depth - 1))
        elif os.path.lexists(f"{inner}/state.json"):
            yield name


def read_directory(folder: Path, *, place: str = "") -> Directory:
    """Raises Invalid with every problem, each at its file; a place is the id it must have."""
    notes = Notes()
    raw_state = _object(folder / "state.json", "state.json", notes)
    state = _value(StateDocument, raw_state, "state.json", notes)
    raw_metadata = _object(folder / "metadata.json", "metadata.json", notes)
    metadata = _value(Metadata, raw_metadata, "metadata.json", notes)
    events = _events(folder / "events", notes)
    record = None if notes.problems else _record(folder, events, notes)
    if notes.problems or state is None or metadata is None:
        raise Invalid(notes.problems)
    if place and state.run_id != place:
        raise Invalid(
            [Problem("state.json: run_id", f"{state.run_id} is not the run of this place")]
        )
    _check_counter(folder, state, events, notes)
    return Directory(
        folder=folder,
        state=state,
        metadata=metadata,
        events=events,
        raw_state=raw_state or {},
        raw_metadata=raw_metadata or {},
        record=record,
        notes=tuple(notes.warnings),
    )


def _events(folder: Path, notes: Notes) -> list[EventRead]:
    try:
        names = [name for name in names_in(folder) if name.endswith(".json")]
    except Invalid as error:
        notes.problems.extend(_placed("events", problem) for problem in error.problems)
        return []
    if len(names) > MOST_EVENTS:
        notes.refuse("events", f"contains more than {MOST_EVENTS} events")
        return []
    told = [event for name in names if (event := _event(folder / name, notes))]
    told.sort(key=lambda one: one.found.event_id)
    _check_numbers([one.found.event_id for one in told], notes)
    return told


def _event(file: Path, notes: Notes) -> EventRead | None:
    place = f"events/{file.name}"
    document = _object(file, place, notes)
    event = _value(EventFound, document, place, notes)
    if event is None or document is None:
        return None
    number = file.name.partition("-")[0]
    if number.isdecimal() and int(number) != event.event_id:
        notes.refuse(place, f"contains event {event.event_id}")
    return EventRead(found=event, document=document)


def _check_numbers(numbers: Sequence[int], notes: Notes) -> None:
    """A history with a gap cannot be told from one that somebody shortened."""
    if notes.problems:
        return  # an unreadable event is not a missing one
    for expected, number in enumerate(numbers, start=1):
        if number != expected:
            what = "appears twice" if number < expected else "is missing"
            notes.refuse("events", f"event {min(number, expected)} {what}")
            return


def _check_counter(
    folder: Path, state: StateDocument, events: Sequence[EventRead], notes: Notes
) -> None:
    """The numbers beside the events; whoever was interrupted between them left them behind."""
    if state.last_event_id not in (None, len(events)):
        notes.warn("state.json: last_event_id", f"is {state.last_event_id} of {len(events)} events")
    try:
        text = read_plain(folder / "events" / ".next-id", most=1000).decode("ascii").strip()
    except (Invalid, UnicodeDecodeError):
        return  # whoever needs it makes a new one
    if text != str(len(events) + 1):
        notes.warn("events/.next-id", f"is {text[:20]!r} after {len(events)} events")


def _record(folder: Path, events: Sequence[EventRead], notes: Notes) -> Record | None:
    """What a site of ours wrote beside it, unless the run has gone on elsewhere since."""
    if not (folder / RECORD).exists():
        return None
    document = _object(folder / RECORD, RECORD, notes)
    record = _value(Record, document, RECORD, notes)
    if record is None:
        return None
    state = read_plain(folder / "state.json", most=MOST_BYTES).decode().removesuffix("\n")
    if record.of.last_event_hash != hash_of(events) or record.of.state != digest(state):
        notes.warn(RECORD, "is older than the rest and was ignored")
        return None
    return record


def _object(file: Path, place: str, notes: Notes) -> Json | None:
    """The file's JSON object as it stands there."""
    try:
        return read_object(file)
    except Invalid as error:
        notes.problems.extend(_placed(place, problem) for problem in error.problems)
        return None


def read_object(file: Path) -> Json:
    """A file's JSON object; raises Invalid for whatever else it holds."""
    try:
        document = parse_json(read_plain(file, most=MOST_BYTES).decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise Invalid([Problem("", "is not UTF-8 text")]) from None
    if not isinstance(document, dict):
        raise Invalid([Problem("", "must be an object")])
    if problems := unfit(document):
        raise Invalid(problems)
    return document


def _value(kind: type[T], document: Json | None, place: str, notes: Notes) -> T | None:
    if document is None:
        return None
    known, said = old_spellings.read(kind, document)
    notes.warnings.extend(_placed(place, problem) for problem in said)
    value, problems = read(kind, json.dumps(known))
    notes.problems.extend(_placed(place, problem) for problem in problems)
    return value


def _placed(place: str, problem: Problem) -> Problem:
    return Problem(": ".join(filter(None, [place, problem.place])), problem.message)
