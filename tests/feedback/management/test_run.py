"""Runs executed from the command line, without anybody at a terminal."""

import json
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from django_q.models import OrmQ
from pytest_django.fixtures import Settings

from feedback.terminal import session
from feedback.terminal.session import Attendant
from runs import engine
from runs.engine import recovery
from runs.models import Run
from runs.record import state_json
from runs.worker import advance
from tests import factories as f
from tests.commands import faber

pytestmark = pytest.mark.django_db

ONE_STEP = f.workflow({"build": [f.step("only")]})


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workflow file in the current folder, with a review in its second phase."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "small.json"
    file.write_text(json.dumps(f.five_steps()))
    return file


def put(file: Path, document: object) -> str:
    file.write_text(json.dumps(document))
    return str(file)


def test_a_run_without_questions_completes(file: Path) -> None:
    answer = faber("run", put(file, ONE_STEP), "--work-id", "124", "--json")

    assert answer.code == 0
    assert answer.document["status"] == "completed"
    assert answer.document["work_id"] == "124"
    assert answer.document["project"] == f"local/{file.parent.name}"


def test_progress_is_plain_lines_on_standard_error(file: Path) -> None:
    answer = faber("run", put(file, ONE_STEP))

    run = Run.objects.get()
    assert answer.out == f"{run.run_id} completed (1 of 1 steps)\n"
    assert answer.err.splitlines()[0] == run.run_id
    assert "start    build:only" in answer.err
    assert "only done" in answer.err
    assert "\x1b" not in answer.err


def test_what_a_step_prints_is_shown_too(file: Path) -> None:
    printing: f.Json = {"id": "say", "run": ["sh", "-c", "echo one; echo two >&2"]}

    answer = faber("run", put(file, f.workflow({"build": [printing]})))

    assert answer.code == 0
    assert {"  | one", "  | two"} <= set(answer.err.splitlines())


def test_a_question_is_not_asked_without_a_terminal(file: Path) -> None:
    answer = faber("run", str(file))

    request = f.pending(Run.objects.get())
    assert answer.code == 3
    assert f"faber answer {request.request_id} approve | request_changes | reject" in answer.err
    assert f"/requests/{request.request_id}/" in answer.err
    assert "Your choice" not in answer.err
    assert request.shown_on_cli is False


@pytest.mark.parametrize("words", [(), ("--detach",)])
def test_an_agent_that_is_not_installed_is_told_before_any_step(
    file: Path, settings: Settings, words: tuple[str, ...]
) -> None:
    settings.FABER_AGENT_COMMAND = ("no-such-agent",)
    steps: list[f.Json] = [f.step("plan", requires_approval=True), {"id": "code", "prompt": "Go."}]

    answer = faber("run", put(file, f.workflow({"build": steps})), *words)

    told = "Agent `no-such-agent` is not installed. Install it or set FABER_AGENT_COMMAND."
    assert answer.err.startswith(told)
    assert Run.objects.count() == 1


def test_detached_the_queue_gets_the_run(file: Path) -> None:
    answer = faber("run", str(file), "--detach")

    run = Run.objects.get()
    assert (answer.code, run.status) == (0, "in_progress")
    assert answer.lines == [run.run_id, f"http://127.0.0.1:8000/runs/{run.run_id}/"]
    assert "No worker is running" in answer.err
    assert OrmQ.objects.count() == 1


def test_inputs_target_prompt_and_project_reach_the_run(file: Path) -> None:
    words = ["--input", "a=1", "--input", "b=x=y", "--target", "hitl", "--prompt", "be brief"]

    faber("run", str(file), "--project", "Acme/Shop", "--detach", *words)

    run = Run.objects.get()
    assert run.inputs == {"a": "1", "b": "x=y"}
    assert (run.target, run.prompt, run.project.name) == ("hitl", "be brief", "Acme/Shop")
    assert run.run_id.startswith("acme/shop/")


