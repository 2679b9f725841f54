"""A run as programs see it: state.json, metadata.json, Run JSON."""

from pathlib import Path
from typing import Any

import pytest

from runs.engine import conformance
from runs.models import Run
from runs.record import run_json, state_json
from tests import factories as f

pytestmark = [pytest.mark.django_db, pytest.mark.database]


def state(run: Run) -> Any:
    return state_json.state_of(run)


def test_a_waiting_run_has_the_seeds_state() -> None:
    run = f.started(f.five_steps(), work_id="258")
    request = f.pending(run)

    document = state(run)

    assert document["status"] == "awaiting_feedback"
    assert (document["current_phase"], document["current_step"]) == ("architect", "two")
    assert document["resume_point"] == {"phase": "architect", "step": "two", "step_index": 0}
    asked = document["feedback_request"]
    assert (asked["request_id"], asked["type"]) == (request.request_id, "review")
    assert asked["options"] == ["approve", "request_changes", "reject"]
    assert asked["notification_sent"] == {
        "cli": False,
        "issue_comment": False,
        "comment_url": None,
    }
    assert asked["resume_point"] == document["resume_point"]
    assert document["feedback_history"] == []


def test_the_steps_stand_in_plan_order_with_their_status() -> None:
    run = f.started(f.five_steps())

    phases = state(run)["phases"]

    assert [phases[name]["status"] for name in phases] == [
        "completed",
        "in_progress",
        "pending",
        "pending",
        "pending",
    ]
    assert [
        {key: step[key] for key in ("id", "status")}
        for phase in phases.values()
        for step in phase["steps"]
    ] == [
        {"id": "one", "status": "completed"},
        {"id": "two", "status": "in_progress"},
        {"id": "three", "status": "pending"},
        {"id": "four", "status": "pending"},
        {"id": "five", "status": "pending"},
    ]
    assert phases["evaluate"]["retry_count"] == 0


def test_an_answered_request_is_history_with_who_and_why() -> None:
    run = f.answered(f.started(f.five_steps()), "approve", "good work")

    document = state(run)

    assert document["feedback_request"] is None
    assert document["resume_point"] is None
    (entry,) = document["feedback_history"]
    assert (entry["request_type"], entry["response"], entry["action"]) == (
        "review",
        "approve",
        "continue",
    )
    assert entry["comment"] == "good work"
    assert entry["provided_by"]["user"] == "Rita"
    assert entry["provided_by"]["timestamp"] == entry["received_at"]


def test_a_failure_in_the_middle_stops_there_and_a_retry_does_not_repeat_what_was_done() -> None:
    document = f.workflow(
        {
            "build": [
                f.step("step-1-succeeds"),
                f.step("step-2-fails", "tests.steps:fail_first"),
                f.step("step-3-never-runs"),
            ]
        }
    )
    run = f.started(document)
    statuses = [step["status"] for step in state(run)["phases"]["build"]["steps"]]
    assert statuses == ["completed", "failed", "pending"]
    assert state(run)["errors"][0]["step"] == "step-2-fails"

    run = f.answered(run, "retry")

    assert [step["status"] for step in state(run)["phases"]["build"]["steps"]] == ["completed"] * 3
    assert run.attempts.filter(step="step-1-succeeds").count() == 1


def test_metadata_holds_the_launch_parameters_and_the_plan() -> None:
    run = f.start(f.five_steps(), work_id="258", target="export", inputs={"color": "red"})

    metadata = state_json.metadata_of(run)

    assert metadata["run_id"] == run.run_id
    assert (metadata["work_id"], metadata["target"]) == ("258", "export")
    assert metadata["phases"] == ["frame", "architect", "build", "evaluate", "release"]
    assert metadata["plan"] == run.plan
    assert metadata["relationships"] == {
        "parent_run_id": None,
        "rerun_of": None,
        "child_runs": [],
    }


def test_run_json_has_exactly_the_fields_programs_rely_on() -> None:
    run = f.started(f.five_steps())

    shape = run_json.run_shape(run)

    assert set(shape) == {
        "run_id", "title", "work_id", "project", "workflow_id", "status", "current_phase",
        "current_step", "resume_point", "progress", "artifacts", "batch_id", "started_by",
        "started_by_token",
        "created_at", "updated_at", "completed_at", "error", "outcome", "ended_by", "late_results",
        "cost_usd", "input_tokens", "output_tokens", "budget", "pending_request", "due_at", "url",
        "rerun_of", "rerun_from",
    }  # fmt: skip
    assert shape["progress"] == {"done": 1, "total": 5}
    assert shape["pending_request"] == f.pending(run).request_id
    assert shape["project"] == "Acme/App"


def test_a_cancelled_run_says_why() -> None:
    run = f.answered(f.started(f.five_steps()), "reject", "not now")

    assert state(run)["cancellation_reason"] == "not now"


def test_a_run_on_its_way_is_held_only_to_what_it_reached() -> None:
    run = f.started(f.five_steps())

    verdict = conformance.verdict_shape(conformance.verdict_of(run))

    assert verdict["conforms"] is True
    assert verdict["matched"] == ["frame:one"]


def test_an_answer_that_was_asked_again_is_marked_in_the_history(tmp_path: Path) -> None:
    run = f.spec_reviewed(tmp_path)
    (tmp_path / f.SPEC).write_text("# Another spec\n")
    f.answer(run, "approve")

    run = f.answered(run, "approve")

    history: Any = state_json.state_of(run)["feedback_history"]
    first, second = history
    assert first["superseded"] is True
    assert "superseded" not in second
