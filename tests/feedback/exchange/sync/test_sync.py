"""Runs of another FABER: shown here, answered here, executed there."""

import fcntl
import json
import os
import signal
import subprocess
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from feedback.exchange.sync import follow, locked_files, write_back
from feedback.exchange.sync.watch import TRIES, Sync
from feedback.models import FeedbackRequest, FeedbackResponse, WriteBack
from feedback.requests.answers import respond
from runs import engine
from runs.domain.values.errors import AlreadyAnswered, Refused
from runs.models import Run, StepAttempt
from runs.workflow_files import library
from tests import factories as f
from tests import sites
from tests.commands import FABER, environment, faber
from tests.original import ASKED, RUN_ID, answer_there, ask, change, emit, got, make_run, put

pytestmark = [pytest.mark.django_db, pytest.mark.database]

BASE = ".fractary/plugins/faber/runs"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return tmp_path / "project"


@pytest.fixture
def folder(project: Path) -> Path:
    """A run of the original that awaits feedback."""
    folder = make_run(project / BASE)
    ask(folder)
    return folder


@pytest.fixture
def sync(project: Path, folder: Path) -> Sync:
    """Somebody who has looked once."""
    return looked(Sync(project, lambda _line: None))


def looked(sync: Sync) -> Sync:
    assert sync.look()
    return sync


def told(folder: Path) -> list[str]:
    return sorted(file.name for file in (folder / "events").glob("*.json"))


def state_of(folder: Path) -> dict[str, object]:
    state: dict[str, object] = got(folder / "state.json")
    return state


def the_run() -> Run:
    return Run.objects.get()


