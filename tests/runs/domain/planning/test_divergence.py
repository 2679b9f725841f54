"""What counts as a claim beyond the step that was asked for, and what is only the step's own."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runs.domain.planning.divergence import claims_in, refusal
from runs.domain.responses.results import Result, ResultStatus, read_response
from tests import factories as f

PLAN = f.plan_of(
    f.workflow(
        {
            "build": [f.step("one", name="Write it"), f.step("two"), f.step("three", name="Check")],
            "release": [f.step("ship")],
        }
    )
)
ONE, TWO, THREE, SHIP = range(4)


def claims(response: Mapping[str, object], at: int = TWO) -> list[str]:
    said = {"status": "success", "message": "done", **response}
    return [str(claim) for claim in claims_in(read_response(said, step="build:two"), PLAN, at)]


@pytest.mark.parametrize(
    ("response", "claim"),
    [
        ({"step": "three"}, "reports the step build:three (step)"),
        ({"step": "build:three"}, "reports the step build:three (step)"),
        ({"step_id": "ship"}, "reports the step release:ship (step_id)"),
        ({"details": {"step": "one"}}, "reports the step build:one (details.step)"),
        ({"details": {"step": "Write it"}}, "reports the step build:one (details.step)"),
        ({"details": {"step": "release/ship"}}, "reports the step release:ship (details.step)"),
        ({"details": {"step": {"id": "ship"}}}, "reports the step release:ship (details.step)"),
        (
            {"details": {"current_step": "SHIP"}},
            "reports the step release:ship (details.current_step)",
        ),
        ({"details": {"step": "improvised"}}, "reports the step improvised (details.step)"),
        ({"details": {"phase": "release"}}, "reports the phase release (details.phase)"),
        ({"result": {"step": "three"}}, "reports the step build:three (details.step)"),
    ],
)
def test_a_response_that_reports_another_step_says_so(
    response: dict[str, object], claim: str
) -> None:
    assert any(words == claim for words in claims(response))


@pytest.mark.parametrize(
    "details",
    [
        {"steps_completed": ["two", "three"]},
        {"completed_steps": ["build:one", "build:two"]},
        {"executedSteps": [{"step": "two"}, {"step": "three"}]},
        {"steps_done": [{"phase": "release", "step": "ship"}]},
        {"executed_steps": ["two", "refactored-everything"]},
        {"steps": {"two": "completed", "three": "completed"}},
        {"steps": ["one", "two", "three"]},
        {"skipped_steps": ["three"]},
        {"skipped_steps": [{"id": "three", "status": "skipped"}]},
        {"completed_phases": ["build", "release"]},
        {"phases": {"build": {"status": "completed"}, "release": {"status": "completed"}}},
        {"phase_complete": True},
    ],
)
@pytest.mark.parametrize("is_inside", [True, False])
def test_other_steps_reported_as_done_are_claims(
    details: dict[str, object], *, is_inside: bool
) -> None:
    assert claims({"details": details} if is_inside else details)


def test_a_step_reported_twice_is_a_claim() -> None:
    said = claims({"details": {"steps_completed": ["two", "build:two"]}})

    assert said == ["reports build:two twice (details.steps_completed)"]


@pytest.mark.parametrize(
    "said",
    [
        {"workflow_status": "completed"},
        {"run_status": "Completed"},
        {"workflow_complete": True},
        {"workflow-completed": "yes"},
        {"all_done": True},
        {"allStepsCompleted": True},
        {"details": {"workflow_status": "done"}},
        {"details": {"all_steps_done": True}},
        {"details": {"state": {"status": "completed"}}},
    ],
)
def test_all_done_before_the_last_step_is_a_claim(said: dict[str, object]) -> None:
    (claim,) = claims(said)
    assert claim.startswith("claims that the whole workflow is done")
    assert not claims(said, at=SHIP)


def test_a_phase_is_done_with_its_last_step_and_not_before() -> None:
    assert claims({"details": {"phase_complete": True}}, at=TWO)
    assert not claims({"details": {"phase_complete": True}}, at=THREE)
    assert not claims({"details": {"completed_phases": ["build"]}}, at=THREE)


def test_who_decides_what_comes_next_makes_a_claim_unless_the_plan_says_the_same() -> None:
    assert claims({"next_step": "ship"}) == ["decides that release:ship comes next (next_step)"]
    assert claims({"details": {"next_step": "one"}})
    assert not claims({"details": {"next_step": "build:three"}})
    assert not claims({"details": {"next_step": "Have a look at the log"}})


def test_what_is_handed_back_as_the_result_of_an_unknown_status_is_looked_through() -> None:
    said = claims({"status": "completed", "all_done": True, "step": "ship"})

    assert said == [
        "claims that the whole workflow is done (details.raw.status)",
        "claims that the whole workflow is done (details.raw.all_done)",
        "reports the step release:ship (details.raw.step)",
    ]


@pytest.mark.parametrize(
    "response",
    [
        {},
        {"step": "two"},
        {"phase": "build", "step": "two"},
        {"details": {"phase": "build", "step": "build:two", "attempt": 1}},
        {"details": {"step": "Two"}},
        {"details": {"step": 3, "step_index": 1, "steps": 12, "steps_completed": 4}},
        {"details": {"step": "Step 2 of 7, compiled"}},
        {"details": {"step": None, "phase": ""}},
        {"details": {"steps_completed": ["two"]}},
        {"details": {"steps": ["install", "compile", "link"]}},
        {"details": {"steps": [{"id": "three", "status": "pending"}]}},
        {"details": {"phase": "planning", "phases": ["build", "release"]}},
        {"details": {"workflow_status": "in_progress", "run_status": "running"}},
        {"details": {"workflow_complete": False, "all_done": False}},
        {"details": {"done": True, "completed": True, "status": "completed"}},
        {"details": {"spec_path": "specs/x.md", "branch_name": "feat/three", "pr_number": 3}},
        {"details": {"total_tests": 4, "passed": 4, "duration_ms": 7}},
        {"details": {"dispositions": [{"item": 1, "disposition": "done"}]}},
        {"details": {"briefing": {"step": "ship", "plan": [{"step": "ship", "done": True}]}}},
        {"message": "All steps are done, on to release:ship."},
    ],
)
def test_an_honest_response_claims_nothing(response: dict[str, object]) -> None:
    assert claims(response) == []


def test_a_failure_may_name_what_failed_inside_it_but_no_step_of_the_plan() -> None:
    failed = {"status": "failure", "errors": ["no"]}

    assert not claims({**failed, "details": {"step": "lint", "executed_steps": ["lint"]}})
    assert claims({**failed, "details": {"step": "three"}})


def test_a_question_of_a_step_is_held_to_its_step_too() -> None:
    asks = {"status": "pending_input", "pending_input": {"questions": ["Why?"]}}

    assert not claims(asks)
    assert claims({**asks, "details": {"steps_completed": ["three"]}})


def test_the_refusal_says_what_was_asked_and_what_was_claimed_and_keeps_the_response() -> None:
    said = {
        "status": "success",
        "message": "all done",
        "details": {"spec_path": "s.md"},
        "step": "ship",
    }
    result = read_response(said, step="build:two")

    refused = refusal(result, PLAN.units[TWO], claims_in(result, PLAN, TWO))

    assert refused.status is ResultStatus.FAILURE
    assert refused.message == (
        "The executor was asked for build:two alone, but its response "
        "reports the step release:ship (step)."
    )
    assert refused.errors == (
        "build:two was asked for, but the response reports the step release:ship (step).",
    )
    assert refused.details == {"claimed": said}
    assert not claims_in(refused, PLAN, TWO)


@given(
    st.dictionaries(
        st.sampled_from(["step", "steps", "phase", "steps_completed", "state", "all_done"]),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(max_size=8),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(
                    st.sampled_from(["id", "step", "status", "name"]), inner, max_size=3
                )
            ),
            max_leaves=6,
        ),
    )
)
def test_whatever_a_response_holds_is_looked_at_without_an_error(
    details: dict[str, object],
) -> None:
    result = Result(status=ResultStatus.SUCCESS, message="x", details=details, beside=details)

    assert all(str(claim) for claim in claims_in(result, PLAN, TWO))
