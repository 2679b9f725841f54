"""What an answer makes of a run directory that another FABER works on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from runs.domain.planning import event_texts, planner
from runs.domain.values.actors import Actor
from runs.domain.values.events import Entry, EventType
from runs.domain.values.questions import Action, FeedbackType, Gate

Json = dict[str, object]

# Gates at which the step is done, and going on means that it was good.
_AFTER_THE_STEP = (Gate.AFTER_STEP, Gate.WARNING, Gate.CHECK_IN, Gate.BUDGET)


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """An answer as the directory is told of it."""

    request_id: str
    type: FeedbackType
    gate: Gate
    phase: str
    step: str
    response: str
    action: Action
    comment: str
    items: Sequence[Mapping[str, object]]
    actor: Actor
    received_at: str

    @property
    def reason(self) -> str:
        return self.comment or f"{self.response} at {self.phase}:{self.step}"


def overtaken(state: Mapping[str, object], given: Given) -> str:
    """Why the answer comes too late; nothing when it is still asked for."""
    asked = state.get("feedback_request")
    now_asked = asked.get("request_id") if isinstance(asked, dict) else None
    if other := _entry(state, given.request_id):
        by = other.get("provided_by")
        who = by.get("user") if isinstance(by, dict) else by
        return f"{who or 'somebody'} already chose {other.get('response')} in its directory"
    if state.get("status") == "awaiting_feedback" and now_asked == given.request_id:
        return ""
    if now_asked:
        return f"the run now asks {now_asked}"
    return f"the run no longer asks it; it is {state.get('status')}"


def has_it(state: Mapping[str, object], given: Given) -> bool:
    """Whether exactly this answer is in the state already."""
    entry = _entry(state, given.request_id)
    return entry is not None and (entry.get("response"), entry.get("received_at")) == (
        given.response,
        given.received_at,
    )


def entries_for(given: Given) -> list[Entry]:
    """What the history is told, in the order of the protocol."""
    told = [
        event_texts.answered(
            given.type,
            given.response,
            phase=given.phase,
            step=given.step,
            request_id=given.request_id,
            actor=given.actor,
        ),
        *event_texts.approval(
            given.type,
            given.action,
            phase=given.phase,
            step=given.step,
            request_id=given.request_id,
            response=given.response,
            actor=given.actor,
        ),
    ]
    if given.action is Action.SKIP:
        told.append(_of_the_step(given, EventType.STEP_SKIP, "skipped"))
    if given.action is Action.ABORT:
        told.append(_of_the_run(given))
    return told


def state_after(state: Mapping[str, object], given: Given, *, at: str, last_event_id: int) -> Json:
    """The state with the answer in it; whatever else it says stays as it is."""
    history = state.get("feedback_history")
    after: Json = {
        **state,
        "status": "in_progress",
        "current_phase": given.phase,
        "current_step": given.step,
        "last_event_id": last_event_id,
        "updated_at": at,
        "feedback_request": None,
        "feedback_history": [*(history if isinstance(history, list) else ()), _kept(given)],
    }
    # The original takes it away as well; where the run stood is still worth knowing.
    if point := after.pop("resume_point", None):
        after["last_resume_point"] = point
    if given.action is Action.ABORT:
        after |= {"status": "cancelled", "completed_at": at, "cancellation_reason": given.reason}
    if marked := _mark(given):
        after["phases"] = _with_step(after.get("phases"), given, marked)
    return after


def _kept(given: Given) -> Json:
    said: Json = {
        "request_id": given.request_id,
        "request_type": given.type.value,
        "response": given.response,
        "action": given.action.value,
        "provided_by": {**given.actor.describe(), "timestamp": given.received_at},
        "received_at": given.received_at,
    }
    if given.comment:
        said["comment"] = given.comment
    if given.items:
        said["items"] = [dict(item) for item in given.items]
    return said


def _mark(given: Given) -> str:
    """What becomes of the paused step, so that whoever resumes does not execute it again."""
    if given.action is Action.SKIP:
        return "skipped"
    is_done = given.action is Action.CONTINUE and given.gate in _AFTER_THE_STEP
    return "completed" if is_done else ""


def _with_step(phases: object, given: Given, status: str) -> Json:
    """The phases with one step marked; its name as an id or a key, whichever is used there."""
    known = dict(phases) if isinstance(phases, dict) else {}
    phase = known.get(given.phase)
    phase = dict(phase) if isinstance(phase, dict) else {"status": "in_progress"}
    steps = phase.get("steps")
    if isinstance(steps, dict):
        old = steps.get(given.step)
        step = {**(old if isinstance(old, dict) else {}), "status": status}
        phase["steps"] = {**steps, given.step: step}
    else:
        phase["steps"] = _marked(steps if isinstance(steps, list) else [], given.step, status)
    return {**known, given.phase: phase}


def _marked(steps: Sequence[object], name: str, status: str) -> list[object]:
    marked: list[object] = []
    found = False
    for step in steps:
        if isinstance(step, dict) and name in (step.get("id"), step.get("name")):
            marked.append({**step, "status": status})
            found = True
        else:
            marked.append(step)
    if not found:
        # By both names: scripts of the original look for either.
        marked.append({"id": name, "name": name, "status": status})
    return marked


def _of_the_step(given: Given, kind: EventType, status: str) -> Entry:
    return Entry(
        type=kind,
        phase=given.phase,
        step=given.step,
        status=status,
        user=given.actor.name,
        source=given.actor.source.value,
        message=event_texts.SKIPPED,
        metadata={"request_id": given.request_id, "reason": planner.BY_A_PERSON},
    )


def _of_the_run(given: Given) -> Entry:
    return Entry(
        type=EventType.WORKFLOW_CANCELLED,
        status="cancelled",
        user=given.actor.name,
        source=given.actor.source.value,
        message=event_texts.aborted(given.reason),
        metadata={"request_id": given.request_id},
    )


def _entry(state: Mapping[str, object], request_id: str) -> Json | None:
    history = state.get("feedback_history")
    for entry in history if isinstance(history, list) else ():
        if isinstance(entry, dict) and entry.get("request_id") == request_id:
            return entry
    return None
