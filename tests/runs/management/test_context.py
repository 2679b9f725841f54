"""`faber context`: what a run's steps were told, as people and programs read it."""

import json
from pathlib import Path

import pytest
from pytest_django import Settings

from runs.models import ContextPackage, Run, StepAttempt
from tests import factories as f
from tests import packages as p
from tests.commands import faber

pytestmark = pytest.mark.django_db


@pytest.fixture
def run() -> Run:
    run = f.start(f.five_steps(), work_id="258")
    p.told_twice(run)
    return run


def test_the_newest_package_is_shown_with_its_sources(run: Run) -> None:
    answer = faber("context", "latest")

    assert answer.code == 0
    assert answer.lines[0] == f"{run.run_id}  package 2"
    assert "architect:two, attempt 2, revise" in answer.out
    table = [line.split("  ") for line in answer.lines if line.startswith(("spec", "issue"))]
    assert [[cell.strip() for cell in row if cell.strip()] for row in table] == [
        ["spec", "ok", "25 bytes", "3 ms", "workspace", "efefefefefef"],
        ["issue", "timeout", "5000 ms", "people"],
    ]
    assert "  warning: issue: GitHub <did> not answer." in answer.lines
    assert "  events: 12 events (2.0 KB) – over the budget" in answer.lines


def test_the_words_of_a_package_follow_part_by_part(run: Run) -> None:
    out = faber("context", "latest").out

    assert "--- spec ---\npath: specs/export.md\ncontent:\n  # Export\n\n  Two lines each." in out
    assert "--- issue ---" not in out


def test_another_package_is_shown_by_its_number(run: Run) -> None:
    answer = faber("context", run.short_id, "--package", "1")

    assert answer.lines[0] == f"{run.run_id}  package 1"
    assert "One line each." in answer.out


def test_programs_get_the_package_itself(run: Run) -> None:
    document = faber("context", "latest", "--package", "1", "--json").document

    assert document == p.package()
    assert list(document) == list(p.package())


def test_two_packages_are_compared(run: Run) -> None:
    answer = faber("context", "latest", "--diff", "1", "2")

    assert answer.code == 0
    assert [" ".join(line.split()) for line in answer.lines[:4]] == [
        "SOURCE PACKAGE 1 PACKAGE 2 CONTENT",
        "state ok, 1.2 KB ok, 1.2 KB unchanged",
        "spec ok, 24 bytes ok, 25 bytes changed",
        "issue off timeout changed",
    ]
    assert "-  One line each.\n+  Two lines each." in answer.out
    assert "Unchanged: state, metadata, issue, events." in answer.out


def test_programs_get_a_comparison_too(run: Run) -> None:
    document = faber("context", "latest", "--diff", "2", "1", "--json").document

    assert (document["from"], document["to"]) == (2, 1)
    assert "+  One line each." in document["changed"]["spec"]
    assert document["sources"]["spec"]["changed"] is True
    assert document["sources"]["state"]["changed"] is False
    assert document["equal"] == ["state", "metadata", "issue", "events"]


def test_a_package_equal_to_itself_has_nothing_that_changed(run: Run) -> None:
    answer = faber("context", "latest", "--diff", "1", "1")

    assert " changed" not in answer.out
    assert "Unchanged: state, metadata, spec, issue, events, notes, left out." in answer.out


@pytest.mark.parametrize(
    "words", [["--package", "3"], ["--package", "0"], ["--package", "-1"], ["--diff", "1", "3"]]
)
def test_a_package_nobody_has_is_a_sentence_and_a_6(run: Run, words: list[str]) -> None:
    answer = faber("context", "latest", *words)

    assert (answer.code, answer.out) == (6, "")
    assert answer.err == (
        f"The run {run.run_id} has 2 packages; there is no package {words[-1]}.\n"
    )


def test_a_run_whose_steps_were_told_nothing_is_a_6() -> None:
    run = f.start(f.five_steps())

    answer = faber("context", "latest")

    assert (answer.code, answer.out) == (6, "")
    assert answer.err == f"The run {run.run_id} has no context package yet.\n"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--replay"], "--replay requires --dry-run: this command executes nothing."),
        (["--dry-run"], "--dry-run requires --replay."),
        (
            ["--diff", "1", "2", "--package", "1"],
            "--diff can't be combined with --package or --replay.",
        ),
    ],
)
def test_words_that_do_not_go_together_are_refused(
    run: Run, words: list[str], sentence: str
) -> None:
    answer = faber("context", "latest", *words)

    assert (answer.code, answer.out, answer.err) == (2, "", f"{sentence}\n")


