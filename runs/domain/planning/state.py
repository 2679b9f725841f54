"""Where each phase and step of a run stands, folded from its history."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from runs.domain.values.events import ALIASES, EventType
from runs.domain.values.phases import Phase
from runs.domain.values.plain_json import text_at
from runs.domain.workflow.plan import Plan


@dataclass(slots=True, kw_only=True)
class StepState:
    id: str
    status: str = "pending"
    started_at: str | None = None
    completed_at: str | None = None
    duration_ms: int | None = None
    taken_over_from: str | None = None  # the run it was executed in

    def shape(self) -> dict[str, object]:
        known = {
            "id": self.id,
            "status": self.status,
            "started_at": self.started_at,
            "completed_at": self.completed_at,
            "duration_ms": self.duration_ms,
            "taken_over_from": self.taken_over_from,
        }
        return {key: value for key, value in known.items() if value is not None}


@dataclass(slots=True, kw_only=True)
class PhaseState:
    status: str = "pending"
    started_at: str | None = None
    completed_at: str | None = None
    steps: dict[str, StepState] = field(default_factory=dict)

    def shape(self) -> dict[str, object]:
        shape: dict[str, object] = {"status": self.status}
        if self.started_at:
            shape["started_at"] = self.started_at
        if self.completed_at:
            shape["completed_at"] = self.completed_at
        shape["steps"] = [step.shape() for step in self.steps.values()]
        return shape


_STEP_STATUS = {
    EventType.STEP_START: "in_progress",
    EventType.STEP_COMPLETE: "completed",
    EventType.STEP_ERROR: "failed",
    EventType.STEP_SKIP: "skipped",
}
_PHASE_STATUS = {
    EventType.PHASE_START: "in_progress",
    EventType.PHASE_COMPLETE: "completed",
    EventType.PHASE_SKIP: "skipped",
    EventType.PHASE_ERROR: "failed",
}
FOLDED = (*_STEP_STATUS, *_PHASE_STATUS, EventType.RETRY_LOOP_ENTER)


def fold(plan: Plan, documents: Iterable[Mapping[str, object]]) -> dict[Phase, PhaseState]:
    """Replay events over the plan; a step the plan does not know is shown where it was told."""
    phases = {
        phase.name: PhaseState(
            steps={
                unit.step.id: StepState(id=unit.step.id) for unit in phase.units if not unit.is_hook
            }
        )
        for phase in plan.phases
    }
    for document in documents:
        told, name = str(document.get("type")), str(document.get("phase", ""))
        kind = ALIASES.get(told, told)
        if kind == EventType.RETRY_LOOP_ENTER:
            _start_round(phases)
        elif name in phases and kind in _PHASE_STATUS:
            _fold_phase(phases[Phase(name)], EventType(kind), document)
        elif name in phases and kind in _STEP_STATUS:
            _fold_step(phases[Phase(name)], EventType(kind), document)
    return phases


def _start_round(phases: Mapping[Phase, PhaseState]) -> None:
    for name in (Phase.BUILD, Phase.EVALUATE):
        if name in phases:
            phases[name].status, phases[name].completed_at = "pending", None
            for step in phases[name].steps.values():
                step.status, step.completed_at = "pending", None


def _fold_phase(phase: PhaseState, kind: EventType, document: Mapping[str, object]) -> None:
    phase.status = _PHASE_STATUS[kind]
    at = str(document.get("timestamp", ""))
    if kind is EventType.PHASE_START:
        phase.started_at = at
    elif kind is EventType.PHASE_COMPLETE:
        phase.completed_at = at


def _fold_step(phase: PhaseState, kind: EventType, document: Mapping[str, object]) -> None:
    key = str(document.get("step", ""))
    step = phase.steps.setdefault(key, StepState(id=key))
    step.status = _STEP_STATUS[kind]
    at = str(document.get("timestamp", ""))
    source = text_at(document, "metadata", "taken_over_from")
    step.taken_over_from = source or None
    if kind is EventType.STEP_START:
        step.started_at = at
    elif kind is EventType.STEP_COMPLETE:
        step.completed_at = at
        duration = document.get("duration_ms")
        step.duration_ms = duration if isinstance(duration, int) else None
