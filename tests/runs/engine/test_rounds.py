"""The gates of build and evaluate, when a failing evaluation sends the run back to build."""

import pytest

from runs.models import Run
from tests import factories as f

pytestmark = [pytest.mark.django_db, pytest.mark.database]

FAILING_TWICE = {
    "steps": [f.step("test", "tests.steps:pass_third_time")],
    "max_retries": 3,
}


def looping(build: f.Json, **fields: object) -> Run:
    return f.started(f.workflow({"build": build, "evaluate": FAILING_TWICE}, **fields))


def asked_at(run: Run) -> list[tuple[str, str, str]]:
    return list(run.requests.order_by("pk").values_list("gate", "phase", "step"))


def failures_told(run: Run, step: str) -> list[object]:
    """Which round's failure each execution of a step was told."""
    made = run.attempts.filter(step=step).order_by("number")
    return [a.failure_context and a.failure_context["retry_attempt"] for a in made]


def actions(run: Run, step: str) -> list[str]:
    return list(run.attempts.filter(step=step).order_by("number").values_list("action", flat=True))


@pytest.mark.parametrize(
    ("build", "autonomy", "gate"),
    [
        ({"require_approval": True}, {"level": "guarded"}, "phase"),
        ({}, {"level": "guarded", "require_approval_for": ["build"]}, "phase"),
        ({}, {"level": "guarded", "require_approval_for": ["build:make"]}, "before_step"),
    ],
    ids=["require_approval", "require_approval_for a phase", "require_approval_for a step"],
)
def test_the_gate_of_build_is_asked_in_every_round(
    build: f.Json, autonomy: f.Json, gate: str
) -> None:
    run = looping({"steps": [f.step("make")], **build}, autonomy=autonomy)

    for _ in range(2):
        run = f.answered(run, "approve")
        assert run.status == "awaiting_feedback"
        assert not run.attempts.filter(status="queued").exists()
    run = f.answered(run, "approve")

    assert run.status == "completed"
    assert asked_at(run) == [(gate, "build", "make")] * 3
    assert f.told(run).count("approval_granted") == 3


def test_what_failed_reaches_build_through_its_gate() -> None:
    steps = [f.step("make"), f.step("polish")]
    run = looping({"steps": steps, "require_approval": True})

    for _ in range(3):
        run = f.answered(run, "approve")

    assert failures_told(run, "make") == failures_told(run, "polish") == [None, 1, 2]
    assert actions(run, "make") == ["start", "retry", "retry"]
    failure = run.attempts.get(step="make", number=2).failure_context
    assert failure
    assert failure["previous_failure"]["step"] == "test"
    assert failure["previous_failure"]["error_message"] == "it broke"


def test_what_failed_reaches_the_step_behind_a_review_of_build() -> None:
    steps = [f.step("make", requires_approval=True), f.step("polish", confirm=True)]
    run = looping({"steps": steps})

    for _ in range(3):
        run = f.answered(f.answered(run, "approve"), "confirm")

    assert run.status == "completed"
    assert failures_told(run, "make") == failures_told(run, "polish") == [None, 1, 2]


def test_the_gate_of_evaluate_is_asked_in_every_round() -> None:
    evaluate = {**FAILING_TWICE, "require_approval": True}
    run = f.started(f.workflow({"build": [f.step("make")], "evaluate": evaluate}))

    for _ in range(3):
        run = f.answered(run, "approve")

    assert run.status == "completed"
    assert asked_at(run) == [("phase", "evaluate", "test")] * 3


def test_a_step_that_is_retried_by_a_person_does_not_ask_its_gate_again() -> None:
    build = {"steps": [f.step("make", "tests.steps:fail_first")], "require_approval": True}
    run = f.started(f.workflow({"build": build}))
    run = f.answered(run, "approve")

    run = f.answered(run, "retry")

    assert run.status == "completed"
    assert [gate for gate, _, _ in asked_at(run)] == ["phase", "failure"]
