"""Replays a run's events and says where its state tells another story."""

from collections.abc import Iterator, Mapping, Sequence

from feedback.exchange.run_directory import EventFound, StateDocument
from runs.domain.planning import state as states
from runs.domain.values.errors import Problem
from runs.domain.values.events import ALIASES, EventType
from runs.domain.values.status import RunStatus
from runs.domain.workflow.plan import Plan

_GOING = (RunStatus.PENDING, RunStatus.IN_PROGRESS)
# What a run can be after each of these; other events leave it as it was.
_AFTER: Mapping[str, tuple[RunStatus, ...]] = {
    EventType.WORKFLOW_START: _GOING,
    EventType.WORKFLOW_RESUMED: (*_GOING, RunStatus.AWAITING_FEEDBACK),
    EventType.PHASE_START: (*_GOING, RunStatus.AWAITING_FEEDBACK),
    EventType.STEP_START: (*_GOING, RunStatus.AWAITING_FEEDBACK),
    EventType.DECISION_POINT: (*_GOING, RunStatus.AWAITING_FEEDBACK),
    EventType.FEEDBACK_REQUEST: (RunStatus.AWAITING_FEEDBACK,),
    EventType.FEEDBACK_RECEIVED: (*_GOING, RunStatus.AWAITING_FEEDBACK),
    EventType.WORKFLOW_COMPLETE: (RunStatus.COMPLETED,),
    EventType.WORKFLOW_ERROR: (RunStatus.FAILED, RunStatus.AWAITING_FEEDBACK),
    EventType.WORKFLOW_CANCELLED: (RunStatus.CANCELLED,),
}


def disagreements(state: StateDocument, plan: Plan, events: Sequence[EventFound]) -> list[Problem]:
    """The state is what stands; where it and the events differ, somebody should know."""
    return [*_of_the_run(state, events), *_of_phases(state, plan, events)]


def _of_the_run(state: StateDocument, events: Sequence[EventFound]) -> Iterator[Problem]:
    telling = [kind for event in events if (kind := _kind(event)) in _AFTER]
    if telling and state.status not in _AFTER[telling[-1]]:
        last = telling[-1]
        yield Problem("state.json: status", f"is {state.status}, but the events end with {last}")


def _of_phases(state: StateDocument, plan: Plan, events: Sequence[EventFound]) -> Iterator[Problem]:
    """Phases and steps are always told from the events."""
    told = states.fold(plan, ({**event.model_dump(), "type": event.type} for event in events))
    for name, phase in state.phases.items():
        replayed = told[name].status if name in told else "pending"
        if phase.status and phase.status != replayed:
            place = f"state.json: phases.{name}.status"
            yield Problem(place, f"is {phase.status}, but the events tell {replayed}")


def _kind(event: EventFound) -> str:
    return ALIASES.get(event.type, event.type)
