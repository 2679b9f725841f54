"""Writes answers given here into the directory of a run that another FABER executes."""

import json
import time
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from django.utils import timezone

from feedback.exchange.directories import read_object
from feedback.exchange.plain_files import names_in, read_plain
from feedback.exchange.sync import changes
from feedback.exchange.sync.changes import Given, Json
from feedback.exchange.sync.locked_files import FileBusy, back_up, create, locked, replace
from feedback.models import FeedbackResponse, WriteBack
from runs.domain.values import events
from runs.domain.values.errors import Invalid, Problem
from runs.domain.values.events import Entry, file_name, timestamp
from runs.domain.values.questions import Action, Gate
from runs.models import Run
from runs.terminal.console import as_text

PATIENCE = 2.0  # seconds for a lock; what cannot be had is tried again with the next look
# How long whoever took a number, or told of an answer, may need to finish what they began.
_SETTLED = 10.0


class TooLate(Exception):
    """The run went another way; the answer is kept here and never written there."""


def write(row: WriteBack) -> None:
    """Write one answer, once however often this is called; raises TooLate, Busy or Invalid."""
    given, run = given_by(row.response), row.response.request.run
    folder = Path(run.mirrors)
    state_file = folder / "state.json"
    if not folder.is_dir():
        raise Invalid([Problem(str(folder), "is gone")])
    with locked(state_file, patience=PATIENCE):
        state = read_object(state_file)
        if state.get("run_id") != run.run_id:
            raise TooLate(f"{folder} now contains another run")
        if changes.has_it(state, given):
            return
        if why := changes.overtaken(state, given):
            raise TooLate(why)
        now = timezone.now()
        last = _tell(folder / "events", given, run, now)
        after = changes.state_after(state, given, at=timestamp(now), last_event_id=last)
        back_up(state_file, at=now)
        # Last of all: while the state still asks, the answer counts as not written.
        replace(state_file, _bytes(after))


def given_by(response: FeedbackResponse) -> Given:
    request = response.request
    return Given(
        request_id=request.request_id,
        type=request.feedback_type,
        gate=Gate(request.gate),
        phase=request.phase,
        step=request.step,
        response=response.response,
        action=Action(response.action),
        comment=response.comment,
        items=response.items,
        actor=response.author,
        received_at=timestamp(response.received_at),
    )


def _tell(folder: Path, given: Given, run: Run, now: datetime) -> int:
    """Add what is not told yet; returns the number of the last event there is."""
    counter = folder / ".next-id"
    at = max(now, run.last_event_at) if run.last_event_at else now
    with locked(counter, patience=PATIENCE):
        names = [name for name in names_in(folder) if name.endswith(".json")]
        _check_nobody_answers(folder, names, given)
        last = _settled_number(counter, names)
        for entry in changes.entries_for(given):
            if _is_told(folder, names, entry):
                continue
            last += 1
            # The number first, as the original does it: it is never given to two events.
            replace(counter, f"{last + 1}\n".encode())
            document = events.write(entry, number=last, at=at, run_id=run.run_id)
            create(folder / file_name(last, entry.type), _bytes(document))
    return last


def _settled_number(counter: Path, names: list[str]) -> int:
    last = max((_number(name) for name in names), default=0)
    try:
        text = read_plain(counter, most=1000).decode("ascii", "replace").strip()
    except Invalid:
        return last
    if text.isdecimal() and int(text) > last + 1 and _age(counter) < _SETTLED:
        raise FileBusy("an event is being written")
    return last


def _check_nobody_answers(folder: Path, names: list[str], given: Given) -> None:
    """The original tells of an answer first and changes the state then."""
    for file in _of_type(folder, names, "feedback_received"):
        about = _metadata(file)
        is_about_it = about.get("request_id") == given.request_id
        if is_about_it and about.get("response") != given.response and _age(file) < _SETTLED:
            raise FileBusy(f"{given.request_id} is being answered there")


def _is_told(folder: Path, names: list[str], entry: Entry) -> bool:
    """Whether an earlier try, whose end nobody saw, has told it."""
    plain = json.loads(json.dumps(dict(entry.metadata)))
    return any(_metadata(file) == plain for file in _of_type(folder, names, entry.type))


def _of_type(folder: Path, names: list[str], kind: str) -> list[Path]:
    return [folder / name for name in names if name.endswith(f"-{kind}.json")]


def _metadata(file: Path) -> Mapping[str, object]:
    try:
        metadata = read_object(file).get("metadata")
    except Invalid:
        return {}  # half written, and by somebody else
    return metadata if isinstance(metadata, dict) else {}


def _number(name: str) -> int:
    number = name.partition("-")[0]
    return int(number) if number.isdecimal() else 0


def _age(file: Path) -> float:
    return time.time() - file.stat().st_mtime


def _bytes(document: Json) -> bytes:
    return f"{as_text(document)}\n".encode()
