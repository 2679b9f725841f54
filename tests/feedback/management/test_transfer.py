"""Run directories, out and in again, and those that other tools wrote."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from feedback.models import FeedbackRequest
from runs import engine
from runs.models import AuditEntry, Event, Run, StepAttempt
from runs.record import state_json
from tests import factories as f
from tests.commands import faber
from tests.original import RUN_ID, change, emit, make_run, park, put

pytestmark = pytest.mark.django_db


def empty_site() -> None:
    Run.objects.all().delete()
    AuditEntry.objects.all().delete()


def moved(run: Run, folder: Path) -> Run:
    """The run, taken from here to a site that knows nothing of it."""
    assert faber("export", run.run_id, str(folder)).code == 0
    empty_site()
    assert faber("import", str(folder)).code == 0
    return Run.objects.get()


def waiting_for_review() -> Run:
    return f.started(f.five_steps(), work_id="258", prompt="be brief", inputs={"a": "1"})


def revised_and_approved() -> Run:
    return f.answered(f.answered(waiting_for_review(), "2", "two layers"), "approve", "fine")


def waiting_with_a_failure() -> Run:
    return f.started(f.workflow({"build": [f.step("one"), f.step("boom", "tests.steps:fail")]}))


def looping() -> Run:
    evaluate = {"steps": [f.step("test", "tests.steps:pass_third_time")], "max_retries": 3}
    return f.started(f.workflow({"build": [f.step("make")], "evaluate": evaluate}))


def waiting_at_a_gate() -> Run:
    return f.started(f.five_steps(autonomy={"require_approval_for": ["build"]}))


def past_a_gate() -> Run:
    gates = {"require_approval_for": ["architect"]}
    return f.answered(f.started(f.five_steps(autonomy=gates)), "approve")


def asking_for_words() -> Run:
    return f.started(f.workflow({"frame": [f.step("ask", "tests.steps:ask")]}))


def half_a_quorum() -> Run:
    gate = f.step("one", confirm=True, quorum=2, reviewers=["group:reviewer"])
    run = f.started(f.workflow({"build": [gate]}))
    f.answer(run, "confirm")
    return f.fresh(run)


def rejected() -> Run:
    return f.answered(waiting_for_review(), "reject")


def cancelled() -> Run:
    run = waiting_for_review()
    return engine.cancel(run.pk, reason="not needed", actor=f.STARTER)


@pytest.mark.parametrize(
    "make",
    [
        waiting_for_review,
        revised_and_approved,
        waiting_with_a_failure,
        looping,
        waiting_at_a_gate,
        past_a_gate,
        asking_for_words,
        half_a_quorum,
        rejected,
        cancelled,
    ],
)
def test_a_run_that_moved_is_the_same(make: Callable[[], Run], tmp_path: Path) -> None:
    run = f.fresh(make())
    state, metadata = state_json.state_of(run), state_json.metadata_of(run)
    events = list(Event.objects.filter(run=run).values_list("document", "hash"))

    there = moved(run, tmp_path)

    assert state_json.state_of(there) == state
    assert state_json.metadata_of(there) == metadata
    assert list(Event.objects.filter(run=there).values_list("document", "hash")) == events
    assert faber("verify", "latest").code == 0
    assert faber("audit", "verify").code == 0


@pytest.mark.parametrize(
    ("make", "response", "status"),
    [
        (waiting_for_review, "approve", "completed"),
        (waiting_for_review, "reject", "cancelled"),
        (waiting_with_a_failure, "skip", "completed"),
        (waiting_at_a_gate, "1", "awaiting_feedback"),
        (past_a_gate, "approve", "completed"),
        (asking_for_words, "postgres", "completed"),
        (asking_for_words, "skip", "completed"),
    ],
)
def test_a_run_that_moved_goes_on_where_it_stood(
    make: Callable[[], Run], response: str, status: str, tmp_path: Path
) -> None:
    there = moved(make(), tmp_path)

    faber("resume", there.run_id, response)

    assert f.fresh(there).status == status


def test_a_quorum_half_reached_elsewhere_needs_two_people_here(tmp_path: Path) -> None:
    there = moved(half_a_quorum(), tmp_path)

    assert [response.who for response in f.pending(there).responses.all()] == ["Rita"]
    faber("resume", there.run_id)
    f.answer(there, "confirm", actor=f.person("Berta"))
    assert f.fresh(there).status == "awaiting_feedback"
    f.answer(there, "confirm", actor=f.person("Carl"))
    assert f.fresh(there).status == "in_progress"


def test_an_export_is_the_seeds_run_directory(tmp_path: Path) -> None:
    run = waiting_for_review()

    answer = faber("export", run.short_id, str(tmp_path / "new" / "run"), "--json")

    folder = tmp_path / "new" / "run"
    assert answer.document == {"run_id": run.run_id, "directory": str(folder)}
    assert sorted(path.name for path in folder.iterdir()) == [
        "events",
        "faber",
        "metadata.json",
        "state.json",
    ]
    assert json.loads((folder / "state.json").read_text())["status"] == "awaiting_feedback"
    assert json.loads((folder / "metadata.json").read_text())["plan"]["workflow_id"] == "small"
    events = sorted(path.name for path in (folder / "events").iterdir())
    assert events[:2] == [".next-id", "001-workflow_start.json"]
    assert (folder / "events" / ".next-id").read_text() == f"{run.last_event_id + 1}\n"


def test_an_export_never_overwrites(tmp_path: Path) -> None:
    run = waiting_for_review()
    (tmp_path / "mine").write_text("precious")

    answer = faber("export", run.short_id, str(tmp_path))

    assert answer.code == 7
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_an_export_to_an_impossible_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    assert faber("export", waiting_for_review().short_id, str(tmp_path / "file" / "run")).code == 7


# What other tools wrote


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """A base folder with one run that awaits feedback, as the original's scripts write it."""
    folder = make_run(tmp_path)
    emit(folder, "guard_executed", colour="red")
    park(folder)
    entry = {
        "request_id": "fr-20251206-prev01",
        "request_type": "confirmation",
        "response": "confirm",
        "provided_by": {"user": "jmcwilliam", "source": "cli"},
        "received_at": "2026-11-16T00:10:00Z",
    }
    change(folder / "state.json", feedback_history=[entry])
    return tmp_path


