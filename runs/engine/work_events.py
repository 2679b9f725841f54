"""Events that executors add themselves: what they did, in their own words, in the run's history."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import cast

from django.db import transaction

from runs.accounts import permissions
from runs.domain.values.actors import Actor
from runs.domain.values.errors import Invalid, Problem, Refused
from runs.domain.values.events import WORK, Entry, EventType, of_work
from runs.domain.values.plain_json import quoted, storable
from runs.domain.values.text import scrubbed
from runs.domain.workflow.problems import did_you_mean
from runs.engine.concealing import concealed
from runs.engine.lifecycle import record
from runs.models import Event, Run

Json = dict[str, object]

MOST = 1_000  # of a run
LONGEST_MESSAGE = 2_000
LARGEST_METADATA = 20_000  # characters of JSON


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkEvent:
    """What somebody wants to have told; `add` says what is wrong with it."""

    type: str
    message: str
    metadata: Mapping[str, object] = field(default_factory=dict)


def add(run_pk: int, told: WorkEvent, actor: Actor) -> Json:
    """Append it to the history of a run that has not ended; gives the event as it is kept."""
    entry = _entry(told, actor)
    with transaction.atomic():
        run = Run.objects.select_for_update(of=("self",)).select_related("project").get(pk=run_pk)
        permissions.check_may_act(actor, run.project)
        if run.state.is_final:
            raise Refused(f"The run is {run.state.label}. No more events can be added.")
        if Event.objects.filter(run=run, type__in=WORK).count() >= MOST:
            raise Refused(f"The run has {MOST:,} work events, the maximum.")
        record(run, [_placed(entry, run)])
        return dict(Event.objects.get(run=run, number=run.last_event_id).document)


def _entry(told: WorkEvent, actor: Actor) -> Entry:
    problems = list(_problems(told))
    kind = of_work(told.type)
    if problems or kind is None:
        raise Invalid(problems)
    # A step's own data: here a key such as `password` does name a secret.
    data = cast("Json", scrubbed(storable(dict(told.metadata)), concealed))
    return Entry(
        type=kind,
        user=actor.name,
        source=actor.source.value,
        message=str(storable(told.message.strip())),
        metadata={**data, "emitted_by": actor.describe()},
    )


def _placed(entry: Entry, run: Run) -> Entry:
    unit = run.unit
    return replace(entry, phase=unit.phase.value, step=unit.step.id) if unit else entry


def _problems(told: WorkEvent) -> Iterator[Problem]:
    if of_work(told.type) is None:
        yield Problem("type", _why_not(told.type))
    if not told.message.strip():
        yield Problem("message", "is empty; describe what happened in one sentence")
    elif len(told.message) > LONGEST_MESSAGE:
        yield Problem("message", f"has more than {LONGEST_MESSAGE:,} characters")
    try:
        size = len(json.dumps(storable(dict(told.metadata)), ensure_ascii=False))
    except (TypeError, ValueError, RecursionError) as error:
        yield Problem("metadata", str(error))
    else:
        if size > LARGEST_METADATA:
            yield Problem("metadata", f"has more than {LARGEST_METADATA:,} characters")


def _why_not(name: str) -> str:
    if name.casefold() in list(EventType):
        return f"{name} is recorded by FABER only. Use one of {', '.join(WORK)}"
    near = did_you_mean(name, WORK) or f"; use one of {', '.join(WORK)}"
    return f"{quoted(name)} is not a work event{near}"
