"""What people decided is told in the seeds' words."""

import pytest

from runs.domain.planning import event_texts
from runs.models import Event, Run
from tests import factories as f

pytestmark = pytest.mark.django_db


def said(run: Run, kind: str) -> list[str]:
    events = Event.objects.filter(run=run, type=kind).order_by("number")
    return [str(event.document.get("message", "")) for event in events]


def test_an_approval_is_told_with_the_option_that_was_chosen() -> None:
    run = f.answered(f.started(f.five_steps()), "approve")

    assert said(run, "approval_granted") == ["User approved continuation (approve)"]


def test_a_policy_is_no_user() -> None:
    auto = {"level": "autonomous", "allow_destructive_auto": True}
    gated: f.Json = {"steps": [f.step("merge")], "require_approval": True}

    run = f.started(f.workflow({"release": gated}, autonomy=auto))

    assert said(run, "approval_granted") == ["Policy approved continuation (approve)"]


def test_a_skipped_step_is_told_as_the_users_doing() -> None:
    broken = f.step("test", "tests.steps:fail")

    run = f.answered(f.started(f.workflow({"build": [broken]})), "skip")

    assert said(run, "step_skip") == ["Step skipped by user"]


def test_a_dry_run_skips_by_itself() -> None:
    run = f.started(f.five_steps(autonomy={"level": "dry-run"}))

    assert set(said(run, "step_skip")) == {""}


def test_an_aborted_run_is_told_with_the_reason_which_the_run_keeps_as_it_was_given() -> None:
    run = f.answered(f.started(f.five_steps()), "reject", "Too early.")

    assert said(run, "workflow_cancelled") == ["Workflow aborted by user: Too early."]
    assert run.error == "Too early."


def test_a_reason_is_found_again_in_what_was_told() -> None:
    assert event_texts.reason_in(event_texts.aborted("Too early.")) == "Too early."
    assert event_texts.reason_in("Too early.") == "Too early."