def test_one_look_reads_a_workflow_once_for_all_runs(
    project: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(make_run(project / BASE, RUN_ID.replace("6c56", "7c56")), "fr-20251206-d4e5f6")
    read: list[str] = []
    load = library.load_chain

    def counted(reference: str, *, workspace: Path | None) -> library.LoadedChain:
        read.append(reference)
        return load(reference, workspace=workspace)

    monkeypatch.setattr(library, "load_chain", counted)
    sync = looked(Sync(project, lambda _line: None))

    assert (len(sync.done.new), read) == (2, ["default"])


# What is shown


@pytest.mark.parametrize("below", ["", BASE, f"{BASE}/{RUN_ID}"])
def test_a_request_of_another_faber_is_in_the_inbox(
    project: Path, folder: Path, below: str
) -> None:
    answer = faber("sync", str(project / below), "--once", "--json")

    assert answer.code == 0
    assert answer.document["new"] == [RUN_ID]
    assert answer.document["pending"] == [ASKED]
    assert ASKED in faber("pending").out
    run = the_run()
    assert (run.mirrors, run.status) == (str(folder), "awaiting_feedback")


def test_both_base_paths_of_a_work_tree_are_looked_at(project: Path, folder: Path) -> None:
    make_run(project / ".fractary/faber/runs", RUN_ID.replace("6c56", "6c57"))

    answer = faber("sync", str(project), "--once", "--json")

    assert len(answer.document["new"]) == 2


def test_a_work_tree_without_runs_is_watched_all_the_same(project: Path) -> None:
    project.mkdir()

    assert faber("sync", str(project), "--once").out == "0 open requests, 0 answers written\n"
    assert faber("sync", str(project / "nothing"), "--once").code == 6


def test_a_second_look_changes_nothing(sync: Sync) -> None:
    before = (f.told(the_run()), list(FeedbackRequest.objects.values()))

    looked(sync)
    looked(Sync(sync.folder, lambda _line: None))

    assert (f.told(the_run()), list(FeedbackRequest.objects.values())) == before
    assert len(sync.done.new) == 1
    assert not sync.done.followed


def test_what_happened_while_nobody_watched_is_noticed(sync: Sync, folder: Path) -> None:
    answer_there(folder)
    looked(sync)
    assert not looked(Sync(sync.folder, lambda _line: None)).done.followed

    emit(folder, "step_complete", phase="architect", step="design-review", duration_ms=3)

    assert looked(Sync(sync.folder, lambda _line: None)).done.followed == [RUN_ID]
    assert f.told(the_run())[-1] == "step_complete"


def test_a_run_that_goes_on_there_goes_on_here(sync: Sync, folder: Path) -> None:
    answer_there(folder)
    emit(folder, "step_complete", phase="architect", step="design-review", duration_ms=3)
    emit(folder, "odd_thing", colour="red")

    looked(sync)

    assert f.told(the_run())[-2:] == ["step_complete", "odd_thing"]
    assert the_run().status == "in_progress"
    assert faber("audit", "verify").code == 0


def test_what_was_answered_there_is_closed_here_and_says_by_whom(sync: Sync, folder: Path) -> None:
    answer_there(folder, "reject")

    looked(sync)

    shown = faber("show", ASKED, "--json").document
    assert shown["status"] == "answered"
    assert shown["response"]["response"] == "reject"
    assert shown["response"]["provided_by"]["user"] == "jmcwilliam"
    with pytest.raises(AlreadyAnswered, match="jmcwilliam chose reject"):
        respond(ASKED, "approve", actor=f.person())


def test_a_newer_request_takes_the_place_of_an_older_one(sync: Sync, folder: Path) -> None:
    ask(folder, "fr-20251206-bbbbbb")

    looked(sync)

    statuses = dict(FeedbackRequest.objects.values_list("request_id", "status"))
    assert statuses == {ASKED: "superseded", "fr-20251206-bbbbbb": "pending"}


def test_a_request_that_was_left_lying_about_is_not_asked(sync: Sync, folder: Path) -> None:
    change(folder / "state.json", status="in_progress", updated_at="2026-11-16T00:40:00Z")

    looked(sync)

    assert the_run().status == "in_progress"
    assert FeedbackRequest.objects.get().status == "superseded"


def test_an_answer_that_is_told_late_is_still_noticed(sync: Sync, folder: Path) -> None:
    state = state_of(folder)
    change(folder / "state.json", status="in_progress", feedback_request=None)
    looked(sync)
    assert FeedbackRequest.objects.get().status == "superseded"

    change(folder / "state.json", **state)
    answer_there(folder)
    looked(sync)

    assert FeedbackRequest.objects.get().status == "answered"


def test_a_run_that_ends_there_ends_here(sync: Sync, folder: Path) -> None:
    emit(folder, "workflow_cancelled", message="no time")
    change(
        folder / "state.json",
        status="cancelled",
        feedback_request=None,
        completed_at="2026-11-16T01:00:00Z",
        cancellation_reason="no time",
    )

    looked(sync)

    assert (the_run().status, the_run().error) == ("cancelled", "no time")
    assert FeedbackRequest.objects.get().status == "cancelled"


def test_an_option_nobody_here_knows_can_be_chosen(project: Path) -> None:
    folder = make_run(project / BASE)
    ask(folder, options=["approve", "approve_with_notes"])
    sync = looked(Sync(project, lambda _line: None))

    respond(ASKED, "approve_with_notes", actor=f.person())
    looked(sync)

    history = got(folder / "state.json")["feedback_history"]
    assert history[0]["response"] == "approve_with_notes"


def test_nothing_is_claimed_about_steps_nobody_here_knows(sync: Sync, client: Client) -> None:
    options = FeedbackRequest.objects.get().options
    assert options[0]["description"] == "Continue the workflow"
    client.force_login(get_user_model().objects.create_superuser("root"))

    page = client.get(f"/runs/{RUN_ID}/").content.decode()

    assert "Left out" not in page
    assert json.loads(faber("state", RUN_ID).out)["phases"]["build"]["status"] == "pending"


def test_a_workflow_of_the_work_tree_is_the_plan(project: Path, folder: Path) -> None:
    workflows = project / ".fractary" / "faber" / "workflows"
    workflows.mkdir(parents=True)
    review = {"id": "design-review", "prompt": "Review it."}
    document = {"id": "own", "phases": {"architect": {"steps": [review]}, "build": {"steps": []}}}
    document["phases"]["build"]["steps"] = [{"id": "implement", "prompt": "Do it."}]  # type: ignore[index]
    put(workflows / "own.json", document)
    change(folder / "metadata.json", workflow_id="own")

    looked(Sync(project, lambda _line: None))

    assert the_run().frozen_plan.step_keys == ("architect:design-review", "build:implement")


def test_the_file_in_question_is_shown_as_it_is_now(
    project: Path, folder: Path, sync: Sync
) -> None:
    (project / "specs").mkdir()
    (project / "specs" / "design.md").write_text("# First\n")
    ask(folder, "fr-20251206-bbbbbb", context={"artifact_path": "/specs/design.md"})
    looked(sync)
    request = FeedbackRequest.objects.get(status="pending")
    seal = request.seal
    assert [a.text for a in request.artifacts.all()] == ["# First\n"]
    assert request.title == "hitl"  # the target
    Run.objects.update(target="", own_title="")

    (project / "specs" / "design.md").write_text("# Second\n")
    looked(sync)

    request.refresh_from_db()
    assert [(a.revision, a.text) for a in request.artifacts.all()] == [(2, "# Second\n")]
    assert the_run().title == "Second"
    assert request.seal != seal


def test_no_file_outside_the_work_tree_is_shown(project: Path, sync: Sync, folder: Path) -> None:
    (project.parent / "secret.md").write_text("hunter2")
    change(folder / "metadata.json", environment={"working_directory": str(project.parent)})
    ask(folder, "fr-20251206-bbbbbb", context={"artifact_path": "../secret.md"})

    looked(sync)

    assert not FeedbackRequest.objects.get(status="pending").artifacts.exists()


def test_a_run_of_our_own_is_never_taken_for_a_mirror(project: Path, folder: Path) -> None:
    assert faber("import", str(folder)).code == 0

    answer = faber("sync", str(project), "--once", "--json")

    assert "executed here" in answer.document["refused"][0]["message"]
    assert the_run().mirrors == ""


def test_a_half_written_file_is_read_again(project: Path, folder: Path) -> None:
    heard: list[str] = []
    sync = Sync(project, heard.append)
    whole = (folder / "state.json").read_text()
    put(folder / "state.json", whole[:200])
    assert not sync.look()
    assert not heard

    put(folder / "state.json", whole)
    looked(sync)

    assert the_run().status == "awaiting_feedback"
    assert not sync.refused


def test_a_directory_that_stays_broken_is_told_once_and_the_others_are_shown(
    project: Path, folder: Path
) -> None:
    other = make_run(project / BASE, RUN_ID.replace("6c56", "6c57"))
    put(other / "state.json", "{")
    heard: list[str] = []
    sync = Sync(project, heard.append)

    for _ in range(3 * TRIES):
        sync.look()

    assert [str(other) in line for line in heard].count(True) == 1
    assert the_run().run_id == RUN_ID
    make_run(project / BASE, RUN_ID.replace("6c56", "6c58"))
    looked(sync)
    assert Run.objects.count() == 2


def test_a_history_that_was_changed_there_is_not_followed(sync: Sync, folder: Path) -> None:
    change(folder / "events" / "001-workflow_start.json", message="something else")
    emit(folder, "checkpoint")

    for _ in range(TRIES):
        sync.look()

    assert "earlier events were changed" in sync.refused[str(folder)]
    assert "checkpoint" not in f.told(the_run())


# What is answered


def test_an_answer_is_written_as_the_protocol_says(sync: Sync, folder: Path) -> None:
    respond(ASKED, "approve", actor=f.person())
    assert WriteBack.objects.get().is_due

    looked(sync)

    assert told(folder)[-2:] == ["005-feedback_received.json", "006-approval_granted.json"]
    received = got(folder / "events" / "005-feedback_received.json")
    assert (received["event_id"], received["run_id"]) == (5, RUN_ID)
    assert received["metadata"]["request_id"] == ASKED
    assert received["metadata"]["provided_by"]["user"] == "Rita"
    state = state_of(folder)
    assert state["status"] == "in_progress"
    assert state["feedback_request"] is None
    assert (state["current_phase"], state["current_step"]) == ("architect", "design-review")
    assert state["last_event_id"] == 6
    assert state["workflow_version"] == "2.1"
    [entry] = got(folder / "state.json")["feedback_history"]
    assert (entry["request_id"], entry["request_type"]) == (ASKED, "approval")
    assert (entry["response"], entry["provided_by"]["source"]) == ("approve", "web")
    assert (folder / "events" / ".next-id").read_text() == "7\n"
    assert len(list((folder / "backups").glob("state_*.json"))) == 1
    assert the_run().status == "in_progress"
    assert f.told(the_run())[-2:] == ["feedback_received", "approval_granted"]
    assert not WriteBack.objects.get().is_due
    assert faber("audit", "verify").code == 0


def test_the_step_that_was_approved_is_not_asked_for_again(sync: Sync, folder: Path) -> None:
    respond(ASKED, "approve", actor=f.person())

    looked(sync)

    steps = got(folder / "state.json")["phases"]["architect"]["steps"]
    assert steps == [{"id": "design-review", "name": "design-review", "status": "completed"}]


def test_a_rejection_ends_the_run_there(sync: Sync, folder: Path) -> None:
    faber("answer", ASKED, "reject", "--comment", "Too large.")

    looked(sync)

    state = state_of(folder)
    assert (state["status"], state["cancellation_reason"]) == ("cancelled", "Too large.")
    assert [name.partition("-")[2] for name in told(folder)[-3:]] == [
        "feedback_received.json",
        "approval_denied.json",
        "workflow_cancelled.json",
    ]
    assert the_run().status == "cancelled"


def test_words_and_remarks_reach_whoever_revises(project: Path) -> None:
    folder = make_run(project / BASE)
    ask(folder, type="review", options=["approve", "request_changes"])
    sync = looked(Sync(project, lambda _line: None))
    faber("answer", ASKED, "request_changes", "--comment", "Two layers.")

    looked(sync)

    [entry] = got(folder / "state.json")["feedback_history"]
    assert (entry["action"], entry["comment"]) == ("revise", "Two layers.")
    assert got(folder / "state.json")["phases"]["architect"]["steps"] == []


def test_a_skipped_step_is_told_as_skipped(project: Path) -> None:
    folder = make_run(project / BASE)
    ask(folder, type="error_resolution", options=["retry", "skip", "abort"])
    sync = looked(Sync(project, lambda _line: None))
    respond(ASKED, "skip", actor=f.person())

    looked(sync)

    assert told(folder)[-1].endswith("-step_skip.json")
    assert got(folder / "state.json")["phases"]["architect"]["steps"][0]["status"] == "skipped"


def test_nothing_of_it_is_executed_here(sync: Sync) -> None:
    respond(ASKED, "approve", actor=f.person())
    looked(sync)

    assert not StepAttempt.objects.exists()
    resumed = faber("resume", RUN_ID)
    assert resumed.code == 7
    assert "Another FABER site executes this run" in resumed.err
    assert faber("cancel", RUN_ID, "--reason", "x").code == 7
    with pytest.raises(Refused, match="Another FABER"):
        engine.resume_stopped(the_run().pk, f.STARTER)
    assert the_run().status == "in_progress"


def test_resuming_with_an_answer_records_it_and_does_not_wait(sync: Sync, folder: Path) -> None:
    answer = faber("resume", RUN_ID, "approve")

    assert answer.code == 0
    assert f"`faber sync` writes it to {folder}" in answer.err
    looked(sync)
    assert state_of(folder)["status"] == "in_progress"


def test_an_answer_in_its_undo_time_is_not_written(
    sync: Sync, folder: Path, settings: Settings
) -> None:
    settings.FABER_UNDO_SECONDS = 60
    respond(ASKED, "approve", actor=f.person())
    looked(sync)
    assert state_of(folder)["status"] == "awaiting_feedback"

    FeedbackResponse.objects.update(held_until=timezone.now() - timedelta(seconds=1))
    looked(sync)

    assert state_of(folder)["status"] == "in_progress"


def test_an_answer_that_came_too_late_is_not_written_over_another(sync: Sync, folder: Path) -> None:
    respond(ASKED, "approve", actor=f.person())
    answer_there(folder, "reject")

    looked(sync)

    assert [entry["response"] for entry in got(folder / "state.json")["feedback_history"]] == [
        "reject"
    ]
    shown = faber("show", ASKED, "--json").document
    assert shown["response"]["provided_by"]["user"] == "jmcwilliam"
    assert "jmcwilliam already chose reject" in WriteBack.objects.get().refused
    lines = faber("audit", "--json").document
    assert {(line["user"], line["state"]) for line in lines["items"]} == {
        ("Rita", "retracted"),
        ("jmcwilliam", "taken"),
    }
    assert faber("audit", "verify").code == 0


def test_what_changes_between_look_and_write_is_not_written_over(
    sync: Sync, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    respond(ASKED, "approve", actor=f.person())
    write = write_back.write

    def overtaken_first(row: WriteBack) -> None:
        if state_of(folder)["feedback_request"]:
            ask(folder, "fr-20251206-bbbbbb")
        write(row)

    monkeypatch.setattr(write_back, "write", overtaken_first)
    looked(sync)

    assert "the run now asks fr-20251206-bbbbbb" in sync.done.too_late[ASKED]
    assert state_of(folder)["status"] == "awaiting_feedback"
    assert not any("feedback_received" in name for name in told(folder))
    statuses = dict(FeedbackRequest.objects.values_list("request_id", "status"))
    assert statuses["fr-20251206-bbbbbb"] == "pending"
    assert statuses[ASKED] != "pending"


class Killed(BaseException):
    pass


@pytest.mark.parametrize(
    ("place", "name", "times"),
    [
        (write_back, "replace", 0),  # before the number is taken
        (write_back, "create", 0),  # a number taken, and no event
        (write_back, "create", 1),  # one of two events written
        (write_back, "back_up", 0),  # both events written, and no state
        (write_back, "replace", 2),  # the backup made, and no state
        (follow, "follow", 0),  # the state written, and nobody here knows
    ],
)
def test_an_answer_is_written_once_whenever_the_writer_is_killed(
    sync: Sync,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    place: object,
    name: str,
    times: int,
) -> None:
    respond(ASKED, "approve", actor=f.person())
    with monkeypatch.context() as patched:
        patched.setattr(place, name, killed_after(getattr(place, name), times))
        with pytest.raises(Killed):
            sync.look()
    os.utime(folder / "events" / ".next-id", (0, 0))  # long ago

    looked(Sync(sync.folder, lambda _line: None))

    assert told(folder)[4:] == ["005-feedback_received.json", "006-approval_granted.json"]
    assert (folder / "events" / ".next-id").read_text() == "7\n"
    assert len(got(folder / "state.json")["feedback_history"]) == 1
    assert the_run().status == "in_progress"
    assert not WriteBack.objects.get().is_due
    assert not list(folder.rglob("*.tmp"))


def killed_after(function: Callable[..., object], times: int) -> Callable[..., object]:
    calls = 0

    def doomed(*args: object, **kwargs: object) -> object:
        nonlocal calls
        calls += 1
        if calls > times:
            raise Killed
        return function(*args, **kwargs)

    return doomed


def test_two_writers_write_an_answer_once(sync: Sync, folder: Path) -> None:
    respond(ASKED, "approve", actor=f.person())
    row = WriteBack.objects.get()

    write_back.write(row)
    write_back.write(row)

    assert len(told(folder)) == 6
    assert len(got(folder / "state.json")["feedback_history"]) == 1


def test_an_older_state_put_over_the_answer_is_mended(sync: Sync, folder: Path) -> None:
    asking = state_of(folder)
    respond(ASKED, "approve", actor=f.person())
    looked(sync)

    change(folder / "state.json", **{**asking, "feedback_history": []})
    looked(sync)

    assert len(got(folder / "state.json")["feedback_history"]) == 1
    assert told(folder)[4:] == ["005-feedback_received.json", "006-approval_granted.json"]


def test_a_lock_that_somebody_holds_is_waited_for(
    sync: Sync, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write_back, "PATIENCE", 0)
    respond(ASKED, "approve", actor=f.person())
    with (folder / "state.json.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        sync.look()
        assert state_of(folder)["status"] == "awaiting_feedback"
        assert "locked by another process" in WriteBack.objects.get().last_error

    looked(sync)

    assert state_of(folder)["status"] == "in_progress"


def test_a_lock_file_that_was_deleted_meanwhile_locks_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = folder / "state.json.lock"
    tries = []
    flock = fcntl.flock

    def deleted_first(descriptor: int, how: int) -> None:
        tries.append(descriptor)
        if len(tries) == 1:
            lock.unlink()
        flock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", deleted_first)
    with locked_files.locked(folder / "state.json", patience=0):
        assert lock.exists()

    assert len(tries) == 2


def test_a_number_somebody_has_taken_is_left_to_them(sync: Sync, folder: Path) -> None:
    respond(ASKED, "approve", actor=f.person())
    (folder / "events" / ".next-id").write_text("6\n")

    sync.look()

    assert "an event is being written" in WriteBack.objects.get().last_error
    assert len(told(folder)) == 4


def test_doctor_tells_of_an_answer_that_was_not_written(sync: Sync, folder: Path) -> None:
    respond(ASKED, "approve", actor=f.person())
    WriteBack.objects.update(created_at=timezone.now() - timedelta(minutes=5))

    assert f"The answer to {ASKED} is not in {folder}" in faber("doctor").out


def test_the_page_says_that_the_answer_waits_for_sync(
    sync: Sync, folder: Path, client: Client
) -> None:
    user = get_user_model().objects.create_superuser("root")
    client.force_login(user)
    open_page = client.get(f"/requests/{ASKED}/").content.decode()
    assert "Please review the design" in open_page
    respond(ASKED, "approve", actor=f.person())

    waiting = client.get(f"/requests/{ASKED}/").content.decode()
    # It goes on elsewhere, so whoever looks at it here asks until it is over.
    news = client.get(f"/runs/{RUN_ID}/", {"v": "old"}, headers={"HX-Request": "true"})
    assert news.status_code == 200
    for shown in (waiting, news.content.decode()):
        assert f'hx-get="/runs/{RUN_ID}/?v=' in shown
    looked(sync)
    written = client.get(f"/requests/{ASKED}/").content.decode()
    run_page = client.get(f"/runs/{RUN_ID}/").content.decode()

    assert "run <code>faber sync</code>" in waiting
    assert "Written to the run’s directory" in written
    assert "Another FABER site executes this run" in run_page
    assert "Cancel run" not in run_page


def test_hundreds_of_quiet_directories_are_passed_over(
    project: Path, folder: Path, django_assert_max_num_queries: Callable[..., object]
) -> None:
    for number in range(40):
        make_run(project / BASE, RUN_ID.replace("6c56", f"{number:04d}"))
    sync = looked(Sync(project, lambda _line: None))

    with django_assert_max_num_queries(2):  # type: ignore[attr-defined]
        looked(sync)


# The process


@pytest.mark.chaos
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_watching_cleanly(tmp_path: Path, number: signal.Signals) -> None:
    folder = make_run(tmp_path / "project" / BASE)
    ask(folder)
    sites.seed(tmp_path / "data")
    process = subprocess.Popen(
        [FABER, "sync", str(tmp_path / "project"), "--json"],
        cwd=tmp_path,
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    for line in process.stderr:
        if "Watching" in line:
            break
    process.send_signal(number)
    out, err = process.communicate(timeout=30)

    assert process.returncode == 0
    assert json.loads(out)["pending"] == [ASKED]
    assert "Traceback" not in err


@pytest.mark.chaos
def test_an_answer_given_while_it_watches_is_written(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "project" / BASE)
    ask(folder)
    sites.seed(tmp_path / "data")
    process = subprocess.Popen(
        [FABER, "sync", str(tmp_path / "project")],
        cwd=tmp_path,
        env=environment(tmp_path),
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    try:
        for line in process.stderr:
            if "Watching" in line:
                break
        subprocess.run(
            [FABER, "answer", ASKED, "approve"],
            cwd=tmp_path,
            env=environment(tmp_path),
            check=True,
            capture_output=True,
        )
        for line in process.stderr:
            if f"{ASKED}: approve" in line:
                break
    finally:
        process.terminate()
        process.communicate(timeout=30)

    assert got(folder / "state.json")["feedback_history"][0]["response"] == "approve"
