"""How each thing that happens to a run is told in its history."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from runs.domain.planning import planner
from runs.domain.responses.results import Result
from runs.domain.values.actors import Actor, Source
from runs.domain.values.events import Entry, EventType
from runs.domain.values.numbers import number_of
from runs.domain.values.phases import Phase
from runs.domain.values.questions import Action, FeedbackType, Question
from runs.domain.values.text import shortened
from runs.domain.workflow.plan import Plan, Unit

LONGEST_MESSAGE = 500  # of an event: a line of the history; all of it is in the event's metadata
SKIPPED = "Step skipped by user"
_TAKEN = {
    EventType.STEP_START: "started",
    EventType.STEP_COMPLETE: "completed",
    EventType.STEP_SKIP: "skipped",
}
_ABORTED = "Workflow aborted by user: "


@dataclass(frozen=True, slots=True, kw_only=True)
class Executed:
    """The last execution of a step, as its completion is told."""

    key: str
    number: int
    duration_ms: int
    message: str
    result: str
    evidence: Sequence[Mapping[str, object]] = ()


def resume_point(unit: Unit) -> dict[str, object]:
    return {"phase": unit.phase.value, "step": unit.step.id, "step_index": unit.index}


def run_started(metadata: Mapping[str, object], actor: Actor) -> Entry:
    return Entry(
        type=EventType.WORKFLOW_START,
        status="started",
        user=actor.name,
        source=actor.source.value,
        metadata=metadata,
    )


def run_rerun(original_run_id: str, changes: Mapping[str, object], actor: Actor) -> Entry:
    told = {"original_run_id": original_run_id, "changes": dict(changes)}
    return _steered(EventType.WORKFLOW_RERUN, told, actor)


def run_resumed(unit: Unit | None, actor: Actor) -> Entry:
    return _steered(EventType.WORKFLOW_RESUMED, resume_point(unit) if unit else {}, actor)


def _steered(kind: EventType, metadata: Mapping[str, object], actor: Actor) -> Entry:
    return Entry(type=kind, user=actor.name, source=actor.source.value, metadata=metadata)


def run_completed(plan: Plan, *, duration_ms: int, events: int, retries: int) -> Entry:
    steps = number_of(len(plan.step_keys), "step")
    return Entry(
        type=EventType.WORKFLOW_COMPLETE,
        status="completed",
        duration_ms=duration_ms,
        message=f"{plan.workflow_id} completed: {steps} as planned",
        metadata={
            "phases_executed": [phase.name.value for phase in plan.phases if not phase.left_out],
            "phases_skipped": [phase.name.value for phase in plan.phases if phase.left_out],
            "total_steps": len(plan.step_keys),
            "total_events": events,
            "retry_count": retries,
        },
    )


def run_failed(reason: str) -> Entry:
    return Entry(
        type=EventType.WORKFLOW_ERROR,
        status="failed",
        message=reason,
        error={"code": "FABER-200", "message": reason, "recoverable": True},
    )


def run_cancelled(reason: str, actor: Actor) -> Entry:
    return Entry(
        type=EventType.WORKFLOW_CANCELLED,
        status="cancelled",
        message=aborted(reason),
        user=actor.name,
        source=actor.source.value,
    )


def run_rejected(reason: str, answer: Mapping[str, object]) -> Entry:
    """A decision ended the run: the metadata tells it from a run that somebody cancelled."""
    by = answer.get("provided_by")
    who = by if isinstance(by, Mapping) else {}
    return Entry(
        type=EventType.WORKFLOW_CANCELLED,
        status="cancelled",
        message=aborted(reason),
        user=str(who.get("user", "")),
        source=str(who.get("source", "faber")),
        metadata={"decision": answer.get("response"), "request_id": answer.get("request_id")},
    )


def aborted(reason: str) -> str:
    return _ABORTED + reason


def reason_in(message: str) -> str:
    """Why a run was cancelled, from what its history says of it; others tell the reason alone."""
    return message.removeprefix(_ABORTED)


def step_started(unit: Unit, *, attempt: int, action: str) -> Entry:
    return Entry(
        type=EventType.STEP_START,
        phase=unit.phase,
        step=unit.step.id,
        status="started",
        metadata={"attempt": attempt, "action": action},
    )


def step_taken_over(
    unit: Unit, kind: EventType, run_id: str, *, attempt: int | None = None
) -> Entry:
    """A step that another run executed, told here as done; nothing was executed again."""
    metadata: dict[str, object] = {"taken_over_from": run_id}
    if attempt is not None:
        metadata["attempt"] = attempt
    return Entry(
        type=kind,
        phase=unit.phase,
        step=unit.step.id,
        status=_TAKEN[kind],
        message=f"Taken over from {run_id}",
        metadata=metadata,
    )


def step_retried(unit: Unit, action: str) -> Entry:
    return Entry(
        type=EventType.STEP_RETRY,
        phase=unit.phase,
        step=unit.step.id,
        metadata={"is_revision": action == "revise"},
    )


def step_failed(
    unit: Unit,
    result: Result,
    *,
    attempt: int,
    duration_ms: int,
    evidence: Sequence[Mapping[str, object]] = (),
) -> Entry:
    return Entry(
        type=EventType.STEP_ERROR,
        phase=unit.phase,
        step=unit.step.id,
        status="failed",
        duration_ms=duration_ms,
        message=shortened(result.message, LONGEST_MESSAGE),
        metadata={"attempt": attempt, **_evidence(evidence), **_whole(result.message)},
        error={
            "code": "FABER-202",
            "message": "; ".join(result.errors) or result.message,
            "recoverable": True,
        },
    )


def diverged(unit: Unit, claims: Sequence[str], *, attempt: int, message: str) -> Entry:
    return Entry(
        type=EventType.DIVERGENCE,
        phase=unit.phase,
        step=unit.step.id,
        status="refused",
        message=message,
        metadata={"attempt": attempt, "claims": list(claims)},
    )


def hook_executed(unit: Unit, result: Result, *, duration_ms: int) -> Entry:
    return Entry(
        type=EventType.HOOK_EXECUTE,
        phase=unit.phase,
        status="failed" if result.status == "failure" else "completed",
        duration_ms=duration_ms,
        message=shortened(result.message, LONGEST_MESSAGE),
        metadata={
            "hook": unit.step.id,
            "result": result.status.value,
            **_whole(result.message),
        },
    )


def asked(
    question: Question, unit: Unit, request_id: str, executed: Executed | None
) -> tuple[Entry, Entry]:
    """A pause, told twice with one request id and enough to ask the question again."""
    about = {
        "request_id": request_id,
        "type": question.type.value,
        "options": [option.value for option in question.options],
    }
    decision = Entry(
        type=EventType.DECISION_POINT,
        phase=unit.phase,
        step=unit.step.id,
        status="pending",
        message=question.prompt,
        metadata={
            **about,
            "gate": question.gate.value,
            "context": dict(question.context),
            "resume_point": resume_point(unit),
            "attempt": executed.number if executed else 0,
        },
    )
    request = Entry(
        type=EventType.FEEDBACK_REQUEST,
        phase=unit.phase,
        step=unit.step.id,
        status="pending",
        message=f"Awaiting feedback: {question.prompt}",
        metadata=about,
    )
    return decision, request


def answered(
    feedback_type: FeedbackType,
    response: str,
    *,
    phase: str,
    step: str,
    request_id: str,
    actor: Actor,
    marks: Mapping[str, object] | None = None,
) -> Entry:
    return Entry(
        type=EventType.FEEDBACK_RECEIVED,
        phase=phase,
        step=step,
        status="received",
        message=f"Feedback received: {response}",
        user=actor.name,
        source=actor.source.value,
        metadata={
            "request_id": request_id,
            "request_type": feedback_type.value,
            "response": response,
            "provided_by": actor.describe(),
            **(marks or {}),
        },
    )


def approval(
    feedback_type: FeedbackType,
    action: Action,
    *,
    phase: str,
    step: str,
    request_id: str,
    response: str,
    actor: Actor,
) -> Sequence[Entry]:
    """Granted only when the run continues, denied when it ends; other answers are neither."""
    told = {
        Action.CONTINUE: EventType.APPROVAL_GRANTED,
        Action.ABORT: EventType.APPROVAL_DENIED,
    }.get(action)
    if told is None or not feedback_type.approves:
        return ()
    by = "approved_by" if told is EventType.APPROVAL_GRANTED else "denied_by"
    entry = Entry(
        type=told,
        phase=phase,
        step=step,
        user=actor.name,
        source=actor.source.value,
        message=_decided(told, response, actor),
        metadata={"request_id": request_id, "decision": response, by: actor.name},
    )
    return (entry,)


def _decided(told: EventType, response: str, actor: Actor) -> str:
    if told is EventType.APPROVAL_DENIED:
        return f"{actor.name}: {response}"
    who = "Policy" if actor.source is Source.POLICY else "User"
    return f"{who} approved continuation ({response})"


def passed(
    item: planner.Passed, plan: Plan, *, retries: int, executed: Executed | None
) -> Entry | None:
    """What lies between two moves; a hook is no step: it told of its execution itself."""
    match item:
        case planner.PhaseEntered(phase):
            return _phase_started(plan, phase, retries)
        case planner.PhaseLeft(phase):
            return Entry(type=EventType.PHASE_COMPLETE, phase=phase, status="completed")
        case planner.PhaseSkipped(phase, reason):
            return _skipped(EventType.PHASE_SKIP, phase, "", reason)
        case planner.StepSkipped(unit) | planner.StepCompleted(unit) if unit.is_hook:
            return None
        case planner.StepSkipped(unit, reason):
            skipped = _skipped(EventType.STEP_SKIP, unit.phase, unit.step.id, reason)
            return replace(skipped, message=SKIPPED) if reason == planner.BY_A_PERSON else skipped
        case planner.StepCompleted(unit):
            return _step_completed(unit, executed)
        case planner.LoopEntered(number, most):
            metadata = {"retry_number": number, "max_retries": most}
            return Entry(type=EventType.RETRY_LOOP_ENTER, phase=Phase.EVALUATE, metadata=metadata)
        case planner.LoopLeft(successful, used):
            return Entry(
                type=EventType.RETRY_LOOP_EXIT,
                phase=Phase.EVALUATE,
                metadata={"successful": successful, "retries_used": used},
            )


def _phase_started(plan: Plan, phase: Phase, retries: int) -> Entry:
    steps = [unit.step.id for unit in plan.phase(phase).units if not unit.is_hook]
    return Entry(
        type=EventType.PHASE_START,
        phase=phase,
        status="started",
        metadata={"steps": steps, "is_resume": retries > 0},
    )


def _skipped(kind: EventType, phase: str, step: str, reason: str) -> Entry:
    return Entry(type=kind, phase=phase, step=step, status="skipped", metadata={"reason": reason})


def _step_completed(unit: Unit, executed: Executed | None) -> Entry:
    last = executed if executed and executed.key == unit.key else None
    return Entry(
        type=EventType.STEP_COMPLETE,
        phase=unit.phase,
        step=unit.step.id,
        status="completed",
        duration_ms=last.duration_ms if last else 0,
        message=shortened(last.message, LONGEST_MESSAGE) if last else "",
        metadata={
            "attempt": last.number,
            "result": last.result,
            **_evidence(last.evidence),
            **_whole(last.message),
        }
        if last
        else {},
    )


def _whole(message: str) -> dict[str, object]:
    """A message that its event has to cut, for whoever wants all of it."""
    return {"message": message} if len(message) > LONGEST_MESSAGE else {}


def _evidence(checked: Sequence[Mapping[str, object]]) -> dict[str, object]:
    return {"evidence": [dict(piece) for piece in checked]} if checked else {}
