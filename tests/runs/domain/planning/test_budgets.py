"""Budgets as values: when one is used up, how far it is raised, how people write one."""

import pytest

from runs.domain.planning import budgets, planner
from runs.domain.planning.budgets import WHOLE_RUN, Overspent, Spent
from runs.domain.planning.planner import Ask, Complete, Decision, Execute, Facts
from runs.domain.responses.results import Result, ResultStatus
from runs.domain.values.errors import Invalid
from runs.domain.values.phases import Phase
from runs.domain.values.questions import Action, FeedbackType, Gate
from runs.domain.workflow.definition import Budget
from tests import factories as f

DONE = Result(status=ResultStatus.SUCCESS, message="done")
FAILED = Result(status=ResultStatus.FAILURE, message="broke")
WARNED = Result(status=ResultStatus.WARNING, message="hm", warnings=("one",))


def over(spent: float = 5.4, limit: float = 5, unit: float = 5) -> Overspent:
    return Overspent(
        scope=WHOLE_RUN, budget=Budget(usd=limit), unit=Budget(usd=unit), spent=Spent(usd=spent)
    )


def in_build(**fields: object) -> Facts:
    return Facts(entered=Phase.BUILD, **fields)  # type: ignore[arg-type]


def asked(decision: Decision) -> Ask:
    assert isinstance(decision.move, Ask)
    return decision.move


@pytest.mark.parametrize(
    ("budget", "spent", "is_reached"),
    [
        (Budget(usd=5), Spent(usd=4.99), False),
        (Budget(usd=5), Spent(usd=5), True),
        (Budget(tokens=100), Spent(usd=50, tokens=99), False),
        (Budget(usd=5, tokens=100), Spent(usd=1, tokens=100), True),
    ],
)
def test_a_budget_is_used_up_when_one_of_its_amounts_is_reached(
    budget: Budget, spent: Spent, is_reached: bool
) -> None:
    assert spent.reaches(budget) is is_reached


@pytest.mark.parametrize(
    ("spent", "limit", "raised"), [(5.4, 5, 10), (5, 5, 10), (12, 5, 15), (0.3, 0.1, 0.4)]
)
def test_it_is_raised_by_as_much_again_until_it_is_above_what_was_spent(
    spent: float, limit: float, raised: float
) -> None:
    assert over(spent, limit, unit=limit).raised == Budget(usd=raised)


def test_an_amount_that_is_not_used_up_stays_when_the_other_is_raised() -> None:
    both = Budget(usd=5, tokens=1000)
    used_up = Overspent(scope="run", budget=both, unit=both, spent=Spent(usd=1, tokens=1500))

    assert used_up.raised == Budget(usd=5, tokens=2000)


def test_a_budget_that_people_raised_counts_and_not_the_workflow_s() -> None:
    raised = {"run": {"usd": 10}}

    assert budgets.overspent("run", Budget(usd=5), raised, Spent(usd=7)) is None
    assert budgets.overspent("run", Budget(usd=5), raised, Spent(usd=11)) is not None
    assert budgets.overspent("build:make", Budget(usd=5), raised, Spent(usd=7)) is not None
    assert budgets.overspent("run", None, {}, Spent(usd=7)) is None


@pytest.mark.parametrize(
    ("text", "budget"),
    [
        ("5", Budget(usd=5)),
        ("$2.50", Budget(usd=2.5)),
        ("500000tokens", Budget(tokens=500_000)),
        ("5usd, 100 tokens", Budget(usd=5, tokens=100)),
    ],
)
def test_people_write_a_budget_in_dollars_or_tokens(text: str, budget: Budget) -> None:
    assert budgets.read_budget(text) == budget


@pytest.mark.parametrize("text", ["much", "0", "-1", "nan", "1.5tokens", "5,,", "1e99"])
def test_what_is_no_budget_is_refused_with_its_place(text: str) -> None:
    with pytest.raises(Invalid) as refused:
        budgets.read_budget(text)

    assert refused.value.problems[0].place == "budget"


def test_a_used_up_budget_is_asked_about_before_anything_more_is_executed() -> None:
    plan = f.plan_of(f.workflow({"build": [f.step("a"), f.step("b")]}))

    ask = asked(planner.after_result(plan, 0, DONE, in_build(overspent=over())))

    assert (ask.at, ask.question.gate, ask.by_policy) == (0, Gate.BUDGET, False)
    assert ask.question.type is FeedbackType.SELECTION
    assert ask.question.prompt == "This run has used $5.40 of its budget of $5.00. Continue?"
    assert [(option.value, option.action) for option in ask.question.options] == [
        ("continue", Action.CONTINUE),
        ("stop", Action.ABORT),
    ]
    assert ask.question.options[0].description == "Raise the budget to $10.00 and continue"


def test_nobody_is_asked_about_money_when_nothing_is_left_to_execute() -> None:
    plan = f.plan_of(f.workflow({"build": [f.step("a")]}))

    decision = planner.after_result(plan, 0, DONE, in_build(overspent=over()))

    assert decision.move == Complete(1)


def test_autonomy_does_not_answer_for_a_budget() -> None:
    autonomy = {"level": "autonomous", "allow_destructive_auto": True}
    plan = f.plan_of(f.workflow({"build": [f.step("a"), f.step("b")]}, autonomy=autonomy))

    assert not asked(planner.after_result(plan, 0, DONE, in_build(overspent=over()))).by_policy


@pytest.mark.parametrize("result", [DONE, WARNED, FAILED])
def test_after_the_answer_the_result_is_looked_at_as_if_it_had_just_come(result: Result) -> None:
    plan = f.plan_of(f.workflow({"build": [f.step("a", requires_approval=True), f.step("b")]}))
    facts = in_build(warnings_total=len(result.warnings))

    decision = planner.after_answer(plan, 0, Gate.BUDGET, Action.CONTINUE, result, facts)

    assert decision == planner.after_result(plan, 0, result, in_build())


def test_the_loop_of_evaluate_waits_for_the_money_too() -> None:
    plan = f.plan_of(
        f.workflow({"build": [f.step("a")], "evaluate": {"steps": [f.step("b")], "max_retries": 2}})
    )
    facts = Facts(entered=Phase.EVALUATE)

    asks = planner.after_result(plan, 1, FAILED, Facts(entered=Phase.EVALUATE, overspent=over()))
    goes_on = planner.after_answer(plan, 1, Gate.BUDGET, Action.CONTINUE, FAILED, facts)

    assert asked(asks).question.gate is Gate.BUDGET
    assert goes_on.move == Execute(0, "retry")
