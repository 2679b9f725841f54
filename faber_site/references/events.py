"""The page about the events of a run's history."""

from collections.abc import Iterator

from faber_site.references.markdown import code, sentences, table
from runs.domain.values.events import ALIASES, WORK, EventType

_HEAD = f"""\
# Events

A run's history is a list of {len(EventType)} types of event. `faber events RUN`, the run page,
`GET /api/v1/runs/RUN/events` and the folder `events/` of an [exported run](directories.md) show the
same list. Every event has `event_id` (from 1, without gaps), `type`, `timestamp` and `run_id`, and
where it applies `phase`, `step`, `status`, `user`, `source`, `message`, `duration_ms`, `metadata`,
`artifacts` and `error`. [Webhooks](webhooks.md) have names of their own.

"""
_WORK = """
## From steps and programs

FABER writes the others itself. A step can add these, in its [response](workflows.md), with
`faber emit` or through [the API](api.md#runs), by name or by a short name:

"""
_READ = """
## Other spellings

Histories that other tools wrote may use these names. FABER reads them and never writes them.

"""


def page() -> str:
    return "".join(
        (
            _HEAD,
            table(("type", "when"), _types()),
            _WORK,
            table(("type", "short names"), _work()),
            _READ,
            table(("spelling", "read as"), _aliases()),
        )
    )


def _types() -> Iterator[tuple[str, str]]:
    meaning = sentences(EventType)
    for event in EventType:
        yield code(event.value), meaning[event.name]


def _work() -> Iterator[tuple[str, str]]:
    for event, short in WORK.items():
        yield code(event.value), ", ".join(map(code, short))


def _aliases() -> Iterator[tuple[str, str]]:
    for name, event in sorted(ALIASES.items()):
        yield code(name), code(event.value)
