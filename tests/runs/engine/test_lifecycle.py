"""Runs on real rows: what is claimed, settled, resumed and recorded."""

from datetime import timedelta
from pathlib import Path

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone
from django_q.models import OrmQ

from faber_site.runtime.sweep import sweep
from runs import engine
from runs.domain.responses.results import Result, ResultStatus
from runs.domain.values.errors import Refused
from runs.domain.values.phases import Phase
from runs.engine import claims, conformance, history, recovery
from runs.executors import Outcome
from runs.models import Event, Run, StepAttempt
from runs.record import run_json, state_json
from runs.worker import advance
from tests import factories as f

pytestmark = [pytest.mark.django_db, pytest.mark.database]

DONE = Outcome(result=Result(status=ResultStatus.SUCCESS, message="done"))


def test_a_run_stops_for_its_review_and_goes_on_from_the_exact_step() -> None:
    run = f.started(f.five_steps())
    assert (run.status, run.unit and run.unit.key) == ("awaiting_feedback", "architect:two")

    run = f.answered(run, "approve")

    assert run.status == "completed"
    assert [a.step for a in run.attempts.all()] == ["one", "two", "three", "four", "five"]


def test_the_history_of_a_whole_run_reads_like_its_story() -> None:
    run = f.answered(
        f.started(f.workflow({"architect": [f.step("spec", requires_approval=True)]})), "approve"
    )

    assert f.story(run) == [
        "workflow_start",
        "phase_skip frame",
        "phase_start architect",
        "step_start architect:spec",
        "decision_point architect:spec",
        "feedback_request architect:spec",
        "feedback_received architect:spec",
        "approval_granted architect:spec",
        "step_complete architect:spec",
        "phase_complete architect",
        "phase_skip build",
        "phase_skip evaluate",
        "phase_skip release",
        "workflow_complete",
    ]


def test_a_gated_phase_starts_only_after_its_approval() -> None:
    run = f.started(f.workflow({"release": {"steps": [f.step("ship")], "require_approval": True}}))
    assert "phase_start" not in f.told(run)
    request = f.pending(run)
    assert (request.type, request.phase, request.step) == ("approval", "release", "ship")

    run = f.answered(run, "approve")

    told = f.told(run)
    assert told.index("approval_granted") < told.index("phase_start")
    assert run.status == "completed"


def test_the_gate_of_a_phase_names_its_first_step_and_its_hooks_come_after_it() -> None:
    hooks = {"pre_release": [{"type": "document", "name": "notes", "path": "notes.md"}]}
    release: f.Json = {"steps": [f.step("ship")], "require_approval": True}
    run = f.started(f.workflow({"release": release}, hooks=hooks))
    request = f.pending(run)

    assert (request.phase, request.step, request.step_index) == ("release", "ship", 0)
    decision = run.events.get(type="decision_point").document
    assert (decision["step"], decision["metadata"]["resume_point"]) == (
        "ship",
        {"phase": "release", "step": "ship", "step_index": 0},
    )
    assert run_json.run_shape(run)["resume_point"] == decision["metadata"]["resume_point"]

    run = f.answered(run, "approve")

    told = f.told(run)
    assert told.index("phase_start") < told.index("hook_execute") < told.index("step_start")
    assert run.status == "completed"


def test_a_pause_is_told_twice_with_one_id_and_enough_to_ask_again() -> None:
    run = f.started(f.five_steps())

    decision = run.events.get(type="decision_point").document["metadata"]
    request = run.events.get(type="feedback_request").document["metadata"]

    assert decision["request_id"] == request["request_id"] == f.pending(run).request_id
    assert decision["options"] == ["approve", "request_changes", "reject"]
    assert decision["resume_point"] == {"phase": "architect", "step": "two", "step_index": 0}
    assert decision["context"]["summary"] == "two done"


