"""What a start leaves out of its workflow's gates."""

from dataclasses import dataclass

from runs.domain.planning import budgets
from runs.domain.workflow.definition import AutonomyLevel
from runs.domain.workflow.plan import Plan, Unit

_FROM_LEAST_TO_MOST = tuple(AutonomyLevel)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bypass:
    """Gates that the workflow has and the plan does not ask at, and a freedom it was not given."""

    gates: tuple[str, ...] = ()
    above: str = ""  # the level asked for, when the workflow's own is lower
    governed: tuple[str, ...] = ()  # what that level is about, when no gate is left out
    budget: str = ""  # the workflow's own, when more is asked for

    def __bool__(self) -> bool:
        return bool(self.gates or self.above or self.budget)

    def __str__(self) -> str:
        told = []
        if self.gates:
            told.append(f"skips the gates {', '.join(self.gates)}")
        if self.above:
            gates = f" for its gates {', '.join(self.governed)}" if self.governed else ""
            told.append(f"asks for more autonomy ({self.above}) than the workflow allows{gates}")
        if self.budget:
            told.append(f"asks for more than the workflow's budget of {self.budget}")
        return " and ".join(told)


def bypass_of(whole: Plan, chosen: Plan) -> Bypass:
    """What the chosen plan leaves out of the whole one; a dry run goes past nothing."""
    level = chosen.autonomy.level
    if level is AutonomyLevel.DRY_RUN:
        return Bypass()
    asked, known = set(_gates(chosen)), tuple(_gates(whole))
    is_above = _rank(level) > _rank(whole.autonomy.level)
    gates = tuple(gate for gate in known if gate not in asked)
    return Bypass(
        gates=gates,
        above=level.value if is_above else "",
        governed=known if is_above and not gates else (),
        budget=_outspent(whole, chosen),
    )


def _outspent(whole: Plan, chosen: Plan) -> str:
    limit = whole.budget
    return budgets.spoken(limit) if limit and budgets.is_above(chosen.budget, limit) else ""


def _rank(level: AutonomyLevel) -> int:
    return _FROM_LEAST_TO_MOST.index(level)


def _gates(plan: Plan) -> list[str]:
    """Where a run of this plan stops for a person, in order: phases, and steps as phase:step."""
    autonomy = plan.autonomy
    is_waved_on = autonomy.level is AutonomyLevel.AUTONOMOUS and autonomy.allow_destructive_auto
    gates: list[str] = []
    for phase in plan.phases:
        if phase.left_out:
            continue
        if phase.gated and not is_waved_on:
            gates.append(phase.name.value)
        gates += [
            unit.key
            for unit in phase.units
            if stops_after(unit) or (stops_before(unit) and not is_waved_on)
        ]
    return gates


def stops_before(unit: Unit) -> bool:
    """Whether a person is asked before it is executed."""
    return unit.gated or unit.step.confirm


def stops_after(unit: Unit) -> bool:
    """Whether a person is asked about what it made."""
    return unit.step.requires_approval or (
        not unit.is_hook and unit.step.result_handling.on_success == "prompt"
    )
