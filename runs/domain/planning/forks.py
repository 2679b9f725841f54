"""Where a run can be taken up anew: which steps are behind that point, and which gates."""

from collections.abc import Iterator
from dataclasses import dataclass

from runs.domain.planning import bypass, planner
from runs.domain.values.errors import Invalid, Problem, Refused
from runs.domain.values.questions import Gate
from runs.domain.workflow.plan import Plan, PlannedPhase, Unit
from runs.domain.workflow.problems import did_you_mean


@dataclass(frozen=True, slots=True)
class GateBehind:
    """A gate that a run which begins at a later point does not ask at."""

    gate: Gate
    phase: str
    step: str = ""  # none: before the phase

    @property
    def key(self) -> tuple[Gate, str, str]:
        return self.gate, self.phase, self.step

    @property
    def name(self) -> str:
        return self.phase if self.gate is Gate.PHASE else f"{self.phase}:{self.step}"


def point(plan: Plan, named: str) -> int:
    """The place of a step as `phase:step`; with what its phase does before its first."""
    keys = [unit.key for unit in plan.units if not unit.is_hook]
    if named not in keys:
        near = did_you_mean(named, keys)
        raise Invalid([Problem("from", f"{named!r} is not a step of the plan as phase:step{near}")])
    at = next(i for i, u in enumerate(plan.units) if u.key == named and not u.is_hook)
    while at and plan.units[at - 1].is_hook and plan.units[at - 1].phase is plan.units[at].phase:
        at -= 1
    return at


def check_same_before(old: Plan, new: Plan, at: int) -> None:
    """Refuse to take over what the workflow now says otherwise."""
    for then, now in zip(_behind(old, at), _behind(new, at), strict=False):
        if then != now:
            changed = now.name.title if isinstance(now, PlannedPhase) else now.key
            raise Refused(
                f"The workflow changed before that step: {changed} is not what that run executed. "
                "Run it again from the start, or from a step before the change."
            )
    if len(old.units) < at:
        raise Refused("That run's plan ends before that step.")


def _behind(plan: Plan, at: int) -> list[Unit | PlannedPhase]:
    """Everything that was decided before a place: the units, and what their phases ask."""
    units = plan.units[:at]
    entered = dict.fromkeys(unit.phase for unit in units)
    phases = [plan.phase(name).model_copy(update={"units": ()}) for name in entered]
    return [*phases, *units]


def gates_behind(plan: Plan, at: int) -> Iterator[GateBehind]:
    """The gates before a place, in the order a run comes to them."""
    entered = None
    for unit in plan.units[:at]:
        phase, step = unit.phase.value, unit.step.id
        if unit.phase is not entered and plan.phase(unit.phase).gated:
            yield GateBehind(Gate.PHASE, phase)
        entered = unit.phase
        if bypass.stops_before(unit):
            yield GateBehind(Gate.BEFORE_STEP, phase, step)
        if bypass.stops_after(unit):
            yield GateBehind(Gate.AFTER_STEP, phase, step)


def gates_ahead(plan: Plan, at: int) -> Iterator[str]:
    """The gates that a run at a place has yet to pass, by their names."""
    passed = {gate.key for gate in gates_behind(plan, at)}
    for gate in gates_behind(plan, len(plan.units)):
        if gate.key not in passed:
            yield gate.name


def retraced(plan: Plan, at: int) -> Iterator[planner.Passed]:
    """What a run passed on its way to a place, as far as the last step before it."""
    yield from planner.skipped_before(plan, 0)
    before = None
    for index, unit in enumerate(plan.units[:at]):
        if before is not None and unit.phase is not before:
            yield planner.PhaseLeft(before)
            yield from planner.skipped_before(plan, index, after=before)
        if unit.phase is not before:
            yield planner.PhaseEntered(unit.phase)
        before = unit.phase
        yield planner.StepCompleted(unit)