def test_a_cancelled_confirmation_does_not_execute_the_step() -> None:
    run = f.started(f.workflow({"build": [f.step("drop-tables", confirm=True)]}))

    run = f.answered(run, "cancel")

    assert run.status == "cancelled"
    assert not run.attempts.exists()
    assert "approval_denied" in f.told(run)
    assert not {"approval_granted", "step_start"} & set(f.told(run))


def test_a_rejected_review_cancels_the_run_and_grants_nothing() -> None:
    run = f.answered(f.started(f.five_steps()), "reject", "wrong approach")

    assert (run.status, run.error) == ("cancelled", "wrong approach")
    assert f.told(run)[-3:] == ["feedback_received", "approval_denied", "workflow_cancelled"]


def test_requested_changes_execute_the_same_step_with_the_words_and_ask_again() -> None:
    run = f.started(f.five_steps())
    first = f.pending(run).request_id

    run = f.answered(run, "request_changes", "rename the module")

    again = run.attempts.filter(step="two").last()
    assert again is not None
    assert again.feedback is not None
    assert (again.number, again.action) == (2, "revise")
    assert again.feedback["comment"] == "rename the module"
    assert f.pending(run).request_id != first
    assert not {"approval_granted", "approval_denied"} & set(f.told(run))


def test_an_answer_to_pending_input_reaches_the_same_step() -> None:
    run = f.started(f.workflow({"build": [f.step("which", "tests.steps:ask"), f.step("next")]}))
    assert f.pending(run).type == "clarification"

    run = f.answered(run, "abort")

    assert run.status == "completed"
    answered = run.attempts.filter(step="which").last()
    assert answered is not None
    assert answered.response is not None
    assert answered.response["message"] == "answered: abort"


def test_a_skipped_question_tells_the_step_so() -> None:
    run = f.started(f.workflow({"build": [f.step("which", "tests.steps:ask")]}))

    f.answered(run, "skip")

    attempt = run.attempts.last()
    assert attempt is not None
    assert attempt.feedback is not None
    assert (attempt.action, attempt.feedback["skipped"]) == ("answer", True)


def test_a_failed_step_opens_an_error_resolution_that_shows_what_broke() -> None:
    run = f.started(f.workflow({"build": [f.step("make", "tests.steps:fail"), f.step("next")]}))

    request = f.pending(run)

    assert request.type == "error_resolution"
    assert request.context["errors"] == ["first", "second"]
    steps = state_json.phases_of(run)[Phase.BUILD].steps
    assert {step.id: step.status for step in steps.values()} == {
        "make": "failed",
        "next": "pending",
    }


def test_skip_leaves_the_failed_step_out_and_goes_on() -> None:
    run = f.started(f.workflow({"build": [f.step("make", "tests.steps:fail"), f.step("next")]}))

    run = f.answered(run, "skip")

    assert run.status == "completed"
    assert "step_skip" in f.told(run)
    assert conformance.verdict_of(run).conforms


def test_abort_of_an_error_resolution_cancels_without_denying_an_approval() -> None:
    run = f.answered(f.started(f.workflow({"build": [f.step("x", "tests.steps:fail")]})), "abort")

    assert run.status == "cancelled"
    assert f.told(run)[-2:] == ["feedback_received", "workflow_cancelled"]


def test_evaluate_goes_round_until_it_passes_and_tells_build_why() -> None:
    phases: dict[str, list[f.Json] | f.Json] = {
        "build": [f.step("make")],
        "evaluate": {"steps": [f.step("test", "tests.steps:pass_third_time")], "max_retries": 3},
    }
    run = f.started(f.workflow(phases))

    assert run.status == "completed"
    assert run.retry_count == 2
    assert f.told(run).count("retry_loop_enter") == 2
    rounds = run.attempts.filter(step="make").order_by("number")
    assert [a.failure_context and a.failure_context["retry_attempt"] for a in rounds] == [
        None,
        1,
        2,
    ]
    assert conformance.verdict_of(run).conforms


