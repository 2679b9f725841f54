"""Decides what a run does next: facts in, a decision out, nothing done."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum, auto

from runs.domain.planning import gates
from runs.domain.planning.autonomy import check_in_due, over_limit, warnings_exceed
from runs.domain.planning.budgets import Overspent
from runs.domain.responses.results import Result, ResultStatus
from runs.domain.values.phases import Phase
from runs.domain.values.questions import Action, Gate, Question
from runs.domain.workflow.definition import AutonomyLevel
from runs.domain.workflow.plan import Plan, Unit


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What the planner must know about a run besides its plan."""

    entered: Phase | None = None  # the phase whose start is on record
    approved: frozenset[str] = frozenset()  # gates whose latest decision was an approval
    retry_count: int = 0
    warnings_total: int = 0
    overspent: Overspent | None = None  # the budget that is used up, if one is


# What is passed on the way to a move; each becomes an event.


@dataclass(frozen=True, slots=True)
class PhaseEntered:
    phase: Phase


@dataclass(frozen=True, slots=True)
class PhaseLeft:
    phase: Phase


@dataclass(frozen=True, slots=True)
class PhaseSkipped:
    phase: Phase
    reason: str


@dataclass(frozen=True, slots=True)
class StepCompleted:
    unit: Unit


BY_A_PERSON = "skipped by a person"


@dataclass(frozen=True, slots=True)
class StepSkipped:
    unit: Unit
    reason: str


@dataclass(frozen=True, slots=True)
class LoopEntered:
    number: int
    most: int


@dataclass(frozen=True, slots=True)
class LoopLeft:
    successful: bool
    used: int


Passed = (
    PhaseEntered | PhaseLeft | PhaseSkipped | StepCompleted | StepSkipped | LoopEntered | LoopLeft
)

# The move itself.


@dataclass(frozen=True, slots=True)
class Execute:
    at: int
    action: str  # start, continue, revise, retry, answer


@dataclass(frozen=True, slots=True)
class Ask:
    at: int
    question: Question
    gate_key: str = ""
    by_policy: bool = False  # asked and approved in one breath, and recorded as such


@dataclass(frozen=True, slots=True)
class Complete:
    at: int


@dataclass(frozen=True, slots=True)
class Cancel:
    pass


Move = Execute | Ask | Complete | Cancel


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    move: Move
    passed: tuple[Passed, ...] = field(default=())

    def after(self, *passed: Passed) -> "Decision":
        return replace(self, passed=(*passed, *self.passed))


def begin(plan: Plan, facts: Facts) -> Decision:
    skipped = skipped_before(plan, 0)
    if plan.autonomy.level is AutonomyLevel.DRY_RUN:
        steps = tuple(StepSkipped(unit, "dry-run") for unit in plan.units if not unit.is_hook)
        return Decision(move=Complete(len(plan.units)), passed=(*skipped, *steps))
    return arrive(plan, 0, facts, action="start").after(*skipped)


def take_up(plan: Plan, at: int, facts: Facts) -> Decision:
    """Go on behind steps that another run executed: as a run does that has just done the last."""
    return _advance(plan, at - 1, facts) if at else begin(plan, facts)


def arrive(plan: Plan, at: int, facts: Facts, *, action: str) -> Decision:
    """Stand before a unit: ask what must be asked there, then execute it."""
    unit = plan.units[at]
    if facts.entered is not unit.phase:
        if plan.phase(unit.phase).gated:
            question = gates.before_phase(plan, at)
            if waiting := _gate(plan, at, question, facts):
                return waiting
        entered = replace(facts, entered=unit.phase)
        return arrive(plan, at, entered, action=action).after(PhaseEntered(unit.phase))
    if unit.gated or unit.step.confirm:
        question = gates.before_step(plan, at)
        if waiting := _gate(plan, at, question, facts):
            return waiting
    return Decision(move=Execute(at, action))


def after_result(plan: Plan, at: int, result: Result, facts: Facts) -> Decision:
    decision = _after_result(plan, at, result, facts)
    if facts.overspent is None or isinstance(decision.move, Complete):
        return decision  # what is over costs nothing more
    # Before anything else: whatever the result asks may have another step executed.
    return Decision(move=Ask(at, gates.on_budget(plan, at, result, facts.overspent)))