def test_the_project_is_that_of_the_git_remote(file: Path) -> None:
    for words in (["init", "-q"], ["remote", "add", "origin", "git@github.com:Acme/Shop.git"]):
        subprocess.run(["git", *words], cwd=file.parent, check=True)

    faber("run", str(file), "--detach")

    assert Run.objects.get().project.name == "Acme/Shop"


def test_some_phases_or_one_step_can_be_chosen(file: Path) -> None:
    phases = faber("run", str(file), "--phase", "build,evaluate", "--json").document
    step = faber("run", str(file), "--step", "release:five", "--json").document

    assert (phases["status"], phases["progress"]["total"]) == ("completed", 2)
    assert (step["status"], step["progress"]["total"]) == ("completed", 1)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--phase", "build", "--step", "build:three"], "Use --phase or --step, not both."),
        (["--input", "nothing"], "'nothing' is not an input"),
        (["--input", "=1"], "'=1' is not an input"),
        (["--work-id", "1,2,1"], "1 is listed 2 times"),
        (["--work-id", "a b"], "'a b' is not a work id"),
        (["--work-id=-a"], "beginning with a letter or digit"),
        (["--work-id=1,-a"], "beginning with a letter or digit"),
        (["--phase", "bild"], "did you mean build?"),
        (["--phase", ""], "phases: "),
        (["--autonomy", "wild"], "'wild' is not an autonomy level"),
        (["--workspace", "/nowhere"], "/nowhere is not a folder"),
        (["--project", "app"], "'app' is not a project"),
    ],
)
def test_wrong_usage_is_a_sentence_and_starts_nothing(
    file: Path, words: list[str], said: str
) -> None:
    answer = faber("run", str(file), *words)

    assert (answer.code, answer.out) == (2, "")
    assert said in answer.err
    assert not Run.objects.exists()


@pytest.mark.parametrize("targets", [["--target=--exec=x"], ["--target", "main", "--target=-x"]])
def test_a_target_that_would_be_an_option_starts_nothing(file: Path, targets: list[str]) -> None:
    fetch = f.workflow({"build": [{"id": "fetch", "run": ["git", "fetch", "x", "{target}"]}]})
    file.write_text(json.dumps(fetch))

    answer = faber("run", str(file), "--detach", *targets)

    assert (answer.code, answer.out) == (2, "")
    assert "target: " in answer.err
    assert "starts with -, so a command would read it as an option (build:fetch)" in answer.err
    assert not Run.objects.exists()


def test_an_unknown_workflow_is_not_found(file: Path) -> None:
    answer = faber("run", "nothing")

    assert answer.code == 6
    assert answer.err.startswith("There is no workflow nothing in ")


def test_a_broken_workflow_is_told_problem_by_problem(file: Path) -> None:
    answer = faber("run", put(file, {"id": "x", "phases": {"build": {"stepz": []}}}))

    assert (answer.code, answer.out) == (2, "")
    assert "phases.build.stepz: unknown key" in answer.err


def test_resume_answers_and_goes_on_until_the_run_stops(file: Path) -> None:
    faber("run", str(file))

    answer = faber("resume", "latest", "approve", "--comment", "fine", "--json")

    assert answer.code == 0
    assert answer.document["status"] == "completed"
    assert "start    build:three" in answer.err


def test_resume_with_a_rejection_ends_in_a_5(file: Path) -> None:
    faber("run", str(file))

    answer = faber("resume", "latest", "reject", "--json")

    assert (answer.code, answer.document["status"]) == (5, "cancelled")


def test_resume_stops_at_the_next_question(file: Path) -> None:
    faber("run", str(file))

    answer = faber("resume", "latest", "2", "--comment", "two layers")

    assert answer.code == 3
    assert "architect:two (attempt 2)" in answer.err
    assert f.pending(Run.objects.get()).request_id in answer.err