def test_used_up_rounds_ask_a_person() -> None:
    phases: dict[str, list[f.Json] | f.Json] = {
        "build": [f.step("make")],
        "evaluate": {"steps": [f.step("test", "tests.steps:fail")], "max_retries": 1},
    }
    run = f.started(f.workflow(phases))

    assert f.pending(run).type == "error_resolution"
    assert run.attempts.filter(step="make").count() == 2


def test_a_dry_run_completes_without_an_attempt() -> None:
    run = f.start(f.five_steps(autonomy={"level": "dry-run"}))

    assert run.status == "completed"
    assert not run.attempts.exists()


def test_a_policy_approves_with_the_usual_events_and_its_own_name() -> None:
    document = f.workflow(
        {"release": {"steps": [f.step("ship")], "require_approval": True}},
        autonomy={"level": "autonomous", "allow_destructive_auto": True},
    )
    run = f.started(document)

    assert run.status == "completed"
    granted = run.events.get(type="approval_granted").document
    assert (granted["user"], granted["source"]) == ("policy", "policy")
    assert {"decision_point", "feedback_request", "feedback_received"} <= set(f.told(run))


def test_events_are_numbered_without_a_gap_and_never_go_back_in_time() -> None:
    run = f.answered(f.started(f.five_steps()), "approve")

    numbers = list(run.events.order_by("number").values_list("number", flat=True))
    times = list(run.events.order_by("number").values_list("timestamp", flat=True))

    assert numbers == list(range(1, len(numbers) + 1))
    assert times == sorted(times)


def test_a_clock_that_was_set_back_does_not_make_an_event_earlier() -> None:
    run = f.start(f.five_steps())
    assert run.last_event_at is not None
    future = run.last_event_at + timedelta(hours=1)
    run.last_event_at = future
    run.save()

    f.work(run)

    last = run.events.order_by("-number")[0]
    assert last.timestamp == future


def test_a_changed_event_breaks_the_chain_and_is_named() -> None:
    run = f.started(f.five_steps())
    assert history.broken_links(run) == []
    event = run.events.get(type="workflow_start")
    Event.objects.filter(pk=event.pk).update(document={**event.document, "user": "somebody else"})

    assert history.broken_links(run) == [f"{run.run_id}: event 1 (workflow_start) was changed"]


@pytest.mark.parametrize("change", [{"type": "step_skip"}, {"step": "two"}, {"phase": "build"}])
def test_a_changed_column_breaks_the_chain_too(change: dict[str, str]) -> None:
    run = f.started(f.five_steps())
    run.events.filter(type="step_start", step="one").update(**change)

    assert len(history.broken_links(run)) == 1


def test_the_plan_is_frozen_with_its_hash() -> None:
    run = f.started(f.five_steps())

    assert run.frozen_plan.digest == run.plan_hash
    assert run.frozen_plan == f.plan_of(f.five_steps())


def test_only_one_worker_gets_a_step() -> None:
    run = f.start(f.five_steps())

    first = engine.claim(run.pk, "a")
    second = engine.claim(run.pk, "b")

    assert first is not None
    assert second is None


def test_the_database_refuses_a_second_open_attempt() -> None:
    run = f.start(f.five_steps())

    with pytest.raises(IntegrityError), transaction.atomic():
        StepAttempt.objects.create(
            run=run, phase="frame", step="one", position=0, number=2, action="start"
        )


def expire(claim: engine.Claim) -> None:
    f.lose(claim.run)


def claimed(run_pk: int, worker: str) -> engine.Claim:
    claim = engine.claim(run_pk, worker)
    assert claim is not None
    return claim


def test_the_step_of_a_dead_worker_is_taken_up_as_another_attempt() -> None:
    run = f.start(f.five_steps())
    dead = claimed(run.pk, "dead")
    expire(dead)

    again = claimed(run.pk, "alive")

    assert (again.unit.key, again.attempt.number) == ("frame:one", 2)
    assert again.attempt.reason == "attempt 1: its worker stopped reporting"


