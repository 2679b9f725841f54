"""One order of keys for documents that leave the site, whatever order a database kept."""

from dataclasses import fields

from runs.domain.values.events import Entry
from runs.domain.values.phases import Phase

Json = dict[str, object]

# What is rendered in an order of its own; everything else may have been kept as JSON, and
# PostgreSQL keeps the keys of that in its own order.
_RENDERED = frozenset(
    {
        "attempts",
        "batch",
        "comment",
        "errors",
        "feedback_history",
        "feedback_request",
        "notification_sent",
        "of",
        "phases",
        "relationships",
        "requests",
        "responses",
        "resume_point",
        "run",
        "snapshots",
        "steps",
        "thread",
        *Phase,
    }
)
_OF_AN_EVENT = ("event_id", "type", "timestamp", "run_id", *(f.name for f in fields(Entry)))


def arranged(document: Json) -> Json:
    """A document in the order it was rendered in, and what lies deeper sorted."""
    return {key: _value(value, keeps=key in _RENDERED) for key, value in document.items()}


def arranged_event(document: Json) -> Json:
    """An event as it is written, then what only its own writer knows."""
    known = [key for key in dict.fromkeys(_OF_AN_EVENT) if key in document]
    others = sorted(document.keys() - set(known))
    return {key: _value(document[key], keeps=False) for key in [*known, *others]}


def _value(value: object, *, keeps: bool) -> object:
    if isinstance(value, list):
        return [_value(item, keeps=keeps) for item in value]
    if not isinstance(value, dict):
        return value
    names = value if keeps else sorted(value)
    return {key: _value(value[key], keeps=keeps and key in _RENDERED) for key in names}
