"""A run does what was planned, whatever its executors claim and whoever meddles with its rows."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from django.test import Client
from django.utils import timezone

from runs import engine
from runs.domain.responses.results import Result, ResultStatus
from runs.domain.values.errors import Refused
from runs.engine import batches, conformance, history, starting
from runs.engine.change import PLAN_CHANGED
from runs.engine.starting import Wish
from runs.executors import Outcome
from runs.models import Event, Run, StepAttempt
from runs.models import run as run_rows
from runs.worker import advance
from tests import factories as f
from tests.commands import faber

pytestmark = [pytest.mark.django_db, pytest.mark.database]

DONE = Outcome(result=Result(status=ResultStatus.SUCCESS, message="done"))

LIES: list[f.Json] = [
    {"step": "three"},
    {"step_id": "release:four"},
    {"details": {"step": "one"}},
    {"details": {"step": "deploy-everything"}},
    {"details": {"phase": "release"}},
    {"details": {"steps_completed": ["two", "three", "four"]}},
    {"details": {"completed_steps": ["build:two", "build:two"]}},
    {"details": {"executed_steps": [{"step": "three"}]}},
    {"details": {"steps": {"three": "completed"}}},
    {"details": {"skipped_steps": ["three"]}},
    {"details": {"next_step": "four"}},
    {"details": {"completed_phases": ["build", "release"]}},
    {"workflow_status": "completed"},
    {"workflow_complete": True},
    {"details": {"run_status": "completed"}},
    {"details": {"all_done": True}},
    {"details": {"state": {"status": "completed", "phases": {"release": "completed"}}}},
    {"status": "completed", "all_done": True},
    {"status": "warning", "warnings": ["w"], "details": {"step": "four"}},
    {
        "status": "pending_input",
        "pending_input": {"questions": ["Merge?"]},
        "details": {"steps_completed": ["three", "four"]},
    },
]


def lying(lie: f.Json, *, by_command: bool = False) -> f.Json:
    """Four steps, of which the second hands back what it should not."""
    response = {"status": "success", "message": "done", **lie}
    liar: f.Json = (
        {"id": "two", "run": ["echo", json.dumps(response)]}
        if by_command
        else f.step("two", "tests.steps:say", arguments={"response": response})
    )
    return f.workflow(
        {"build": [f.step("one"), liar, f.step("three")], "release": [f.step("four")]}
    )


def executed(run: Run) -> list[str]:
    return [attempt.step for attempt in run.attempts.order_by("pk")]


@pytest.mark.parametrize("by_command", [False, True])
@pytest.mark.parametrize("lie", LIES)
def test_a_lying_executor_is_refused_and_nothing_it_claims_moves_the_run(
    lie: f.Json, *, by_command: bool, tmp_path: Path
) -> None:
    run = f.started(lying(lie, by_command=by_command), tmp_path)

    assert (run.status, run.unit and run.unit.key) == ("awaiting_feedback", "build:two")
    assert f.pending(run).type == "error_resolution"
    assert executed(run) == ["one", "two"]
    assert f.story(run)[-4:] == [
        "divergence build:two",
        "step_error build:two",
        "decision_point build:two",
        "feedback_request build:two",
    ]
    assert "workflow_complete" not in f.told(run)


@pytest.mark.parametrize("lie", LIES[:4])
def test_a_liar_that_is_retried_for_ever_never_completes_its_run(lie: f.Json) -> None:
    run = f.started(lying(lie))

    for _ in range(3):
        run = f.answered(run, "retry")

    assert run.status == "awaiting_feedback"
    assert executed(run) == ["one", "two", "two", "two", "two"]
    assert len(conformance.verdict_of(run).divergences) == 4


def test_the_attempt_the_event_and_the_request_say_what_was_asked_and_what_was_claimed() -> None:
    run = f.started(lying({"step": "three", "details": {"spec_path": "specs/x.md"}}))

    told = run.events.get(type="divergence").document
    attempt = run.attempts.get(step="two")
    assert told["status"] == "refused"
    assert told["metadata"] == {"attempt": 1, "claims": ["reports the step build:three (step)"]}
    assert told["message"] == (
        "The executor was asked for build:two alone, but its response "
        "reports the step build:three (step)."
    )
    assert attempt.response is not None
    assert attempt.response["details"]["claimed"]["step"] == "three"
    assert attempt.result == "failure"
    assert told["message"] in f.pending(run).prompt
    assert f.fresh(run).artifacts == {}


def test_refused_claims_are_shown_and_the_run_is_still_on_its_plan() -> None:
    run = f.started(lying({"all_done": True}))

    verdict = conformance.verdict_of(run)

    assert verdict.conforms
    assert verdict.matched == ("build:one",)
    assert [(d.key, d.attempt) for d in verdict.divergences] == [("build:two", 1)]
    assert conformance.verdict_shape(verdict)["divergences"] == [
        {
            "event_id": run.events.get(type="divergence").number,
            "step": "build:two",
            "attempt": 1,
            "message": verdict.divergences[0].message,
            "claims": ["claims that the whole workflow is done (all_done)"],
        }
    ]


def test_verify_tells_of_divergences_and_ends_well_when_they_were_refused() -> None:
    run = f.started(lying({"all_done": True}))

    done = faber("verify", run.run_id)

    assert done.code == 0
    assert "conforms" in done.out
    assert "refused at build:two, attempt 1: claims that the whole workflow is done" in done.out


def test_the_pages_of_the_run_and_of_its_request_show_the_badge_and_what_was_refused(
    admin_client: Client,
) -> None:
    run = f.started(lying({"all_done": True}))

    for address in (f"/runs/{run.run_id}/", f"/requests/{f.pending(run).request_id}/"):
        page = admin_client.get(address).content.decode()
        assert "On plan · 1 of 4" in page
        assert "1 refused" in page
        assert "claims that the whole workflow is done (all_done)" in page


def test_a_changed_plan_is_shown_on_the_pages(admin_client: Client) -> None:
    run = f.started(lying({"all_done": True}))
    tamper(run)

    assert "Plan changed" in admin_client.get(f"/runs/{run.run_id}/").content.decode()


def test_a_person_may_skip_the_step_of_a_liar_and_the_rest_is_executed() -> None:
    run = f.answered(f.started(lying({"workflow_complete": True})), "skip")

    assert run.status == "completed"
    assert executed(run) == ["one", "two", "three", "four"]
    assert "step_skip build:two" in f.story(run)


def test_the_last_step_may_say_that_all_is_done() -> None:
    last = f.step(
        "ship",
        "tests.steps:say",
        arguments={"response": {"status": "success", "message": "x", "workflow_complete": True}},
    )

    run = f.started(f.workflow({"build": [f.step("one")], "release": [last]}))

    assert run.status == "completed"
    assert "divergence" not in f.told(run)


def test_a_hook_speaks_for_no_step_either(tmp_path: Path) -> None:
    said = json.dumps({"status": "success", "message": "x", "details": {"steps": ["one"]}})
    script = tmp_path / "hook.sh"
    script.write_text(f"#!/bin/sh\necho '{said}'\n")
    script.chmod(0o755)
    hooks = {"pre_build": [{"type": "script", "name": "look", "path": "./hook.sh"}]}

    run = f.started(f.workflow({"build": [f.step("one")]}, hooks=hooks), tmp_path)

    assert run.status == "awaiting_feedback"
    assert "divergence" in f.told(run)
    assert not run.attempts.filter(is_hook=False).exists()


def test_a_liar_in_evaluate_goes_round_as_a_failure_and_then_a_person_is_asked() -> None:
    said = {"status": "success", "message": "x", "details": {"step": "ship"}}
    phases: dict[str, list[f.Json] | f.Json] = {
        "build": [f.step("make")],
        "evaluate": {
            "steps": [f.step("test", "tests.steps:say", arguments={"response": said})],
            "max_retries": 1,
        },
        "release": [f.step("ship")],
    }

    run = f.started(f.workflow(phases))

    assert executed(run) == ["make", "test", "make", "test"]
    assert f.pending(run).type == "error_resolution"
    assert conformance.verdict_of(run).conforms


def test_a_failed_hook_that_somebody_skips_is_no_step_beside_the_plan(tmp_path: Path) -> None:
    missing = [{"type": "script", "name": "look", "path": "./missing.sh"}]
    hooks = {"pre_build": missing, "post_build": missing}
    run = f.started(f.workflow({"build": [f.step("one")]}, hooks=hooks), tmp_path)

    run = f.answered(f.answered(run, "skip"), "skip")

    assert run.status == "completed"
    assert conformance.verdict_of(run).conforms
    assert "step_skip" not in f.told(run)


# What the history says, against what was executed


def meddled(run: Run, kind: str, step: str, phase: str = "build") -> None:
    """An event that somebody writes into the history by hand, number and all."""
    run.refresh_from_db()
    number = run.last_event_id + 1
    Event.objects.create(
        run=run,
        number=number,
        type=kind,
        timestamp=timezone.now(),
        phase=phase,
        step=step,
        document={"event_id": number, "type": kind, "phase": phase, "step": step},
        hash="0" * 64,
    )
    Run.objects.filter(pk=run.pk).update(last_event_id=number)


def three() -> Run:
    """A run that waits for the approval of its second step of three."""
    second = f.step("two", requires_approval=True, approval_type="review")
    return f.started(f.workflow({"build": [f.step("one"), second, f.step("three")]}))


def jump(run: Run, to: int) -> None:
    Run.objects.filter(pk=run.pk).update(position=to)


def a_step_is_left_out(run: Run) -> None:
    jump(run, 2)


def a_step_is_written_in(run: Run) -> None:
    meddled(run, "step_start", "improvised")
    meddled(run, "step_complete", "improvised")


def a_later_step_is_started(run: Run) -> None:
    meddled(run, "step_start", "three")


def an_end_is_written_without_a_start(run: Run) -> None:
    meddled(run, "step_complete", "three")


def an_end_is_written_twice(run: Run) -> None:
    meddled(run, "step_complete", "one")


def a_start_is_taken_away(run: Run) -> None:
    run.events.get(type="step_start", step="one").delete()


def an_end_is_taken_away(run: Run) -> None:
    run.events.get(type="step_complete", step="one").delete()


def a_beginning_is_taken_away(run: Run) -> None:
    run.events.get(type="workflow_start").delete()


@pytest.mark.parametrize(
    ("meddle", "told"),
    [
        (a_step_is_left_out, "missing: build:two"),
        (a_step_is_written_in, "extra: build:improvised"),
        (a_later_step_is_started, "reordered: build:three"),
        (an_end_is_written_without_a_start, "fabricated: build:three"),
        (an_end_is_written_twice, "fabricated: build:one"),
        (a_start_is_taken_away, "fabricated: build:one"),
        (an_end_is_taken_away, "missing: build:one"),
        (a_beginning_is_taken_away, "Its history was changed"),
    ],
)
def test_a_run_whose_history_was_meddled_with_fails_and_never_completes(
    meddle: Callable[[Run], None], told: str
) -> None:
    run = three()
    meddle(run)

    run = f.answered(run, "approve")

    assert run.status == "failed"
    assert told in run.error
    assert "workflow_complete" not in f.told(run)


def test_a_history_without_a_flaw_is_fabricated_when_nothing_was_executed() -> None:
    run = f.start(f.workflow({"build": [f.step("one"), f.step("two")]}))
    run.attempts.all().delete()
    meddled(run, "step_complete", "one")
    jump(run, 1)

    engine.resume_stopped(run.pk, f.STARTER)
    run = f.work(run)

    assert run.status == "failed"
    assert "fabricated: build:one" in run.error


@pytest.mark.parametrize("meddle", [a_step_is_written_in, a_start_is_taken_away])
def test_a_gate_finds_out_before_anybody_is_asked(meddle: Callable[[Run], None]) -> None:
    second = f.step("two", requires_approval=True)
    run = f.start(f.workflow({"build": [f.step("one"), second]}))
    claim = engine.claim(run.pk, "w")
    assert claim
    claim = engine.settle(claim, DONE)
    meddle(run)

    advance.drive(claim)

    run = f.fresh(run)
    assert run.status == "failed"
    assert "decision_point" not in f.told(run)


def test_a_run_that_failed_for_its_history_fails_again_when_it_is_resumed() -> None:
    run = three()
    an_end_is_taken_away(run)
    run = f.answered(run, "approve")
    assert run.status == "failed"

    engine.resume_stopped(run.pk, f.STARTER)
    run = f.work(run)

    assert run.status == "failed"


@pytest.mark.parametrize("answer", ["approve", "request_changes"])
def test_gates_revisions_and_skips_conform(answer: str) -> None:
    run = f.answered(three(), answer, "again")
    if answer == "request_changes":
        run = f.answered(run, "approve")

    assert run.status == "completed"
    assert conformance.verdict_of(run).conforms
    assert not history.broken_links(run)


def test_a_dry_run_conforms_without_an_execution() -> None:
    run = f.start(f.workflow({"build": [f.step("one")]}, autonomy={"level": "dry-run"}))

    assert f.fresh(run).status == "completed"
    assert conformance.verdict_of(run).conforms


def carried_away(run: Run, folder: Path) -> Path:
    """The run as a directory of the seeds' shape, and nothing of it here any more."""
    assert faber("export", run.run_id, str(folder / "run")).code == 0
    shutil.rmtree(folder / "run" / "faber")
    run.requests.all().delete()
    Run.objects.filter(pk=run.pk).delete()
    return folder / "run"


