"""What was decided on is what the next step uses: files that changed are asked about again."""

import os
from pathlib import Path

import pytest
from pytest_django import Settings

from feedback.audit import integrity
from feedback.models import FeedbackRequest, FeedbackResponse
from feedback.requests import answers, asker, shown
from runs import engine
from runs.domain.responses.results import Result, ResultStatus
from runs.domain.values.status import RequestStatus
from runs.engine.files import artifacts
from runs.executors.orders import Outcome
from runs.models import Artifact, Run
from tests import factories as f

pytestmark = [pytest.mark.django_db, pytest.mark.database]

PATH = f.SPEC


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return f.spec_reviewed(tmp_path, approval_type="review")


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    return tmp_path / PATH


def has_gone_on(run: Run) -> bool:
    return run.attempts.filter(step="use").exists()


def test_an_approval_of_a_file_that_changed_since_is_kept_and_asked_again(
    run: Run, spec: Path
) -> None:
    asked = f.pending(run)
    spec.write_text("# Another spec\n")

    response = f.answer(run, "approve", "Fine.")

    again, run = f.pending(run), f.fresh(run)
    assert not has_gone_on(run)
    assert run.status == "awaiting_feedback"
    assert response.state == FeedbackResponse.State.TAKEN
    assert FeedbackRequest.objects.get(pk=asked.pk).status == RequestStatus.SUPERSEDED
    assert (again.gate, again.gate_key, again.type) == (asked.gate, asked.gate_key, asked.type)
    assert again.options == asked.options
    assert again.attempt == asked.attempt
    assert again.seal != asked.seal
    assert again.prompt == (
        "specs/spec.md changed after revision 1 was shown: now revision 2. "
        "Please review the result of “spec”."
    )
    assert again.context["changed_files"]["files"] == [{"path": PATH, "shown": 1, "now": 2}]
    assert again.artifacts.get().text == "# Another spec\n"
    assert shown.newer(response.request) == again


def test_the_history_tells_the_answer_the_revision_and_the_new_question(
    run: Run, spec: Path
) -> None:
    before = len(f.told(run))
    spec.write_text("# Another spec\n")

    f.answer(run, "approve")

    assert f.told(run)[before:] == [
        "feedback_received",
        "artifact_modify",
        "decision_point",
        "feedback_request",
    ]
    assert integrity.faults() == []


def test_an_approval_of_what_is_there_now_goes_on(run: Run, spec: Path) -> None:
    spec.write_text("# Another spec\n")
    f.answer(run, "approve")

    run = f.answered(run, "approve")

    assert run.status == "completed"
    assert f.told(run).count("approval_granted") == 1
    assert integrity.faults() == []


def test_a_file_that_changes_again_is_asked_about_again_without_repeating_old_reasons(
    run: Run, spec: Path
) -> None:
    for text in ("# Second\n", "# Third\n"):
        spec.write_text(text)
        f.answer(run, "approve")

    assert f.pending(run).prompt == (
        "specs/spec.md changed after revision 2 was shown: now revision 3. "
        "Please review the result of “spec”."
    )


def test_the_same_text_written_again_is_no_change(run: Run, spec: Path) -> None:
    text = spec.read_text()
    spec.unlink()
    spec.write_text(text)

    assert f.answered(run, "approve").status == "completed"


@pytest.mark.parametrize("kept", [True, False], ids=["compared before", "not compared before"])
def test_a_change_that_keeps_size_and_time_is_seen(run: Run, spec: Path, kept: bool) -> None:
    os.utime(spec, (1_000_000_000, 1_000_000_000))
    if kept:
        shown.look(f.pending(run).request_id)
    spec.write_text(spec.read_text().replace("attempt 1", "attempt 9"))
    os.utime(spec, (1_000_000_000, 1_000_000_000))

    f.answer(run, "approve")

    assert not has_gone_on(run)


def test_a_deleted_file_is_asked_about_and_not_shown(run: Run, spec: Path) -> None:
    spec.unlink()

    f.answer(run, "approve")

    again = f.pending(run)
    assert again.prompt.startswith("specs/spec.md, shown as revision 1, was deleted. ")
    assert not again.artifacts.exists()
    assert f.answered(run, "approve").status == "completed"


def test_a_file_that_is_there_again_is_asked_about(run: Run, spec: Path) -> None:
    spec.unlink()
    f.answer(run, "approve")
    spec.write_text("# Another spec\n")

    f.answer(run, "approve")

    again = f.pending(run)
    assert again.prompt.startswith("specs/spec.md, which was gone, is there again as revision 2. ")
    assert again.artifacts.get().revision == 2
    assert f.answered(run, "approve").status == "completed"


def _pipe(spec: Path) -> None:
    spec.unlink()
    os.mkfifo(spec)


def _link(spec: Path) -> None:
    spec.unlink()
    spec.symlink_to("/etc/passwd")


def _linked_folder(spec: Path) -> None:
    other = spec.parent.parent / "other"
    spec.parent.rename(other)
    spec.parent.symlink_to(other)


def _huge(spec: Path) -> None:
    with spec.open("wb") as file:
        file.truncate(artifacts.LARGEST + 1)


@pytest.mark.parametrize(
    ("becomes", "told"),
    [
        (_pipe, "is not a regular file"),
        (_link, "is behind a link now"),
        (_linked_folder, "is behind a link now"),
        (_huge, "is too large: more than 5 MB"),
    ],
)
def test_what_cannot_be_read_any_more_is_named_and_nothing_of_it_is_kept(
    run: Run, spec: Path, becomes: object, told: str
) -> None:
    assert callable(becomes)
    becomes(spec)

    f.answer(run, "approve")

    assert f.pending(run).prompt.startswith(f"specs/spec.md, shown as revision 1, {told}. ")
    assert Artifact.objects.filter(run=run).count() == 1
    assert not has_gone_on(run)


