"""What the page promises an answer will do is what the engine then does."""

from dataclasses import replace

import pytest

from runs.domain.planning.planner import Facts
from runs.domain.planning.preview import Outlook, Standing, foresee
from runs.domain.responses.results import Result, ResultStatus
from runs.domain.values.phases import Phase
from runs.domain.values.questions import Action, Gate
from runs.domain.workflow.plan import Plan
from tests.runs.domain.planning.test_planner import plan_of, step

DONE = Result(status=ResultStatus.SUCCESS, message="Written.")


def standing(
    plan: Plan, at: int, gate: Gate, result: Result | None = None, **facts: object
) -> Standing:
    entered = plan.units[at].phase if gate is not Gate.PHASE else None
    known = Facts(entered=entered, **facts)  # type: ignore[arg-type]
    return Standing(plan=plan, at=at, gate=gate, gate_key="", facts=known, result=result)


def names(outlook: Outlook) -> list[str]:
    return [unit.key for unit in outlook.executes]


def reviewed() -> Plan:
    return plan_of(
        {
            "architect": [step("specify", requires_approval=True)],
            "build": [step("make"), step("check")],
            "release": {"require_approval": True, "steps": [step("merge")]},
        }
    )


def test_approving_leads_over_the_next_steps_to_the_next_gate() -> None:
    outlook = foresee(standing(reviewed(), 0, Gate.AFTER_STEP), Action.CONTINUE)

    assert names(outlook) == ["build:make", "build:check"]
    assert outlook.asks
    assert "Release" in outlook.asks.prompt
    assert outlook.asks_at
    assert outlook.asks_at.phase is Phase.RELEASE
    assert not outlook.completes
    assert not outlook.ends


def test_asking_for_changes_executes_the_same_step_and_asks_again() -> None:
    outlook = foresee(standing(reviewed(), 0, Gate.AFTER_STEP), Action.REVISE)

    assert names(outlook) == ["architect:specify"]
    assert outlook.repeats


def gated_in_a_row() -> Plan:
    return plan_of(
        {
            "architect": [step("specify", requires_approval=True)],
            "build": {"require_approval": True, "steps": [step("make", requires_approval=True)]},
        }
    )


def test_the_next_step_with_a_gate_of_its_own_is_no_repetition() -> None:
    gated = [step(name, requires_approval=True) for name in ("specify", "make")]
    plan = plan_of({"build": gated})

    outlook = foresee(standing(plan, 0, Gate.AFTER_STEP, result=DONE), Action.CONTINUE)

    assert names(outlook) == ["build:make"]
    assert outlook.asks
    assert not outlook.repeats


@pytest.mark.parametrize("action", [Action.CONTINUE, Action.REVISE])
def test_a_step_that_was_not_executed_yet_is_not_repeated(action: Action) -> None:
    plan = gated_in_a_row()
    before = replace(standing(plan, 1, Gate.PHASE), gate_key="phase:build")

    outlook = foresee(before, action)

    assert names(outlook) == ["build:make"]
    assert outlook.asks_at == plan.units[1]
    assert not outlook.repeats


def test_rejecting_a_result_discards_it_and_leaves_all_that_would_follow() -> None:
    outlook = foresee(standing(reviewed(), 0, Gate.AFTER_STEP, result=DONE), Action.ABORT)

    assert outlook.ends
    assert names(outlook) == []
    assert outlook.discards
    assert outlook.discards.key == "architect:specify"
    assert [unit.key for unit in outlook.leaves] == ["build:make", "build:check", "release:merge"]


def test_rejecting_before_a_step_leaves_that_step_too() -> None:
    outlook = foresee(standing(reviewed(), 3, Gate.PHASE), Action.ABORT)

    assert outlook.ends
    assert outlook.discards is None
    assert [unit.key for unit in outlook.leaves] == ["release:merge"]


def test_the_last_gate_leads_to_the_end() -> None:
    plan = reviewed()
    at_release = standing(plan, 3, Gate.PHASE)
    approved = Standing(
        plan=plan, at=3, gate=Gate.PHASE, gate_key="phase:release", facts=at_release.facts
    )

    outlook = foresee(approved, Action.CONTINUE)

    assert names(outlook) == ["release:merge"]
    assert outlook.completes


def test_skipping_names_the_step_that_is_left_out() -> None:
    outlook = foresee(standing(reviewed(), 1, Gate.FAILURE), Action.SKIP)

    assert outlook.skips
    assert outlook.skips.key == "build:make"
    assert names(outlook) == ["build:check"]


def test_hooks_are_not_counted_as_steps() -> None:
    rules = {"type": "document", "name": "rules", "path": "RULES.md"}
    plan = plan_of(
        {"build": [step("make", requires_approval=True)], "release": [step("merge")]},
        hooks={"pre_release": [rules]},
    )

    outlook = foresee(standing(plan, 0, Gate.AFTER_STEP), Action.CONTINUE)

    assert names(outlook) == ["release:merge"]
    assert outlook.completes


@pytest.mark.parametrize("action", [Action.CONTINUE, Action.RETRY, Action.ANSWER])
def test_no_action_at_a_failure_runs_for_ever(action: Action) -> None:
    plan = plan_of(
        {"build": [step("make")], "evaluate": {"max_retries": 2, "steps": [step("test")]}}
    )

    assert foresee(standing(plan, 1, Gate.FAILURE, retry_count=2), action).completes
