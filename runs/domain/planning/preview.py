"""What an answer would cause: the steps up to the next stop, played through on the frozen plan."""

from dataclasses import dataclass, replace

from runs.domain.planning import planner
from runs.domain.planning.planner import Decision, Facts
from runs.domain.responses.results import Result, ResultStatus
from runs.domain.values.questions import Action, Gate, Question
from runs.domain.workflow.plan import Plan, Unit

_DONE = Result(status=ResultStatus.SUCCESS, message="")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """Where one answer takes the run, when every step on the way succeeds."""

    executes: tuple[Unit, ...] = ()
    skips: Unit | None = None
    asks: Question | None = None  # where the run stops next
    asks_at: Unit | None = None
    completes: bool = False
    ends: bool = False  # the run is cancelled
    discards: Unit | None = None  # the step whose result nobody will use
    leaves: tuple[Unit, ...] = ()  # steps that will not be executed, because the run ends
    repeats: bool = False  # only the step that was shown is executed again, and then shown again


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Where a run stands when it asks."""

    plan: Plan
    at: int
    gate: Gate
    gate_key: str
    facts: Facts
    result: Result | None = None  # of the step it stands at, if that was executed


def foresee(standing: Standing, action: Action) -> Outlook:
    plan, facts = standing.plan, standing.facts
    if standing.gate_key and action is Action.CONTINUE:
        facts = replace(facts, approved=facts.approved | {standing.gate_key})
    decision = planner.after_answer(
        plan, standing.at, standing.gate, action, standing.result, facts
    )
    if isinstance(decision.move, planner.Cancel):
        return _ended(standing)
    skips = plan.units[standing.at] if action is Action.SKIP else None
    played = _played(plan, decision, facts)
    return replace(played, skips=skips, repeats=_repeats(standing, played))


def _repeats(standing: Standing, played: Outlook) -> bool:
    """A step that only stops behind itself, as the next one may, has not been done before."""
    here = standing.plan.units[standing.at]
    is_done_once = standing.gate not in (Gate.PHASE, Gate.BEFORE_STEP)
    return is_done_once and played.executes == (here,) and played.asks_at == here


def _ended(standing: Standing) -> Outlook:
    units, at = standing.plan.units, standing.at
    if standing.result is None:
        return Outlook(ends=True, leaves=_steps(units[at:]))
    return Outlook(ends=True, discards=units[at], leaves=_steps(units[at + 1 :]))


def _played(plan: Plan, decision: Decision, facts: Facts) -> Outlook:
    executes: list[Unit] = []
    # Every step can be passed once on the way to a stop, and asked about once by policy.
    for _ in range(2 * len(plan.units) + 1):
        facts = _after(facts, decision)
        match decision.move:
            case planner.Execute(at=at):
                executes.append(plan.units[at])
                decision = planner.after_result(plan, at, _DONE, facts)
            case planner.Ask(at=at, question=question, gate_key=key, by_policy=True):
                facts = replace(facts, approved=facts.approved | {key})
                decision = planner.after_answer(
                    plan, at, question.gate, Action.CONTINUE, _DONE, facts
                )
            case planner.Ask(at=at, question=question):
                unit = plan.units[at]
                return Outlook(executes=_steps(executes), asks=question, asks_at=unit)
            case planner.Complete():
                return Outlook(executes=_steps(executes), completes=True)
    raise AssertionError("the planner does not come to a stop")


def _after(facts: Facts, decision: Decision) -> Facts:
    """The facts a decision leaves behind, as the run's row would."""
    for item in decision.passed:
        match item:
            case planner.PhaseEntered(phase):
                facts = replace(facts, entered=phase)
            case planner.LoopEntered(number, _):
                facts = replace(facts, entered=None, retry_count=number)
            case _:
                pass
    return facts


def _steps(units: list[Unit] | tuple[Unit, ...]) -> tuple[Unit, ...]:
    """Hooks are machinery: a reviewer decides on steps."""
    return tuple(unit for unit in units if not unit.is_hook)
