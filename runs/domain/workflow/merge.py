"""Merges a workflow and its ancestors into the plan a run is frozen on."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeVar

from runs.domain.values.errors import Invalid, Problem
from runs.domain.values.phases import Phase
from runs.domain.workflow.deciding import spending, timing
from runs.domain.workflow.definition import (
    Agent,
    Autonomy,
    AutonomyLevel,
    Budget,
    ResultHandling,
    Step,
    Workflow,
    WorkflowPhase,
)
from runs.domain.workflow.hooks import with_hooks
from runs.domain.workflow.plan import Plan, PlannedPhase, Unit
from runs.domain.workflow.problems import Notes, did_you_mean, place_of
from runs.domain.workflow.selection import select

Chain = Sequence[Workflow]
Position = Literal["pre_step", "step", "post_step"]
T = TypeVar("T")
D = TypeVar("D")


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedPlan:
    plan: Plan
    warnings: tuple[Problem, ...] = ()


class InvalidPlan(Invalid):
    """What keeps a plan from being executed, with what is worth saying of it and the plan."""

    def __init__(self, problems: Iterable[Problem], made: MergedPlan) -> None:
        super().__init__(problems)
        self.made = made


class _Placed(NamedTuple):
    """A step where the merge puts it, and the workflow that brought it."""

    phase: Phase
    position: Position
    source: Workflow
    step: Step


class _Gates(NamedTuple):
    """What asks for an approval by name: phases, and steps by id or by phase:step."""

    phases: frozenset[Phase]
    steps: frozenset[str]


def make_plan(
    chain: Chain,
    *,
    autonomy: AutonomyLevel | None = None,
    phases: Sequence[str] = (),
    step: str = "",
    budget: Budget | None = None,
) -> MergedPlan:
    """Plan the first workflow of the chain, whose root comes last; raises Invalid.

    `phases` and `step` narrow the plan: to some phases in their order, or to one step alone.
    What `budget` says stands in place of the workflow's.
    """
    notes = Notes()
    placed = [item for phase in Phase for item in _placed(chain, phase)]
    kept = _without_skipped(chain[0], placed, notes)
    _check_ids(kept, notes)
    _check_ancestors(chain, kept, notes)
    _check_approvals(chain, placed, kept, notes)
    settled = _autonomy(chain, autonomy)
    _check_timing(chain, placed, notes)
    merged = [_planned(chain, phase, kept, _gates(settled), notes) for phase in Phase]
    selected = select(merged, phases=phases, step=step, notes=notes)
    granted = spending.granted(chain, budget)
    spending.check(granted, merged, notes)
    plan = Plan(
        workflow_id=chain[0].id,
        description=chain[0].description,
        chain=tuple(workflow.id for workflow in chain),
        skipped_steps=_skipped(chain[0], placed),
        autonomy=settled,
        phases=tuple(selected),
        worktree=_nearest((workflow.worktree for workflow in chain), None),
        paths=tuple(dict.fromkeys(glob for workflow in chain for glob in workflow.paths)),
        budget=granted,
    )
    made = MergedPlan(plan=plan, warnings=tuple(notes.warnings))
    if notes.problems:
        raise InvalidPlan(notes.problems, made)
    return made


def _mentions(chain: Chain, phase: Phase) -> list[tuple[Workflow, WorkflowPhase]]:
    """Who says anything about the phase, the nearest first."""
    return [(workflow, workflow.phases[phase]) for workflow in chain if phase in workflow.phases]


def _placed(chain: Chain, phase: Phase) -> Iterator[_Placed]:
    mentions = _mentions(chain, phase)
    for workflow, part in reversed(mentions):
        yield from (_Placed(phase, "pre_step", workflow, step) for step in part.pre_steps)
    # An explicit empty list is a decision too: it hides what the ancestors have.
    for workflow, part in mentions:
        if part.steps is not None:
            yield from (_Placed(phase, "step", workflow, step) for step in part.steps)
            break
    for workflow, part in mentions:
        yield from (_Placed(phase, "post_step", workflow, step) for step in part.post_steps)


def _skipped(leaf: Workflow, placed: Iterable[_Placed]) -> tuple[str, ...]:
    known = {item.step.id for item in placed}
    return tuple(name for name in dict.fromkeys(leaf.skip_steps) if name in known)


def _without_skipped(leaf: Workflow, placed: Sequence[_Placed], notes: Notes) -> list[_Placed]:
    known = {item.step.id for item in placed}
    for index, name in enumerate(leaf.skip_steps):
        if name not in known:
            near = did_you_mean(name, known)
            notes.warn(place_of("skip_steps", index), f"there is no step {name} to skip{near}")
    return [item for item in placed if item.step.id not in leaf.skip_steps]


def _check_ids(kept: Sequence[_Placed], notes: Notes) -> None:
    if not kept:
        notes.refuse("phases", "the workflow has no steps")
    first: dict[str, _Placed] = {}
    for item in kept:
        other = first.setdefault(item.step.id, item)
        if other is not item:
            notes.refuse(
                place_of("phases", item.phase, f"{item.position}s"),
                f"the step id {item.step.id} of {item.source.id} is already used"
                f" in {other.phase} by {other.source.id}",
            )


def _check_ancestors(chain: Chain, kept: Sequence[_Placed], notes: Notes) -> None:
    for ancestor in chain[1:]:
        if not ancestor.hooks and all(item.source is not ancestor for item in kept):
            notes.warn("extends", f"{ancestor.id} contributes no steps")


def _check_approvals(
    chain: Chain, placed: Sequence[_Placed], kept: Sequence[_Placed], notes: Notes
) -> None:
    owner = next((workflow for workflow in chain if workflow.autonomy), chain[0])
    entries = owner.autonomy.require_approval_for if owner.autonomy else ()
    names = {*Phase, *(name for item in kept for name in _names(item))}
    # Who skips a step knows that its gate goes with it.
    skipped = {name for item in placed for name in _names(item)} - names
    for index, entry in enumerate(entries):
        if entry not in names | skipped:
            place = place_of("autonomy", "require_approval_for", index)
            where = place if owner is chain[0] else f"{owner.id}: {place}"
            notes.refuse(where, f"no phase or step is {entry}{did_you_mean(entry, names)}")


def _check_timing(chain: Chain, placed: Sequence[_Placed], notes: Notes) -> None:
    skipped = chain[0].skip_steps
    kept = [item.step for item in placed if item.step.id not in skipped]
    timing.check_workflows(chain, kept, notes)
    counts: Counter[tuple[str, str, str]] = Counter()
    for item in placed:
        key = (item.source.id, item.phase, item.position)
        place = place_of("phases", item.phase, f"{item.position}s", counts[key])
        counts[key] += 1
        if item.step.id not in skipped:
            is_own = item.source is chain[0]
            where = place if is_own else f"{item.source.id}: {place}"
            timing.check_step(item.step, chain, where, notes)


def _gates(autonomy: Autonomy) -> _Gates:
    named = set(autonomy.require_approval_for)
    phases = {phase for phase in Phase if phase in named}
    if autonomy.pause_before_release or autonomy.level is AutonomyLevel.ASSIST:
        phases.add(Phase.RELEASE)
    return _Gates(phases=frozenset(phases), steps=frozenset(named - phases))


def _names(item: _Placed) -> tuple[str, str]:
    return item.step.id, f"{item.phase}:{item.step.id}"


def _planned(
    chain: Chain, phase: Phase, kept: Sequence[_Placed], gates: _Gates, notes: Notes
) -> PlannedPhase:
    parts = [part for _, part in _mentions(chain, phase)]
    items = [item for item in kept if item.phase is phase]
    units = [_unit(chain, item, index, gates) for index, item in enumerate(items)]
    planned = PlannedPhase(
        name=phase,
        description=next((part.description for part in parts if part.description), ""),
        left_out=_left_out(parts, units),
        gated=phase in gates.phases or _nearest((part.require_approval for part in parts), False),
        max_retries=_nearest((part.max_retries for part in parts), 0),
        units=with_hooks(chain, phase, units),
    )
    if planned.left_out == "no steps" and planned.units:
        notes.warn(place_of("phases", phase), "has no steps, so its hooks do not run")
    return planned


def _left_out(parts: Sequence[WorkflowPhase], units: Sequence[Unit]) -> str:
    if not _nearest((part.enabled for part in parts), True):
        return "disabled"
    return "" if units else "no steps"


def _unit(chain: Chain, item: _Placed, index: int, gates: _Gates) -> Unit:
    handling = _handling(chain, item)
    return Unit(
        phase=item.phase,
        index=index,
        step=item.step.model_copy(
            update={
                "result_handling": handling,
                "agent": _agent(chain, item),
                **timing.effective(item.step, chain),
            }
        ),
        source=item.source.id,
        position=item.position,
        gated=not gates.steps.isdisjoint(_names(item)),
    )


def _handling(chain: Chain, item: _Placed) -> ResultHandling:
    """Step over phase over workflow over the defaults; on each level the child over its parent."""
    levels = (
        item.step.result_handling,
        *(part.result_handling for _, part in _mentions(chain, item.phase)),
        *(workflow.result_handling for workflow in chain),
    )
    return ResultHandling(
        on_success=_nearest((level.on_success for level in levels), "continue"),
        on_warning=_nearest((level.on_warning for level in levels), "continue"),
        on_failure="stop",
        on_pending_input="wait",
    )


def _agent(chain: Chain, item: _Placed) -> Agent | None:
    """The step's own agent, else the nearest workflow's; None leaves it to the project."""
    named = (item.step.agent, *(workflow.agent for workflow in chain))
    return _nearest(named, None) if item.step.is_for_agent else None


def _autonomy(chain: Chain, level: AutonomyLevel | None) -> Autonomy:
    autonomy = _nearest((workflow.autonomy for workflow in chain), Autonomy())
    return autonomy.model_copy(update={"level": level}) if level else autonomy


def _nearest(values: Iterable[T | None], default: D) -> T | D:
    """The first value that is said at all, child before parent."""
    return next((value for value in values if value is not None), default)