def test_an_imported_run_goes_on_and_its_steps_of_elsewhere_count(tmp_path: Path) -> None:
    run = three()
    folder = carried_away(run, tmp_path)

    assert faber("import", str(folder)).code == 0
    again = Run.objects.get(run_id=run.run_id)
    assert not again.attempts.exists()
    assert conformance.verdict_of(again).conforms
    engine.resume_stopped(again.pk, f.STARTER)
    again = f.answered(again, "approve")

    assert again.status == "completed"
    assert conformance.verdict_of(again).conforms


def test_an_imported_history_that_lies_does_not_complete(tmp_path: Path) -> None:
    run = three()
    folder = carried_away(run, tmp_path)
    begun = folder.rglob("*-step_start.json")
    told = next(file for file in begun if json.loads(file.read_text())["step"] == "one")
    event = json.loads(told.read_text())
    told.unlink()
    told.with_name(f"{event['event_id']:03d}-checkpoint.json").write_text(
        json.dumps({**event, "type": "checkpoint"})
    )

    faber("import", str(folder))
    engine.resume_stopped(Run.objects.get(run_id=run.run_id).pk, f.STARTER)
    again = f.answered(Run.objects.get(run_id=run.run_id), "approve")

    assert again.status == "failed"
    assert "fabricated: build:one" in again.error


