"""Budgets as a workflow gives them: whose holds, and which can never be reached."""

from collections.abc import Mapping, Sequence

from runs.domain.workflow.definition import Budget, Workflow
from runs.domain.workflow.plan import PlannedPhase
from runs.domain.workflow.problems import Notes, place_of

_EMPTY = "must set usd or tokens"
_NO_AGENT = "has no effect: only agents report what they cost"
_NO_DOLLARS = "codex reports tokens and no dollars; set tokens too"


def granted(chain: Sequence[Workflow], at_start: Budget | None) -> Budget | None:
    """The nearest workflow's budget; what the start says of dollars or tokens goes before it."""
    own = next((workflow.budget for workflow in chain if workflow.budget), None)
    if own is None or at_start is None:
        return own or at_start
    return own.model_copy(update=at_start.model_dump(exclude_none=True))


def check_written(holder: Mapping[str, object], place: str, notes: Notes) -> None:
    """Refuse a budget of nothing, wherever a document has it."""
    if holder.get("budget") == {}:
        notes.refuse(place_of(place, "budget"), _EMPTY)


def check(whole: Budget | None, phases: Sequence[PlannedPhase], notes: Notes) -> None:
    """Refuse a budget of nothing, and tell of those that nobody's report can reach."""
    units = [unit for phase in phases for unit in phase.units]
    if whole is not None and whole.is_empty:
        notes.refuse("budget", _EMPTY)
    if whole is not None and not any(unit.step.is_for_agent for unit in units):
        notes.warn("budget", _NO_AGENT)
    for unit in units:
        step, place = unit.step, place_of("phases", unit.key, "budget")
        counts_dollars_only = any(
            budget is not None and budget.tokens is None for budget in (whole, step.budget)
        )
        if step.budget and not step.is_for_agent:
            notes.warn(place, _NO_AGENT)
        elif counts_dollars_only and step.agent and step.agent.kind == "codex":
            notes.warn(place if step.budget else "budget", _NO_DOLLARS)
