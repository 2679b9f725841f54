"""Works out from a run directory where its run stands."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from feedback.exchange.consistency import disagreements
from feedback.exchange.named_plan import covers, plan_of_names
from feedback.exchange.past_requests import Request, Story, index_of
from feedback.exchange.run_directory import (
    EventFound,
    Metadata,
    StateDocument,
    entered_phase,
    of_type,
)
from runs.domain.planning.event_texts import reason_in
from runs.domain.values.errors import Invalid, Problem
from runs.domain.values.events import EventType, file_name
from runs.domain.values.phases import Phase
from runs.domain.values.questions import Action
from runs.domain.values.status import RunStatus
from runs.domain.workflow.plan import Plan
from runs.domain.workflow.problems import Notes


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStanding:
    """What a run's row needs to know besides what its documents say plainly."""

    plan: Plan
    position: int
    entered_phase: str
    error: str
    requests: tuple[Request, ...] = ()
    approvals: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[Problem, ...] = ()  # where its documents disagree


def retell(
    state: StateDocument,
    metadata: Metadata,
    events: Sequence[EventFound],
    *,
    known_plan: Plan | None = None,
    is_executed_here: bool = True,
) -> RunStanding:
    """Raises Invalid with everything that contradicts itself, each at its file.

    A plan that is known from elsewhere is taken when it has the steps the run names.
    """
    notes = Notes()
    check_identity(state, metadata, events, notes)
    if not is_executed_here and state.status is not RunStatus.AWAITING_FEEDBACK:
        # Whoever went on without clearing it away does not ask it any more.
        state = state.model_copy(update={"feedback_request": None})
    _check_status(state, notes)
    _check_requests(state, events, notes)
    named = plan_of_names(state, metadata, events, is_executed_here=is_executed_here)
    plan = metadata.plan or (known_plan if known_plan and covers(known_plan, named) else named)
    position = _position(state, plan, events, notes)
    notes.warnings += disagreements(state, plan, events)
    story = Story(
        plan,
        events,
        notes,
        is_executed_here=is_executed_here,
        is_whole_plan=plan is not named,
    )
    requests = [story.answered(index, entry) for index, entry in enumerate(state.feedback_history)]
    if state.feedback_request and position < len(plan.units):
        requests.append(story.pending(state.feedback_request, position, state.resume_point))
    if notes.problems:
        raise Invalid(notes.problems)
    return RunStanding(
        plan=plan,
        position=position,
        entered_phase=entered_phase(events),
        error=_error(state, events),
        requests=tuple(requests),
        approvals=_approvals(requests),
        notes=tuple(notes.warnings),
    )


def check_identity(
    state: StateDocument, metadata: Metadata, events: Sequence[EventFound], notes: Notes
) -> None:
    """Every document must be of this run, and the plan the one that was hashed."""
    run_id = state.run_id
    if metadata.run_id != run_id:
        notes.refuse("metadata.json: run_id", f"{metadata.run_id} is another run")
    for event in events:
        if event.run_id != run_id:
            notes.refuse(f"{_place(event)}: run_id", f"{event.run_id} is another run")
    if metadata.plan and metadata.plan_hash not in (None, metadata.plan.digest):
        notes.refuse("metadata.json: plan_hash", "is not the hash of the plan")


def _check_status(state: StateDocument, notes: Notes) -> None:
    is_asking = state.feedback_request is not None
    if is_asking is not (state.status is RunStatus.AWAITING_FEEDBACK):
        asks = "is there" if is_asking else "is missing"
        notes.refuse("state.json: feedback_request", f"{asks}, but the status is {state.status}")
    if is_asking and state.point is None:
        notes.refuse("state.json: resume_point", "is missing, but the run awaits feedback")


def _check_requests(state: StateDocument, events: Sequence[EventFound], notes: Notes) -> None:
    known = [entry.request_id for entry in state.feedback_history]
    if state.feedback_request:
        known.append(state.feedback_request.request_id)
    for request_id in sorted({name for name in known if known.count(name) > 1}):
        notes.refuse("state.json: feedback_history", f"{request_id} appears twice")
    for event in of_type(events, EventType.FEEDBACK_RECEIVED):
        if event.request_id and event.request_id not in known:
            notes.warn(_place(event), f"answers {event.request_id}, which state.json does not know")


def _place(event: EventFound) -> str:
    return f"events/{file_name(event.event_id, event.type)}"


def _position(state: StateDocument, plan: Plan, events: Sequence[EventFound], notes: Notes) -> int:
    if state.point is None:
        return 0 if state.status is RunStatus.PENDING else _start_of(state.current_phase, plan)
    at = index_of(plan, state.point)
    if at is None:
        where = f"{state.point.phase}:{state.point.step}"
        notes.refuse("state.json: current_step", f"the plan has no step {where}")
        return len(plan.units)
    start, entered = _start_of(state.point.phase, plan), entered_phase(events)
    # Before a phase a run names its first step, and stands before the hooks of that too.
    stands_before = plan.unit_at(start, entered=entered) is plan.units[at]
    return start if stands_before else at


def _start_of(phase: Phase | None, plan: Plan) -> int:
    inside = (at for at, unit in enumerate(plan.units) if unit.phase is phase)
    return next(inside, len(plan.units))


def _error(state: StateDocument, events: Sequence[EventFound]) -> str:
    if state.status is RunStatus.CANCELLED:
        told = [event.message for event in of_type(events, EventType.WORKFLOW_CANCELLED)]
        return state.cancellation_reason or (reason_in(told[-1]) if told else "")
    told = [event.message for event in of_type(events, EventType.WORKFLOW_ERROR)]
    return told[-1] if told and state.status is RunStatus.FAILED else ""


def _approvals(requests: Sequence[Request]) -> dict[str, str]:
    """The gates whose latest decision was an approval."""
    approved: dict[str, str] = {}
    for request in requests:
        approved.pop(request.gate_key, None)
        decided = [answer.action for answer in request.answers if answer.decides]
        if request.gate_key and decided == [Action.CONTINUE]:
            approved[request.gate_key] = request.request_id
    return approved
