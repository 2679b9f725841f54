"""Budgets in workflow files: what is refused, and what can have no effect."""

import pytest

from runs.domain.values.errors import Invalid
from runs.domain.workflow.definition import Budget
from runs.domain.workflow.merge import MergedPlan, make_plan
from runs.domain.workflow.parse import read_workflow

Json = dict[str, object]


def merged(step: Json, budget: object = None, *, at_start: Budget | None = None) -> MergedPlan:
    document: Json = {"id": "w", "phases": {"build": {"steps": [{"id": "make", **step}]}}}
    if budget is not None:
        document["budget"] = budget
    return make_plan([read_workflow(document).workflow], budget=at_start)


AGENT: Json = {"prompt": "Make it."}


@pytest.mark.parametrize(
    ("budget", "message"),
    [
        ({}, "budget: must set usd or tokens"),
        (5, "budget: must be an object, not a number"),
        ({"usd": "5"}, "budget.usd: must be a number, not a string"),
        ({"usd": 0}, "budget.usd: must be at least 0.01"),
        ({"tokens": 1.5}, "budget.tokens: must be a whole number, not a number"),
        ({"dollar": 5}, "budget.dollar: unknown key"),
        ({"token": 5}, "budget.token: unknown key, did you mean tokens?"),
    ],
)
def test_a_budget_that_says_nothing_is_refused_at_its_place(budget: object, message: str) -> None:
    for fields, place in ((AGENT, ""), ({**AGENT, "budget": budget}, "phases.build.steps[0].")):
        with pytest.raises(Invalid) as refused:
            merged(fields, None if place else budget)

        assert f"{place}{message}" in {str(problem) for problem in refused.value.problems}


def test_the_nearest_workflow_gives_the_budget_and_a_start_may_give_another() -> None:
    assert merged(AGENT, budget={"usd": 5}).plan.budget == Budget(usd=5)
    other = merged(AGENT, budget={"usd": 5, "tokens": 9}, at_start=Budget(usd=2)).plan.budget
    assert other == Budget(usd=2, tokens=9)
    assert merged(AGENT, at_start=Budget(usd=2)).plan.budget == Budget(usd=2)


def test_a_budget_without_an_agent_is_worth_a_warning() -> None:
    told = merged({"run": ["true"], "budget": {"usd": 1}}, budget={"usd": 5}).warnings

    assert [str(problem) for problem in told] == [
        "budget: has no effect: only agents report what they cost",
        "phases.build:make.budget: has no effect: only agents report what they cost",
    ]


def test_dollars_cannot_be_counted_where_an_agent_reports_tokens_only() -> None:
    (told,) = merged({**AGENT, "agent": "codex"}, budget={"usd": 5}).warnings

    assert str(told) == "budget: codex reports tokens and no dollars; set tokens too"
    assert merged({**AGENT, "agent": "codex"}, budget={"usd": 5, "tokens": 9}).warnings == ()