def test_a_foreign_run_shows_its_pending_request(base: Path) -> None:
    answer = faber("import", str(base), "--json")

    assert answer.code == 0
    assert answer.document["pending_request"] == "fr-20251206-a1b2c3"
    shown = faber("show", "fr-20251206-a1b2c3", "--json").document
    assert [(o["value"], o["action"]) for o in shown["options"]] == [
        ("approve", "continue"),
        ("reject", "abort"),
    ]
    assert shown["resume_point"] == {
        "phase": "architect",
        "step": "design-review",
        "step_index": 2,
    }
    assert shown["notification_sent"]["cli"] is True


def test_what_a_foreign_run_tells_is_carried_along(base: Path) -> None:
    faber("import", str(base))

    items = faber("events", "latest", "--json").document["items"]
    assert [item["type"] for item in items][3] == "guard_executed"
    assert items[3]["colour"] == "red"
    history = json.loads(faber("state", "latest").out)["feedback_history"]
    assert [(entry["response"], entry["provided_by"]["user"]) for entry in history] == [
        ("confirm", "jmcwilliam")
    ]
    assert faber("verify", "latest").code == 0
    assert faber("audit", "verify").code == 0


def test_an_answered_foreign_run_starts_nothing_by_itself(base: Path) -> None:
    change(base / RUN_ID / "state.json", phases={"build": {"steps": [{"id": "implement"}]}})
    faber("import", str(base / RUN_ID))

    faber("resume", RUN_ID)
    faber("answer", "fr-20251206-a1b2c3", "approve")

    attempt = StepAttempt.objects.get()
    assert (attempt.key, attempt.is_remote, attempt.status) == ("build:implement", True, "queued")


def test_a_known_run_is_refused(base: Path) -> None:
    faber("import", str(base))

    answer = faber("import", str(base))

    assert (answer.code, answer.err) == (7, f"The run {RUN_ID} already exists.\n")


def test_a_request_of_another_run_is_refused(base: Path) -> None:
    run = waiting_for_review()
    FeedbackRequest.objects.filter(run=run).update(request_id="fr-20251206-a1b2c3")

    answer = faber("import", str(base))

    assert answer.code == 7
    assert Run.objects.count() == 1