def test_what_a_step_is_told_cannot_steer_the_terminal() -> None:
    p.told(f.start(f.five_steps()), spec={"content": "\x1b[2Jevil\u202e\nmore"})

    out = faber("context", "latest").out

    assert "evil" in out
    assert not set(out) & set("\x1b\u202e")


# Replays


@pytest.fixture
def kept(tmp_path: Path) -> Run:
    """A run whose second step handed back what it was told, and went on."""
    steps = [f.step("write", "tests.steps:keep_briefing", arguments={"for": "{work_id}"})]
    phases = {"architect": steps, "build": [f.step("make")]}
    return f.started(f.workflow(phases), tmp_path, work_id="258")


def briefing_of(run: Run, step: str) -> object:
    """What the executor said it was told."""
    response = StepAttempt.objects.get(run=run, step=step).response
    assert response
    return response["details"]["briefing"]


def test_a_replay_is_what_the_executor_got(kept: Run) -> None:
    answer = faber("context", "latest", "--package", "1", "--replay", "--dry-run", "--json")

    document = answer.document
    assert answer.code == 0
    assert (document["package"], document["step"]) == (1, "architect:write")
    assert document["briefing"] == briefing_of(kept, "write")


def test_a_replay_executes_nothing(kept: Run) -> None:
    before = list(kept.attempts.values()), kept.last_event_id

    out = faber("context", "latest", "--replay", "--dry-run").out

    assert out.startswith(f"{kept.run_id}  build:make, attempt 1, package 2\nDry run: ")
    assert (list(kept.attempts.values()), f.fresh(kept).last_event_id) == before


def test_a_replay_shows_the_program_and_what_it_reads(tmp_path: Path) -> None:
    script = "import sys, pathlib; pathlib.Path('got').write_bytes(sys.stdin.buffer.read())"
    run = f.started(
        f.workflow({"build": [{"id": "make", "run": ["python3", "-c", script, "{work_id} x"]}]}),
        tmp_path,
        work_id="258",
    )

    document = faber("context", "latest", "--replay", "--dry-run", "--json").document

    assert run.status == "completed"
    assert document["argv"] == ["python3", "-c", script, "258 x"]
    assert document["stdin"] == (tmp_path / "got").read_text()
    assert json.loads(document["stdin"]) == document["briefing"]


def test_a_replay_shows_what_an_agent_reads(tmp_path: Path, settings: Settings) -> None:
    """The agent keeps its prompt and its arguments, which the replay is compared with."""
    script = tmp_path / "agent.py"
    script.write_text(
        "import json, pathlib, sys\n"
        "got = {'argv': sys.argv, 'stdin': sys.stdin.read()}\n"
        "pathlib.Path('got.json').write_text(json.dumps(got))\n"
        'print(json.dumps({"status": "success", "message": "done"}))\n'
    )
    settings.FABER_AGENT_COMMAND = ("python3", str(script), "--plain")
    workflow = f.workflow({"build": [{"id": "make", "prompt": "Make it for {work_id}."}]})
    run = f.started(workflow, tmp_path, work_id="258")

    answer = faber("context", "latest", "--replay", "--dry-run", "--json")
    shown = faber("context", "latest", "--replay", "--dry-run")

    got = json.loads((tmp_path / "got.json").read_text())
    assert run.status == "completed"
    assert answer.document["argv"][1:] == got["argv"]
    assert answer.document["stdin"] == got["stdin"]
    assert "Make it for 258." in shown.out
    assert f"python3 {script} --plain" in shown.out


def test_a_replay_is_the_same_whatever_was_made_since(tmp_path: Path) -> None:
    step: dict[str, object] = {"id": "make", "run": ["echo", "{spec_path}"]}
    step["arguments"] = {"spec": "{spec_path}"}
    run = f.start(f.workflow({"build": [step]}), tmp_path)
    Run.objects.update(artifacts={"spec_path": "first.md"})
    f.work(run)
    words = ("context", "latest", "--replay", "--dry-run", "--json")
    before = faber(*words)

    Run.objects.update(artifacts={"spec_path": "later.md"})

    assert before.document["argv"] == ["echo", "first.md"]
    assert before.document["briefing"]["arguments"] == {"spec": "first.md"}
    assert faber(*words).out == before.out


def test_each_attempt_has_its_package(kept: Run) -> None:
    told = ContextPackage.objects.filter(run=kept).values_list("attempt__step", flat=True)

    assert list(told) == ["write", "make"]