# The plan that was frozen


def tamper(run: Run) -> None:
    """Change what the next steps execute; the hash beside it stays."""
    plan = json.dumps(Run.objects.get(pk=run.pk).plan).replace(f.SUCCEED, "tests.steps:fail")
    Run.objects.filter(pk=run.pk).update(plan=json.loads(plan))


@pytest.fixture(params=["this process knew the plan", "a new process"])
def forget(request: pytest.FixtureRequest) -> Callable[[], None]:
    """Plans are remembered by their hash; another process has not seen the true one."""
    return (lambda: None) if "knew" in request.param else run_rows._PLANS.clear


def test_a_changed_plan_is_not_executed_when_its_step_is_claimed(
    forget: Callable[[], None],
) -> None:
    run = f.start(f.workflow({"build": [f.step("one"), f.step("two")]}))
    tamper(run)
    forget()

    assert engine.claim(run.pk, "w") is None

    run = f.fresh(run)
    assert (run.status, run.error) == ("failed", PLAN_CHANGED)
    assert f.told(run)[-1] == "workflow_error"
    assert not run.attempts.filter(status__in=StepAttempt.OPEN).exists()


def test_a_plan_changed_while_a_step_is_executed_stops_behind_it(
    forget: Callable[[], None],
) -> None:
    run = f.start(f.workflow({"build": [f.step("one"), f.step("two")]}))
    claim = engine.claim(run.pk, "w")
    tamper(run)
    forget()

    advance.drive(claim)

    run = f.fresh(run)
    assert (run.status, run.error) == ("failed", PLAN_CHANGED)
    assert executed(run) == ["one"]