def test_the_late_result_of_a_lost_lease_is_kept_and_changes_nothing() -> None:
    run = f.start(f.five_steps())
    dead = claimed(run.pk, "dead")
    expire(dead)
    claimed(run.pk, "alive")
    events = run.events.count()

    assert engine.settle(dead, DONE) is None

    assert run.events.count() == events
    assert f.fresh(run).position == 0
    kept = StepAttempt.objects.get(pk=dead.attempt.pk)
    assert (kept.status, kept.late_response) == ("lost", {"status": "success", "message": "done"})


def test_a_step_that_kills_its_worker_three_times_asks_a_person() -> None:
    run = f.start(f.five_steps())
    for number in range(1, 4):
        claim = claimed(run.pk, f"worker {number}")
        assert claim.attempt.number == number
        expire(claim)

    assert engine.claim(run.pk, "worker 4") is None

    request = f.pending(run)
    assert request.type == "error_resolution"
    assert "its worker stopped reporting" in request.prompt
    assert f.answered(run, "retry").unit is not None


def test_a_step_may_ask_after_its_first_crash() -> None:
    run = f.start(f.workflow({"build": [f.step("deploy", on_crash="ask")]}))
    expire(claimed(run.pk, "dead"))

    assert engine.claim(run.pk, "alive") is None
    assert f.pending(run).type == "error_resolution"


def test_a_worker_that_was_stopped_on_purpose_is_no_crash() -> None:
    run = f.start(f.five_steps())
    for number in range(5):
        claimed(run.pk, f"host:1{number}:ab")
        assert recovery.release(f"host:1{number}:") == 1

    again = claimed(run.pk, "alive")

    assert again.attempt.number == 6
    assert not run.requests.exists()


def test_a_finished_step_is_not_executed_again_after_a_crash_behind_it() -> None:
    run = f.start(f.workflow({"build": [f.step("a"), f.step("b")]}))
    second = engine.settle(claimed(run.pk, "dead"), DONE)
    assert second is not None
    expire(second)

    f.work(run)

    assert [(a.step, a.number) for a in run.attempts.all()] == [("a", 1), ("b", 1), ("b", 2)]


def test_a_lease_is_kept_only_by_who_holds_it() -> None:
    run = f.start(f.five_steps())
    claim = claimed(run.pk, "holder")

    assert engine.keep(claim.attempt.pk, "holder")
    assert not engine.keep(claim.attempt.pk, "somebody")


def job_count() -> int:
    return int(OrmQ.objects.count())


def queued_long_ago(run: Run) -> None:
    run.attempts.update(queued_at=timezone.now() - timedelta(minutes=1))


def test_the_sweep_queues_what_nobody_has_and_only_once() -> None:
    run = f.start(f.five_steps())
    OrmQ.objects.all().delete()
    sweep()
    assert job_count() == 0
    queued_long_ago(run)

    sweep()
    sweep()

    assert job_count() == 1


def test_the_sweep_leaves_a_step_alone_that_is_behind_older_jobs() -> None:
    waiting = f.start(f.five_steps())
    queued_long_ago(waiting)
    OrmQ.objects.update(lock=timezone.now() - timedelta(minutes=1))

    sweep()

    assert job_count() == 1


def test_the_sweep_queues_what_a_clock_that_was_set_back_has_hidden() -> None:
    run = f.start(f.five_steps())
    OrmQ.objects.update(lock=timezone.now() + timedelta(hours=1))
    run.attempts.update(queued_at=timezone.now() + timedelta(hours=1))

    sweep()
    sweep()

    assert OrmQ.objects.filter(lock__lte=timezone.now()).count() == 1