def test_resume_without_an_answer_says_how_to_answer(file: Path) -> None:
    faber("run", str(file))

    answer = faber("resume", "latest")

    assert (answer.code, answer.out) == (7, "")
    assert answer.err.startswith("The run is waiting for a decision.\n")
    assert f"faber answer {f.pending(Run.objects.get()).request_id}" in answer.err


def test_an_answer_to_a_run_that_asks_nothing_is_refused(file: Path) -> None:
    faber("run", put(file, ONE_STEP))

    answer = faber("resume", "latest", "approve")

    assert (answer.code, answer.err) == (7, "The run is completed and has no open request.\n")


def test_a_finished_run_cannot_be_resumed(file: Path) -> None:
    faber("run", put(file, ONE_STEP))

    assert faber("resume", "latest").code == 7


def test_a_run_that_left_its_plan_fails_with_a_4_and_an_operator_may_resume_it(file: Path) -> None:
    faber("run", str(file))
    run = Run.objects.get()
    start = run.events.filter(type="step_start", step="one")
    start.update(type="checkpoint")

    failed = faber("resume", "latest", "approve")
    start = run.events.filter(type="checkpoint", step="one")
    start.update(type="step_start")
    resumed = faber("resume", "latest")

    assert failed.code == 4
    assert "The run deviated from its plan" in failed.out
    assert resumed.code == 0
    assert f.fresh(run).status == "completed"


def test_a_step_whose_worker_was_stopped_is_taken_up_again(file: Path) -> None:
    run = f.start(ONE_STEP)
    engine.claim(run.pk, "stopped")
    recovery.release("stopped")

    answer = faber("resume", "latest")

    assert answer.code == 0
    assert "build:only (attempt 2)" in answer.err


def test_rerun_is_a_new_run_with_the_same_parameters(file: Path) -> None:
    faber("run", str(file), "--work-id", "124", "--prompt", "be brief")
    original = Run.objects.get()

    answer = faber("rerun", "latest", "--phase", "build", "--json")

    again = Run.objects.latest("id")
    assert answer.code == 0
    assert answer.document["run_id"] == again.run_id != original.run_id
    assert (again.rerun_of, again.work_id, again.prompt) == (original, "124", "be brief")
    assert f.told(again)[0] == "workflow_rerun"


def test_the_step_after_an_answer_is_kept_here_before_a_worker_can_take_it(file: Path) -> None:
    run = f.started(f.five_steps())
    attendant = Attendant(f.STARTER, lambda _: None, prompts=False)

    attendant.answer(f.pending(run), "approve", "")

    attempt = state_json.open_attempt(run)
    assert attempt
    assert (attempt.status, attempt.worker) == ("running", attendant.worker)


def while_it_waits(patch: pytest.MonkeyPatch, do: Callable[[], object]) -> None:
    """Have something happen when whoever follows a run first sleeps between two looks."""
    to_do = [do]

    def sleep(seconds: float) -> None:
        if to_do and seconds == session.LOOK_SECONDS:  # others sleep too, such as subprocess
            to_do.pop()()

    patch.setattr("feedback.terminal.session.time.sleep", sleep)


def test_a_run_that_a_worker_has_is_followed_until_it_stops(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = f.start(f.five_steps())
    claim = engine.claim(run.pk, "elsewhere")

    while_it_waits(monkeypatch, lambda: advance.drive(claim))
    answer = faber("resume", "latest")

    assert answer.code == 3
    assert "step_complete      frame:one" in answer.err
    assert "\nstart" not in answer.err
    assert f.pending(run).request_id in answer.err


def test_a_step_for_an_outside_executor_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    run = f.start(f.workflow({"build": [{"id": "away", "remote": True}]}))

    cancel = partial(engine.cancel, run.pk, reason="enough", actor=f.STARTER)
    while_it_waits(monkeypatch, cancel)
    answer = faber("resume", "latest")

    assert answer.code == 5
    assert "build:away is waiting for a remote executor." in answer.err