def test_an_answer_is_recorded_but_sends_no_run_on_whose_plan_was_changed(
    forget: Callable[[], None],
) -> None:
    run = three()
    tamper(run)
    forget()

    run = f.answered(run, "approve")

    assert (run.status, run.error) == ("failed", PLAN_CHANGED)
    assert executed(run) == ["one", "two"]
    assert "feedback_received" in f.told(run)


def test_a_step_of_a_dead_worker_is_not_handed_out_again_on_a_changed_plan(
    forget: Callable[[], None],
) -> None:
    run = f.start(f.workflow({"build": [f.step("one")]}))
    engine.claim(run.pk, "w")
    tamper(run)
    forget()

    f.lose(run)

    assert f.fresh(run).status == "failed"
    assert executed(run) == ["one"]


def test_a_plan_of_nonsense_fails_its_run_and_no_other() -> None:
    run, other = three(), three()
    Run.objects.filter(pk=run.pk).update(plan={"nonsense": True})
    run_rows._PLANS.clear()

    assert f.answered(run, "approve").error == PLAN_CHANGED
    assert f.answered(other, "approve").status == "completed"


def test_a_run_with_a_changed_plan_is_not_resumed_but_run_again(tmp_path: Path) -> None:
    run = three()
    tamper(run)
    f.answered(run, "approve")

    with pytest.raises(Refused, match="Rerun to create"):
        engine.resume_stopped(run.pk, f.STARTER)

    assert f.fresh(run).status == "failed"