def test_the_sweep_finds_a_lost_job_behind_which_newer_ones_wait() -> None:
    lost = f.start(f.five_steps())
    OrmQ.objects.all().delete()
    queued_long_ago(lost)
    f.start(f.five_steps())

    sweep()

    assert job_count() == 2


def test_the_sweep_queues_what_was_given_back_and_only_once() -> None:
    run = f.start(f.five_steps())
    claimed(run.pk, "stopped")
    recovery.release("stopped")
    OrmQ.objects.all().delete()

    sweep()
    sweep()

    assert job_count() == 1
    assert [a.status for a in run.attempts.all()] == ["lost", "queued"]
    assert claimed(run.pk, "alive").attempt.number == 2


def test_the_sweep_leaves_a_parked_run_alone() -> None:
    f.started(f.five_steps())
    OrmQ.objects.all().delete()

    sweep()

    assert job_count() == 0


def test_a_job_is_queued_only_when_its_transaction_commits() -> None:
    before = OrmQ.objects.count()
    with transaction.atomic():
        f.start(f.five_steps())
        transaction.set_rollback(True)
    assert OrmQ.objects.count() == before

    f.start(f.five_steps())
    assert OrmQ.objects.count() == before + 1


@pytest.mark.parametrize("stage", ["queued", "running", "awaiting"])
def test_a_run_can_be_cancelled_wherever_it_stands(stage: str) -> None:
    run = f.start(f.five_steps())
    held = None
    if stage == "running":
        held = claimed(run.pk, "worker")
    if stage == "awaiting":
        run = f.work(run)

    engine.cancel(run.pk, reason="not needed any more", actor=f.STARTER)

    run = f.fresh(run)
    assert (run.status, run.error) == ("cancelled", "not needed any more")
    assert not run.requests.filter(status="pending").exists()
    assert engine.claim(run.pk, "worker") is None
    if held:
        assert not engine.keep(held.attempt.pk, "worker")
        assert engine.settle(held, DONE) is None
    assert f.told(run)[-1] == "workflow_cancelled"


def test_a_run_cancelled_just_when_its_step_is_taken_is_not_executed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = f.start(f.five_steps())
    sign_for = claims._sign_for

    def sign_and_be_cancelled(run_pk: int, worker: str) -> bool:
        taken = sign_for(run_pk, worker)
        engine.cancel(run_pk, reason="changed my mind", actor=f.STARTER)
        return taken

    monkeypatch.setattr(claims, "_sign_for", sign_and_be_cancelled)

    assert engine.claim(run.pk, "worker") is None


def test_a_finished_run_can_be_neither_cancelled_nor_resumed() -> None:
    run = f.answered(f.started(f.five_steps()), "approve")

    with pytest.raises(Refused, match="already completed"):
        engine.cancel(run.pk, reason="late", actor=f.STARTER)
    with pytest.raises(Refused, match="completed"):
        engine.resume_stopped(run.pk, f.STARTER)


def test_a_run_that_left_its_plan_fails_and_never_completes() -> None:
    run = f.started(f.workflow({"build": [f.step("a"), f.step("b", requires_approval=True)]}))
    Event.objects.filter(run=run, type="step_start", step="a").delete()

    run = f.answered(run, "approve")

    assert run.status == "failed"
    assert "fabricated: build:a" in run.error
    assert "workflow_complete" not in f.told(run)


def test_an_operator_resumes_a_failed_run_from_the_step_it_stopped_at() -> None:
    run = f.started(f.workflow({"build": [f.step("a"), f.step("b", requires_approval=True)]}))
    told = Event.objects.get(run=run, type="step_start", step="a")
    Event.objects.filter(pk=told.pk).update(type="checkpoint")
    run = f.answered(run, "approve")
    assert run.status == "failed"
    Event.objects.filter(pk=told.pk).update(type="step_start")

    engine.resume_stopped(run.pk, f.STARTER)

    run = f.fresh(run)
    assert run.status == "completed"
    assert f.told(run)[-2:] == ["workflow_resumed", "workflow_complete"]


