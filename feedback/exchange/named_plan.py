"""Makes a plan of the steps that a run directory names, for a run that brought none."""

import re
from collections.abc import Sequence

from feedback.exchange.run_directory import EventFound, Metadata, ResumePoint, StateDocument
from runs.domain.values.phases import Phase
from runs.domain.workflow.definition import Autonomy, Step
from runs.domain.workflow.plan import Plan, PlannedPhase, Unit

_STEP_ID = re.compile(r"[a-z][a-z0-9_-]{0,99}")


def plan_of_names(
    state: StateDocument,
    metadata: Metadata,
    events: Sequence[EventFound],
    *,
    is_executed_here: bool,
) -> Plan:
    """Every step is remote, so that nothing starts by itself.

    A phase without a known step is passed over here; where the run is executed it may have some.
    """
    named: dict[Phase, dict[str, None]] = {phase: {} for phase in Phase}
    for phase, found in state.phases.items():
        named[phase].update(dict.fromkeys(step.id or step.name for step in found.steps))
    for event in events:
        if event.phase in list(Phase) and event.step:
            named[Phase(event.phase)][event.step] = None
    if state.point:
        named[state.point.phase][state.point.step] = None
    return Plan(
        workflow_id=metadata.workflow_id,
        chain=(metadata.workflow_id,),
        autonomy=Autonomy(level=metadata.autonomy),
        phases=tuple(
            _phase(
                phase,
                list(named[phase]),
                state.point,
                source=metadata.workflow_id,
                nothing=_nothing(metadata, phase, is_executed_here=is_executed_here),
            )
            for phase in Phase
        ),
    )


def covers(plan: Plan, named: Plan) -> bool:
    """Whether a plan has every step that a run names."""
    return set(named.step_keys) <= set(plan.step_keys)


def _nothing(metadata: Metadata, phase: Phase, *, is_executed_here: bool) -> str:
    """Why a phase without steps is left out."""
    if phase not in metadata.phases:
        return "not selected"
    return "no steps" if is_executed_here else ""


def _phase(
    phase: Phase, names: Sequence[str], point: ResumePoint | None, *, source: str, nothing: str
) -> PlannedPhase:
    ids = [name for name in names if _STEP_ID.fullmatch(name)]
    units = tuple(
        Unit(
            phase=phase,
            index=_index_told(point, phase, name, index),
            step=Step(id=name, remote=True),
            source=source,
        )
        for index, name in enumerate(ids)
    )
    return PlannedPhase(name=phase, left_out="" if units else nothing, units=units)


def _index_told(point: ResumePoint | None, phase: Phase, name: str, index: int) -> int:
    """The run may know better than the few steps it names where its own one stands."""
    is_here = point is not None and (point.phase, point.step) == (phase, name)
    told = point.step_index if point and is_here else None
    return index if told is None else told