@pytest.mark.parametrize(("said", "status"), [("reject", "cancelled"), ("request_changes", "")])
def test_an_answer_that_does_not_build_on_the_file_takes_effect(
    run: Run, spec: Path, said: str, status: str
) -> None:
    spec.write_text("# Another spec\n")

    f.answer(run, said, "No.")

    run = f.fresh(run)
    assert run.status == (status or "in_progress")
    assert FeedbackRequest.objects.get().status == RequestStatus.ANSWERED


def test_a_quorum_begins_anew(tmp_path: Path, spec: Path) -> None:
    run = f.spec_reviewed(tmp_path, quorum=2, reviewers=["Rita", "Sven"])
    f.answer(run, "approve")
    spec.write_text("# Another spec\n")

    f.answer(run, "approve", actor=f.person("Sven"))

    again = f.pending(run)
    assert (again.quorum, again.reviewers) == (2, ["Rita", "Sven"])
    assert f.told(run).count("feedback_received") == 2
    assert not f.answer(run, "approve").decides
    assert f.answer(run, "approve", actor=f.person("Sven")).decides
    assert has_gone_on(run)


def test_an_answer_in_its_undo_time_is_compared_when_it_takes_effect(
    run: Run, spec: Path, settings: Settings
) -> None:
    settings.FABER_UNDO_SECONDS = 5
    held = f.answer(run, "approve")
    spec.write_text("# Another spec\n")

    assert answers.take_effect(held.pk)
    assert not answers.take_effect(held.pk)

    assert not has_gone_on(run)
    assert FeedbackRequest.objects.filter(run=run).count() == 2
    assert f.pending(run).artifacts.get().revision == 2
    assert f.told(run).count("feedback_received") == 1


def test_a_crash_while_asking_again_leaves_the_answer_to_be_applied_later(
    run: Run, spec: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.FABER_UNDO_SECONDS = 5
    held = f.answer(run, "approve")
    spec.write_text("# Another spec\n")
    with monkeypatch.context() as broken:
        broken.setattr(asker, "prepared", _crash)
        with pytest.raises(RuntimeError):
            answers.take_effect(held.pk)
    assert Artifact.objects.filter(run=run).count() == 1

    assert answers.take_effect(held.pk)

    assert f.pending(run).artifacts.get().revision == 2


def _crash(*_: object) -> str:
    raise RuntimeError("power cut")


def test_a_file_that_changed_between_the_look_and_the_lock_is_seen(
    run: Run, spec: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = shown.look

    def look_then_change(request_id: str) -> shown.Seen:
        files = seen(request_id)
        spec.write_text("# Another spec\n")
        return files

    monkeypatch.setattr(shown, "look", look_then_change)

    f.answer(run, "approve")

    assert not has_gone_on(run)


def autonomous(tmp_path: Path, build: f.Json) -> Run:
    """A gate that a policy approves, behind a step that names a file and one that need not."""
    document = f.workflow(
        {
            "architect": [f.step("write", "tests.steps:write_spec", artifact=PATH)],
            "build": [build],
            "release": {"require_approval": True, "steps": [f.step("ship")]},
        },
        autonomy={"level": "autonomous", "allow_destructive_auto": True},
    )
    return f.started(document, tmp_path)


def test_a_policy_approves_what_is_there_and_its_record_says_so(tmp_path: Path) -> None:
    rewrite: f.Json = {"id": "rewrite", "run": ["sh", "-c", f"echo new > {PATH}"]}

    run = f.work(autonomous(tmp_path, rewrite))

    assert run.status == "completed"
    first, again = FeedbackRequest.objects.filter(run=run).order_by("pk")
    assert (first.status, again.status) == (RequestStatus.SUPERSEDED, RequestStatus.ANSWERED)
    assert again.artifacts.get().text == "new\n"
    assert again.decision
    assert again.decision.source == "policy"
    assert integrity.faults() == []


def test_a_gate_before_a_phase_compares_every_file_of_the_run(tmp_path: Path, spec: Path) -> None:
    document = f.workflow(
        {
            "architect": [f.step("write", "tests.steps:write_spec", artifact=PATH)],
            "build": {"require_approval": True, "steps": [f.step("use")]},
        }
    )
    run = f.started(document, tmp_path)
    spec.write_text("# Another spec\n")

    f.answer(run, "approve")

    assert f.pending(run).gate == "phase"
    assert not f.fresh(run).approvals
    assert f.answered(run, "approve").status == "completed"


def test_files_that_were_sent_from_outside_are_not_looked_for(tmp_path: Path) -> None:
    asks = {"id": "write", "remote": True, "requires_approval": True}
    run = f.start(f.workflow({"architect": [asks], "build": [f.step("use")]}), tmp_path)
    attempt = run.attempts.get()
    attempt.status, attempt.worker = "running", "a/60/b"
    attempt.lease_until = attempt.queued_at
    attempt.save()
    claim = engine.Claim(run=run, attempt=attempt, unit=run.frozen_plan.units[0])
    sent = artifacts.FoundFile(path="sent.md", content=b"sent")
    done = Outcome(result=Result(status=ResultStatus.SUCCESS, message="done"))
    engine.settle(claim, done, (sent,))
    assert f.pending(run).artifacts.exists()

    f.answer(run, "approve")

    assert has_gone_on(run)


def test_a_folder_that_is_not_on_this_machine_is_not_compared(run: Run, tmp_path: Path) -> None:
    tmp_path.rename(tmp_path.with_name("elsewhere"))

    f.answer(run, "approve")

    assert has_gone_on(run)
