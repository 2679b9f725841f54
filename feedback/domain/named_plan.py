"""Makes a plan of the steps that a run directory names, for a run that brought none."""

import re
from collections.abc import Sequence

from feedback.domain.run_directory import EventFound, Metadata, ResumePoint, State
from runs.domain.phases import Phase
from runs.domain.plan import Plan, PlannedPhase, Unit
from runs.domain.workflow import Autonomy, Step

_STEP_ID = re.compile(r"[a-z][a-z0-9_-]{0,99}")


def plan_of_names(state: State, metadata: Metadata, events: Sequence[EventFound]) -> Plan:
    """Every step is remote, so that nothing starts by itself."""
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
        phases=tuple(_phase(metadata, phase, list(named[phase]), state.point) for phase in Phase),
    )


def _phase(
    metadata: Metadata, phase: Phase, names: Sequence[str], point: ResumePoint | None
) -> PlannedPhase:
    ids = [name for name in names if _STEP_ID.fullmatch(name)]
    units = tuple(
        Unit(
            phase=phase,
            index=_index_told(point, phase, name, index),
            step=Step(id=name, remote=True),
            source=metadata.workflow_id,
        )
        for index, name in enumerate(ids)
    )
    nothing = "no steps" if phase in metadata.phases else "not selected"
    return PlannedPhase(name=phase, left_out="" if units else nothing, units=units)


def _index_told(point: ResumePoint | None, phase: Phase, name: str, index: int) -> int:
    """The run may know better than the few steps it names where its own one stands."""
    is_here = point is not None and (point.phase, point.step) == (phase, name)
    told = point.step_index if point and is_here else None
    return index if told is None else told
