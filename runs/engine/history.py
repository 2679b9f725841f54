"""Appends events to a run's history: gapless, in order of time, chained."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from django.db.models import Count, Max

from runs.domain.values import events
from runs.domain.values.events import ALIASES, Entry
from runs.models import Event, Run
from runs.models.statements import insert_all


def append(run: Run, entries: Iterable[Entry], *, now: datetime) -> None:
    """Write events for a locked run; the caller saves the run in the same transaction."""
    # A clock that was set back must not make a later event look earlier.
    at = max(now, run.last_event_at) if run.last_event_at else now
    rows: list[Event] = []
    for entry in entries:
        run.last_event_id += 1
        document = events.write(entry, number=run.last_event_id, at=at, run_id=run.run_id)
        run.last_event_hash = events.chain(run.last_event_hash, document)
        rows.append(
            Event(
                run=run,
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
        insert_all(Event, rows)


def changed(run: Run) -> str:
    """Whether events were taken away or slipped in; each has its number, without a gap."""
    known = run.last_event_id
    there = Event.objects.filter(run=run).aggregate(events=Count("pk"), last=Max("number"))
    last = there["last"] or 0
    if there["events"] == last == known:
        return ""
    run.last_event_id = max(known, last)  # the failure is told behind what was slipped in
    return f"Its history was changed: {known} events were recorded, {there['events']} are there."


def broken_links(run: Run) -> list[str]:
    """What is wrong with a run's chain of events, in sentences; nothing when it is whole."""
    found: list[str] = []
    previous, expected = "", 1
    for event in Event.objects.filter(run=run).order_by("number").iterator():
        if event.number != expected:
            found.append(f"{run.run_id}: event {expected} is missing")
        if event.hash != events.chain(previous, event.document) or not _tells_its_document(event):
            found.append(f"{run.run_id}: event {event.number} ({event.type}) was changed")
        previous, expected = event.hash, event.number + 1
    if expected - 1 != run.last_event_id or previous != run.last_event_hash:
        found.append(f"{run.run_id}: the history does not end at event {run.last_event_id}")
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