def _after_result(plan: Plan, at: int, result: Result, facts: Facts) -> Decision:
    unit = plan.units[at]
    match result.status:
        case ResultStatus.PENDING_INPUT:
            return Decision(move=Ask(at, gates.on_pending_input(plan, at, result)))
        case ResultStatus.FAILURE:
            return _after_failure(plan, at, result, facts)
        case ResultStatus.WARNING if _warning_stops(unit, result, plan, facts):
            return Decision(move=Ask(at, gates.on_warning(plan, at, result)))
        case _:
            return _finish(plan, at, result, facts)


class _Then(Enum):
    ENTER = auto()  # the gate before the step is passed: execute it
    FINISH = auto()  # the result stands: whatever its own gate asks comes next
    WEIGH = auto()  # the result is looked at as if it had just come
    ADVANCE = auto()
    EXECUTE = auto()
    SKIP = auto()
    CANCEL = auto()


_BEFORE = {
    Action.CONTINUE: _Then.ENTER,
    Action.REVISE: _Then.EXECUTE,
    Action.RETRY: _Then.EXECUTE,
    Action.ANSWER: _Then.EXECUTE,
    Action.SKIP: _Then.SKIP,
    Action.ABORT: _Then.CANCEL,
}
_AFTER = {
    Action.CONTINUE: _Then.ADVANCE,
    Action.REVISE: _Then.EXECUTE,
    Action.RETRY: _Then.EXECUTE,
    Action.ANSWER: _Then.ADVANCE,
    Action.SKIP: _Then.SKIP,
    Action.ABORT: _Then.CANCEL,
}
# Every gate and every action has its row: nothing falls through to "continue".
_THEN: Mapping[Gate, Mapping[Action, _Then]] = {
    Gate.PHASE: _BEFORE,
    Gate.BEFORE_STEP: _BEFORE,
    Gate.AFTER_STEP: _AFTER,
    Gate.CHECK_IN: _AFTER,
    Gate.WARNING: {**_AFTER, Action.CONTINUE: _Then.FINISH},
    Gate.FAILURE: {**_AFTER, Action.ANSWER: _Then.EXECUTE},
    Gate.BUDGET: {**_AFTER, Action.CONTINUE: _Then.WEIGH},
    # The step is not done: going on would pass over it, so it is executed with the answer.
    Gate.INPUT: {**_AFTER, Action.CONTINUE: _Then.EXECUTE, Action.ANSWER: _Then.EXECUTE},
}

# Where the run leaves what was shown behind it, and whatever comes next builds on that.
_PAST = frozenset({_Then.ENTER, _Then.FINISH, _Then.WEIGH, _Then.ADVANCE, _Then.SKIP})


def relies_on_what_was_shown(gate: Gate, action: Action) -> bool:
    """Whether an answer stands only as long as the files are what its author decided on."""
    return action is Action.CONTINUE or _THEN[gate][action] in _PAST


def after_answer(
    plan: Plan, at: int, gate: Gate, action: Action, result: Result | None, facts: Facts
) -> Decision:
    """Where an answer takes the run; `result` is what the step last handed back, if it has."""
    unit = plan.units[at]
    match _THEN[gate][action]:
        case _Then.ENTER:
            return arrive(plan, at, facts, action=_entering(plan, at, facts))
        case _Then.EXECUTE:
            spoken = Action.ANSWER if action is Action.CONTINUE else action
            return _entered(plan, at, facts, Decision(move=Execute(at, spoken.value)))
        case _Then.SKIP if unit.step.requires_approval and gate is not Gate.AFTER_STEP:
            return Decision(move=Ask(at, gates.after_skip(plan, at, result)))
        case _Then.SKIP:
            return _skip(plan, at, facts)
        case _Then.CANCEL:
            return Decision(move=Cancel())
        case _Then.FINISH | _Then.WEIGH as then if result is not None:
            weigh = _finish if then is _Then.FINISH else _weigh_again
            return weigh(plan, at, result, facts)
        case _ if gate is Gate.AFTER_STEP and not _is_done(result):
            return _skip(plan, at, facts)
        case _:
            return _advance(plan, at, facts).after(StepCompleted(unit))


def _weigh_again(plan: Plan, at: int, result: Result, facts: Facts) -> Decision:
    before = facts.warnings_total - len(result.warnings)  # they are counted already
    return after_result(plan, at, result, replace(facts, warnings_total=max(0, before)))


def _entering(plan: Plan, at: int, facts: Facts) -> str:
    """What the step behind a gate is to do: begin, go on, or try again what failed."""
    if facts.retry_count and at == _first_of_build(plan):
        return "retry"
    return "start" if at == 0 else "continue"


def _skip(plan: Plan, at: int, facts: Facts) -> Decision:
    skipped = StepSkipped(plan.units[at], BY_A_PERSON)
    return _advance(plan, at, facts).after(skipped)


