"""Run JSON; how far a run is must be the same wherever it is told."""

import pytest

from runs.models import Run
from runs.record import run_json, state_json
from tests import factories as f

pytestmark = pytest.mark.django_db


def told_by_history(run: Run) -> int:
    steps = (step for phase in state_json.phases_of(run).values() for step in phase.steps.values())
    return sum(step.status in ("completed", "skipped") for step in steps)


def assert_equally_far(run: Run, done: int) -> None:
    assert run.progress.done == told_by_history(run) == done
    assert run_json.run_shape(run)["progress"] == {"done": done, "total": run.progress.total}


def test_progress_is_what_the_history_tells_at_every_stop() -> None:
    run = f.started(f.five_steps())
    assert_equally_far(run, 1)  # the second step is done when its review is

    run = f.answered(run, "request_changes", "Once more.")
    assert_equally_far(run, 1)

    run = f.answered(run, "approve")
    assert_equally_far(run, 5)


def test_progress_falls_back_with_a_retry_loop_and_counts_a_skipped_step() -> None:
    document = f.workflow(
        {
            "build": [f.step("make")],
            "evaluate": {"max_retries": 1, "steps": [f.step("test", "tests.steps:fail")]},
            "release": [f.step("merge")],
        }
    )
    run = f.started(document)
    assert_equally_far(run, 1)

    run = f.answered(run, "skip")
    assert_equally_far(run, 3)


def test_progress_of_a_cancelled_run_stays_where_it_was() -> None:
    assert_equally_far(f.answered(f.started(f.five_steps()), "reject"), 1)


def test_a_dry_run_is_told_as_done_although_nothing_was_executed() -> None:
    run = f.started(f.five_steps(autonomy={"level": "dry-run"}))

    assert run.status == "completed"
    assert_equally_far(run, 5)
