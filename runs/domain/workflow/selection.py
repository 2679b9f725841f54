"""Narrows a plan to some of its phases, or to one of its steps."""

from collections.abc import Sequence

from runs.domain.values.phases import Phase
from runs.domain.workflow.plan import PlannedPhase, Unit
from runs.domain.workflow.problems import Notes, did_you_mean


def select(
    whole: Sequence[PlannedPhase], *, phases: Sequence[str], step: str, notes: Notes
) -> list[PlannedPhase]:
    planned = list(whole)
    if phases and step:
        notes.refuse("phases", "choose phases or a step, not both")
    elif step:
        planned = _only_step(planned, step, notes)
    elif phases and in_order(phases, notes):
        planned = [_only_if(phase.name in phases, phase) for phase in planned]
    if not notes.problems and all(phase.left_out for phase in planned):
        reasons = ", ".join(f"{phase.name} {_reason(phase)}" for phase in planned)
        notes.refuse("phases", f"nothing is left to execute: {reasons}")
    return planned


def _reason(phase: PlannedPhase) -> str:
    return "has no steps" if phase.left_out == "no steps" else f"is {phase.left_out}"


def in_order(phases: Sequence[str], notes: Notes) -> bool:
    """Whether these are phases, each once and one after the other; else it is said why not."""
    order = list(Phase)
    unknown = [name for name in phases if name not in order]
    for name in unknown:
        near = did_you_mean(name, order) or f"; the phases are {', '.join(order)}"
        notes.refuse("phases", f"unknown phase {name}{near}")
    positions = [order.index(Phase(name)) for name in phases if name in order]
    if sorted(set(positions)) != positions:
        notes.refuse("phases", f"must be each once and in the order {', '.join(order)}")
    return not notes.problems


def _only_if(chosen: bool, phase: PlannedPhase) -> PlannedPhase:
    if chosen or phase.left_out == "disabled":
        return phase
    return phase.model_copy(update={"left_out": "not selected"})


def _only_step(planned: list[PlannedPhase], step: str, notes: Notes) -> list[PlannedPhase]:
    found = next((unit for unit in _steps(planned) if step in (unit.key, unit.step.id)), None)
    if found is None:
        known = [unit.key for unit in _steps(planned)]
        ids = [unit.step.id for unit in _steps(planned)]
        near = did_you_mean(step, [*known, *ids]) or "."
        notes.refuse("step", f"there is no step {step}{near} The steps are {', '.join(known)}.")
        return planned
    alone = [_only_if(phase.name is found.phase, phase) for phase in planned]
    return [
        phase.model_copy(update={"units": (found,)}) if phase.name is found.phase else phase
        for phase in alone
    ]


def _steps(planned: Sequence[PlannedPhase]) -> list[Unit]:
    return [unit for phase in planned for unit in phase.units if not unit.is_hook]
