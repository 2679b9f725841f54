"""Appends events to a run's history: gapless, in order of time, chained."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import cast

from django.db.models import Count, Max

from runs.chain import keys
from runs.domain.values import events
from runs.domain.values.events import ALIASES, Entry
from runs.domain.values.text import scrubbed
from runs.engine.concealing import concealed
from runs.models import Event, Run
from runs.models.statements import Prepared, insert_all

Json = dict[str, object]


@dataclass(slots=True, kw_only=True)
class EventRow:
    """An event that is about to be written, by its columns."""

    run_id: int | None = None
    number: int
    type: str
    timestamp: datetime
    phase: str
    step: str
    document: Json
    hash: str


def append(run: Run, entries: Iterable[Entry], *, now: datetime) -> list[Json] | None:
    """Write events for a locked run; the caller saves the run in the same transaction.

    None, and nothing written, when the place of one is taken: only somebody else did that.
    """
    before = (run.last_event_id, run.last_event_hash, run.last_event_at)
    rows = written_down(run, entries, now=now)
    if store(run, rows):
        return [row.document for row in rows]
    run.last_event_id, run.last_event_hash, run.last_event_at = before
    ours = [row.hash for row in rows]
    Event.objects.filter(run=run, number__gt=run.last_event_id, hash__in=ours).delete()
    return None


def written_down(run: Run, entries: Iterable[Entry], *, now: datetime) -> list[EventRow]:
    """The events as they are to be stored; the run ends at the last of them from here on."""
    # A clock that was set back must not make a later event look earlier.
    at = max(now, run.last_event_at) if run.last_event_at else now
    told = list(entries)
    written = [
        events.write(entry, number=number, at=at, run_id=run.run_id)
        for number, entry in enumerate(told, start=run.last_event_id + 1)
    ]
    # One look at all of them: hardly ever is there a secret to take out.
    documents = cast("list[Json]", scrubbed(written, concealed, names=False))
    rows: list[EventRow] = []
    for entry, document in zip(told, documents, strict=True):
        run.last_event_id += 1
        run.last_event_hash = events.chain(run.last_event_hash, document)
        rows.append(
            EventRow(
                number=run.last_event_id,
                type=entry.type.value,
                timestamp=at,
                phase=entry.phase,
                step=entry.step,
                document=document,
                hash=run.last_event_hash,
            )
        )
    if rows:
        run.last_event_at = at
    return rows


def store(run: Run, rows: Sequence[EventRow]) -> bool:
    """Write the events of a run; False when there was not room for all of them."""
    for row in rows:
        row.run_id = run.pk
    return insert_all(Event, rows) == len(rows)


_COUNTED = Prepared(
    lambda run: (
        Event.objects.filter(run=run)
        .order_by()
        .values("run")
        .annotate(there=Count("pk"), last=Max("number"))
        .values_list("there", "last")
    ),
    -1,
)


def changed(run: Run) -> str:
    """Whether events were taken away or slipped in; each has its number, without a gap."""
    known = run.last_event_id
    there, last = next(iter(_COUNTED.rows(run.pk)), (0, 0))
    if there == last == known:
        return ""
    run.last_event_id = max(known, last)  # the failure is told behind what was slipped in
    return f"Its history was changed: {known} events were recorded, {there} are there."


def head_code(run: Run) -> str:
    """What only this site can write beside where a run stands: with it its whole history is held,
    because every event is bound to those before it."""
    return keys.code(*_stands(run))


def _stands(run: Run) -> tuple[object, ...]:
    return (
        *("head", run.run_id, run.last_event_id, run.last_event_hash, run.status, run.position),
        *(run.entered_phase, run.approvals, run.retry_count, run.error, run.completed_at),
    )


def broken_links(run: Run, anchors: Mapping[int, str] | None = None) -> list[str]:
    """What is wrong with a run and its chain of events, in sentences; nothing when it is whole.

    The anchors are hashes of some of its events that the site's record knows.
    """
    found: list[str] = []
    anchors = anchors or {}
    if not keys.fits(run.head_code, *_stands(run)):
        found.append(f"{run.run_id}: where the run stands was changed, or its history was")
    if not run.has_its_plan:
        found.append(f"{run.run_id}: its plan was changed")
    previous, expected = "", 1
    for event in Event.objects.filter(run=run).order_by("number").iterator():
        if event.number != expected:
            found.append(f"{run.run_id}: event {expected} is missing")
        if event.hash != events.chain(previous, event.document) or not _tells_its_document(event):
            found.append(f"{run.run_id}: event {event.number} ({event.type}) was changed")
        if anchors.get(event.number, event.hash) != event.hash:
            found.append(f"{run.run_id}: event {event.number} is not the one on record")
        previous, expected = event.hash, event.number + 1
    if expected - 1 != run.last_event_id or previous != run.last_event_hash:
        found.append(f"{run.run_id}: the history does not end at event {run.last_event_id}")
    if expected - 1 < max(anchors, default=0):
        found.append(f"{run.run_id}: events up to {max(anchors)} are on record, not all are there")
    return found


def _tells_its_document(event: Event) -> bool:
    """The columns a verdict is read from are a copy; they must say what was chained."""
    document = event.document
    kind = str(document.get("type"))
    copied: dict[str, object] = {"event_id": event.number}
    if event.phase:
        copied["phase"] = event.phase
    if event.step:
        copied["step"] = event.step
    return (
        ALIASES.get(kind, kind) == event.type
        and _is_time(document.get("timestamp"), event.timestamp)
        and all(document.get(key) == value for key, value in copied.items())
    )


def _is_time(written: object, at: datetime) -> bool:
    """Other writers tell whole seconds, or in their own time zone; ours tells milliseconds."""
    try:
        read = datetime.fromisoformat(str(written))
    except ValueError:
        return False
    return read.tzinfo is not None and abs(at - read) < timedelta(milliseconds=1)