def test_a_missing_folder_is_not_found(tmp_path: Path) -> None:
    assert faber("import", str(tmp_path / "nothing")).code == 6


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    answer = faber("import", str(tmp_path))

    assert (answer.code, answer.err) == (2, f"{tmp_path}: contains no run\n")


def test_every_problem_is_told_with_its_file(base: Path) -> None:
    folder = base / RUN_ID
    change(folder / "state.json", status="sleeping", updated_at="yesterday")
    put(folder / "metadata.json", "{")
    put(folder / "events" / "002-phase_start.json", "[]")
    change(folder / "events" / "004-guard_executed.json", run_id="acme/app/other")
    change(folder / "events" / "003-step_start.json", timestamp=None)

    answer = faber("import", str(base), "--json")

    assert answer.code == 2
    places = [problem["place"] for problem in answer.document["error"]["details"]["problems"]]
    assert places == [
        "state.json: status",
        "state.json: updated_at",
        "metadata.json: 1:2",
        "events/002-phase_start.json",
        "events/003-step_start.json: timestamp",
    ]
    assert "Traceback" not in answer.err
    assert not Run.objects.exists()


def break_event(name: str, **fields: object) -> Callable[[Path], None]:
    return lambda folder: change(folder / "events" / name, **fields)


def break_state(**fields: object) -> Callable[[Path], None]:
    return lambda folder: change(folder / "state.json", **fields)


def break_request(**fields: object) -> Callable[[Path], None]:
    def broken(folder: Path) -> None:
        state = json.loads((folder / "state.json").read_text())
        change(folder / "state.json", feedback_request={**state["feedback_request"], **fields})

    return broken


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (lambda folder: (folder / "state.json").unlink(), "state.json: is missing"),
        (lambda folder: (folder / "metadata.json").unlink(), "metadata.json: is missing"),
        (
            lambda folder: (folder / "events" / "002-phase_start.json").unlink(),
            "events: event 2 is missing",
        ),
        (
            lambda folder: (folder / "state.json").write_bytes(b"\xff"),
            "state.json: is not UTF-8 text",
        ),
        (break_state(run_id="nonsense"), "state.json: run_id: 'nonsense' is not a run id"),
        (break_state(run_id=RUN_ID.replace("6c", "6d")), "metadata.json: run_id: acme/app/6c56"),
        (break_state(feedback_request=None), "feedback_request: is missing, but the status"),
        (break_state(status="completed"), "feedback_request: is there, but the status"),
        (
            break_request(options=["approve", "perhaps"]),
            "options[1]: the action of 'perhaps' is unknown",
        ),
        (break_request(type="guess"), "feedback_request.type: must be one of approval"),
        (break_request(request_id="fr-20251206-prev01"), "appears twice"),
        (break_event("003-step_start.json", event_id=5), "003-step_start.json: contains event 5"),
        (break_event("001-workflow_start.json", type="../x"), "type: is not a valid event type"),
        (break_event("004-guard_executed.json", run_id="a/b/c"), "a/b/c is another run"),
        (break_event("004-guard_executed.json", phase="x" * 21), "phase: is longer than 20"),
        (break_event("004-guard_executed.json", metadata=[]), "metadata: must be an object"),
    ],
)
def test_a_broken_directory_is_refused_with_the_place(
    base: Path, broken: Callable[[Path], None], said: str
) -> None:
    broken(base / RUN_ID)

    answer = faber("import", str(base / RUN_ID))

    assert (answer.code, answer.out) == (2, "")
    assert said in answer.err
    assert not Run.objects.exists()


def test_a_plan_that_was_changed_on_the_way_is_refused(tmp_path: Path) -> None:
    faber("export", waiting_for_review().run_id, str(tmp_path))
    empty_site()
    text = (tmp_path / "metadata.json").read_text()
    (tmp_path / "metadata.json").write_text(text.replace("tests.steps:succeed", "os:abort"))

    answer = faber("import", str(tmp_path))

    assert (answer.code, answer.err) == (
        2,
        "metadata.json: plan_hash: is not the hash of the plan\n",
    )
