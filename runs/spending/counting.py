"""Counts what an agent says it cost, and holds the sum to the budgets of its run."""

from collections.abc import Mapping

from django.db.models import Sum

from runs.domain.planning.budgets import WHOLE_RUN, Overspent, Spent, overspent
from runs.domain.responses import usage
from runs.domain.workflow.definition import Budget
from runs.domain.workflow.plan import Unit
from runs.models import Run, StepAttempt

_Usage = Mapping[str, object] | None

COLUMNS = ("cost_usd", "input_tokens", "output_tokens")


def columns(used: _Usage) -> dict[str, float | None]:
    """What is written beside an attempt, so that a database can sum it."""
    known = usage.counted(**(used or {}))
    tokens = {name: known[name] for name in (usage.TOKENS_IN, usage.TOKENS_OUT) if name in known}
    return {
        "cost_usd": known.get(usage.COST),
        **dict.fromkeys(COLUMNS[1:]),
        **{name: round(number) for name, number in tokens.items()},
    }


def add(run: Run, used: _Usage) -> None:
    """Add to what a locked run has cost so far; nothing told leaves it untold."""
    for name, amount in columns(used).items():
        if amount is not None:
            setattr(run, name, (getattr(run, name) or 0) + amount)


def exhausted(run: Run, unit: Unit) -> Overspent | None:
    """The budget that is used up: the run's, else that of the step it stands at."""
    whole = run.frozen_plan.budget
    spent = Spent(usd=run.cost_usd or 0, tokens=_tokens(run.input_tokens, run.output_tokens))
    return overspent(WHOLE_RUN, whole, run.budgets, spent) or _of_step(run, unit)


def raised(run: Run, granted: object) -> None:
    """Set a budget to what people allowed, as their request said."""
    if isinstance(granted, Mapping):
        budget = Budget.model_validate(granted["raised"])
        run.budgets = {**run.budgets, str(granted["scope"]): budget.model_dump(exclude_none=True)}


def _of_step(run: Run, unit: Unit) -> Overspent | None:
    if unit.step.budget is None:
        return None
    attempts = StepAttempt.objects.filter(run=run, phase=unit.phase.value, step=unit.step.id)
    found = attempts.aggregate(*(Sum(name) for name in COLUMNS))
    tokens = _tokens(found["input_tokens__sum"], found["output_tokens__sum"])
    spent = Spent(usd=found["cost_usd__sum"] or 0, tokens=tokens)
    return overspent(unit.key, unit.step.budget, run.budgets, spent)


def _tokens(*counts: int | None) -> int:
    return sum(count or 0 for count in counts)