def _is_done(result: Result | None) -> bool:
    """Whether the step did its work; it is also asked about when it was skipped."""
    return result is not None and result.status in (ResultStatus.SUCCESS, ResultStatus.WARNING)


def _entered(plan: Plan, at: int, facts: Facts, decision: Decision) -> Decision:
    phase = plan.units[at].phase
    return decision if facts.entered is phase else decision.after(PhaseEntered(phase))


def _gate(plan: Plan, at: int, question: Question, facts: Facts) -> Decision | None:
    key = gates.gate_key(plan.units[at], question, round_number=facts.retry_count)
    if key in facts.approved:
        return None
    autonomy = plan.autonomy
    by_policy = autonomy.level is AutonomyLevel.AUTONOMOUS and autonomy.allow_destructive_auto
    return Decision(move=Ask(at, question, key, by_policy))


def _after_failure(plan: Plan, at: int, result: Result, facts: Facts) -> Decision:
    unit = plan.units[at]
    if unit.is_hook and unit.step.result_handling.on_failure == "continue":
        return _advance(plan, at, facts)
    most = plan.phase(unit.phase).max_retries if unit.phase is Phase.EVALUATE else 0
    start = _first_of_build(plan)
    if unit.is_hook or not most or start is None:
        return Decision(move=Ask(at, gates.on_failure(plan, at, result)))
    if facts.retry_count >= most:
        exhausted = LoopLeft(successful=False, used=facts.retry_count)
        return Decision(move=Ask(at, gates.on_failure(plan, at, result))).after(exhausted)
    again = replace(facts, entered=None, retry_count=facts.retry_count + 1)
    loop = LoopEntered(again.retry_count, most)
    return arrive(plan, start, again, action="retry").after(loop)


def _first_of_build(plan: Plan) -> int | None:
    return next((at for at, unit in enumerate(plan.units) if unit.phase is Phase.BUILD), None)


def _warning_stops(unit: Unit, result: Result, plan: Plan, facts: Facts) -> bool:
    limits = plan.autonomy.limits
    total = facts.warnings_total + len(result.warnings)
    return (
        unit.step.result_handling.on_warning in ("prompt", "stop")
        or warnings_exceed(result, plan.autonomy)
        or (
            limits is not None
            and limits.max_total_warnings is not None
            and limits.on_limit_reached == "stop"
            and over_limit(total, limits.max_total_warnings)
        )
    )


def _finish(plan: Plan, at: int, result: Result, facts: Facts) -> Decision:
    """The step did its work; whoever wants to see it first is asked now."""
    unit = plan.units[at]
    if unit.is_hook:
        return _advance(plan, at, facts)
    if unit.step.requires_approval:
        return Decision(move=Ask(at, gates.after_step(plan, at, result)))
    if unit.step.result_handling.on_success == "prompt" and result.status is ResultStatus.SUCCESS:
        return Decision(move=Ask(at, gates.after_success(plan, at, result)))
    ends = at + 1 == len(plan.units)
    phase_ends = ends or plan.units[at + 1].phase is not unit.phase
    if check_in_due(plan.autonomy, phase_ends=phase_ends, workflow_ends=ends):
        return Decision(move=Ask(at, gates.check_in(plan, at, result)))
    return _advance(plan, at, facts).after(StepCompleted(unit))


def _advance(plan: Plan, at: int, facts: Facts) -> Decision:
    """Go on from a unit that is done with, over phase borders, to whatever comes next."""
    here = plan.units[at].phase
    following = at + 1
    if following < len(plan.units) and plan.units[following].phase is here:
        return arrive(plan, following, facts, action="continue")
    left: tuple[Passed, ...] = (PhaseLeft(here),)
    if here is Phase.EVALUATE and facts.retry_count:
        left = (LoopLeft(successful=True, used=facts.retry_count), *left)
    left = (*left, *skipped_before(plan, following, after=here))
    if following == len(plan.units):
        return Decision(move=Complete(following), passed=left)
    return arrive(plan, following, facts, action="continue").after(*left)


def skipped_before(plan: Plan, at: int, after: Phase | None = None) -> tuple[PhaseSkipped, ...]:
    """The phases left out between one that is done and the one that comes next."""
    names = [phase.name for phase in plan.phases]
    first = names.index(after) + 1 if after else 0
    last = names.index(plan.units[at].phase) if at < len(plan.units) else len(names)
    return tuple(PhaseSkipped(phase.name, phase.left_out) for phase in plan.phases[first:last])