def test_a_file_that_a_step_names_is_kept_as_numbered_hashed_revisions(tmp_path: Path) -> None:
    document = f.workflow(
        {
            "architect": [
                f.step(
                    "spec",
                    "tests.steps:write_spec",
                    requires_approval=True,
                    approval_type="review",
                    artifact="specs/spec.md",
                )
            ]
        }
    )
    run = f.started(document, workspace=tmp_path)
    first = f.pending(run).artifacts.get()
    assert (first.path, first.revision, first.text) == ("specs/spec.md", 1, "# Spec, attempt 1\n")

    run = f.answered(run, "request_changes", "more detail")

    second = f.pending(run).artifacts.get()
    assert (second.revision, second.text) == (2, "# Spec, attempt 2\n")
    assert second.sha256 != first.sha256
    assert [e for e in f.told(run) if e.startswith("artifact")] == [
        "artifact_create",
        "artifact_modify",
    ]


@pytest.mark.parametrize("path", ["../outside.md", "/etc/passwd", "link.md"])
def test_a_file_outside_the_workspace_is_never_read(tmp_path: Path, path: str) -> None:
    (tmp_path / "link.md").symlink_to("/etc/passwd")
    run = f.started(f.workflow({"build": [f.step("a", artifact=path)]}), workspace=tmp_path)

    assert run.status == "completed"
    assert not run.revisions.exists()


def test_missing_placeholders_fail_the_step_before_it_is_executed(tmp_path: Path) -> None:
    arguments = {"env": "{target_env}", "version": "v{app_version}"}
    run = f.started(f.workflow({"build": [f.step("a", arguments=arguments)]}), workspace=tmp_path)

    errors = f.pending(run).context["errors"]

    assert len(errors) == 2
    assert "target_env" in errors[0]
    assert "work_id" in errors[0]


def test_the_briefing_tells_one_step_its_reason_and_everything_known(tmp_path: Path) -> None:
    document = f.workflow(
        {
            "architect": [f.step("spec", requires_approval=True)],
            "build": [f.step("make", "tests.steps:keep_briefing", arguments={"id": "{work_id}"})],
        }
    )
    run = f.started(document, workspace=tmp_path, work_id="258")

    run = f.answered(run, "approve", "mind the gap")

    told = run.attempts.get(step="make").response["details"]["briefing"]  # type: ignore[index]
    assert told["run_id"] == run.run_id
    assert (told["phase"], told["step"], told["attempt"]) == ("build", "make", 1)
    assert told["action"] == "continue"
    assert told["arguments"] == {"id": "258"}
    assert told["instruction"].splitlines()[:2] == [
        f"Resume workflow run {run.run_id} from step architect:spec.",
        "User feedback received: approve: mind the gap.",
    ]
    assert told["feedback"]["comment"] == "mind the gap"
    assert told["plan"][0] == {"step": "architect:spec", "done": True}
    assert told["context"]["state"]["status"] == "in_progress"
    assert told["context"]["decisions"][0]["response"]["response"] == "approve"
    assert told["context"]["resume_point"]["step"] == "make"
    assert set(told["context"]["sources"]) == {
        "state", "metadata", "spec", "issue", "branch", "events",
    }  # fmt: skip


def test_the_second_step_of_a_job_hears_no_old_feedback(tmp_path: Path) -> None:
    document = f.workflow(
        {
            "architect": [f.step("spec", requires_approval=True)],
            "build": [f.step("a"), f.step("b", "tests.steps:keep_briefing")],
        }
    )
    run = f.answered(f.started(document, workspace=tmp_path), "approve", "once")

    told = run.attempts.get(step="b").response["details"]["briefing"]  # type: ignore[index]
    assert told["feedback"] is None


def test_workers_have_names_that_are_never_the_same() -> None:
    assert advance.worker_name() != advance.worker_name()