def test_a_changed_plan_never_passes_for_that_of_another_run() -> None:
    run, other = three(), three()
    tamper(run)
    run_rows._PLANS.clear()

    assert f.fresh(run).frozen_plan != f.fresh(other).frozen_plan
    assert f.answered(other, "approve").status == "completed"


def test_a_number_that_a_database_writes_otherwise_does_not_change_the_plan() -> None:
    odd = {"big": 1e22, "small": 1e-7, "zero": -0.0, "plain": 2.50}

    run = f.started(f.workflow({"build": [f.step("one", arguments=odd), f.step("two")]}))

    run_rows._PLANS.clear()
    assert run.status == "completed"
    assert f.fresh(run).has_its_plan


def files(folder: Path, second: str) -> Wish:
    """A workflow in a file, whose second step is asked about and whose third may change."""
    document = f.workflow(
        {"build": [f.step("one", requires_approval=True), f.step("two", second), f.step("three")]}
    )
    (folder / "flow.json").write_text(json.dumps(document))
    return Wish(workflow=str(folder / "flow.json"), workspace=folder, project="acme/app")


def test_a_changed_workflow_file_bends_no_live_run_and_a_rerun_reads_it(tmp_path: Path) -> None:
    run, _ = starting.start(files(tmp_path, f.SUCCEED), f.STARTER)
    run = f.work(run)
    files(tmp_path, "tests.steps:warn")

    run = f.answered(run, "approve")

    assert run.status == "completed"
    assert [a.result for a in run.attempts.order_by("pk")] == ["success"] * 3
    again, _ = starting.rerun(run, f.STARTER)
    assert again.plan_hash != run.plan_hash
    assert f.answered(f.work(again), "approve").attempts.get(step="two").result == "warning"


def test_every_run_of_a_batch_is_held_to_its_own_plan(tmp_path: Path) -> None:
    wish = files(tmp_path, f.SUCCEED)
    batch = batches.start(batches.BatchWish(wish=wish, work_ids=["1", "2"]), f.STARTER)
    first, second = (f.work(run) for run in batch.runs.order_by("pk"))
    tamper(first)

    assert f.answered(first, "approve").error == PLAN_CHANGED
    assert f.answered(second, "approve").status == "completed"


def test_the_lock_is_told_once_feedback_was_given() -> None:
    keep = "tests.steps:keep_briefing"
    asks = f.step("one", keep, requires_approval=True)
    run = f.answered(f.started(f.workflow({"build": [asks, f.step("two", keep)]})), "approve")

    free, locked = (
        attempt.response["details"]["briefing"]["context"]
        for attempt in run.attempts.order_by("pk")
        if attempt.response is not None
    )

    assert "workflow_locked" not in free
    assert locked["workflow_locked"] is True
    assert locked["workflow_lock_reason"] == "Resuming after feedback - must follow workflow"
    assert locked["state"]["plan_hash"] == free["state"]["plan_hash"] == run.plan_hash
