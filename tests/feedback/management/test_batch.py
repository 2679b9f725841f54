"""Batches on the command line: start, show, answer, wait."""

import json
from pathlib import Path

import pytest

from feedback.models import FeedbackResponse
from runs.engine import batches, turns
from runs.models import Batch, Run
from tests import batches as b
from tests import factories as f
from tests.commands import faber

pytestmark = pytest.mark.django_db


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "small.json"
    file.write_text(json.dumps(f.five_steps()))
    return str(file)


def work_all(batch: Batch) -> None:
    while run := batch.runs.filter(status="in_progress").first():
        f.work(run)
        turns.give(batch.project_id)


def test_a_batch_is_started_for_the_workers(file: str) -> None:
    answer = faber("batch", "start", file, "--work-id", "1,2,3", "--concurrency", "2", "--json")

    batch = Batch.objects.get()
    assert answer.code == 0
    assert answer.document["batch_id"] == batch.batch_id
    assert [run["status"] for run in answer.document["runs"]] == [
        "in_progress",
        "in_progress",
        "pending",
    ]
    assert "No worker is running" in answer.err


def test_a_run_for_several_work_ids_is_a_batch(file: str) -> None:
    answer = faber("run", file, "--work-id", "1,2", "--detach")

    batch = Batch.objects.get()
    assert answer.lines == [batch.batch_id, batches.batch_url(batch)]
    assert set(batch.runs.values_list("work_id", flat=True)) == {"1", "2"}


def test_a_run_for_several_targets_is_a_batch_too(file: str) -> None:
    faber("run", file, "--target", "api", "--target", "web")

    assert set(Run.objects.values_list("target", flat=True)) == {"api", "web"}


def test_a_repeated_work_id_is_wrong_usage(file: str) -> None:
    answer = faber("batch", "start", file, "--work-id", "1,2,1")

    assert answer.code == 2
    assert "1 is listed 2 times" in answer.err
    assert not Run.objects.exists()


def test_show_prints_the_aggregated_prompt(file: str) -> None:
    faber("batch", "start", file, "--work-id", "1,2")
    batch = Batch.objects.get()
    work_all(batch)

    answer = faber("batch", "show", batch.batch_id)

    assert answer.code == 0
    assert answer.out.startswith(
        "## Parallel Workflow Status\n\n2 workflow runs completed initial execution:\n"
        "- 2 awaiting feedback (see below)\n\n### Feedback Needed\n\n**Run #1**:\n- Type: Review\n"
    )
    assert faber("batch", "show", batch.batch_id, "--json").document["all_stopped"] is True


def test_answer_reads_lines_and_tells_of_each() -> None:
    batch = b.new_batch()
    b.asks(batch, "approval", "1")
    b.asks(batch, "error_resolution", "2")

    answer = faber(
        "batch",
        "answer",
        batch.batch_id,
        stdin="#1: approve\n2: retry because flaky\n#9: approve\n",
    )

    assert answer.code == 7
    assert answer.lines == [
        "1: applied: Run #1: approve.",
        "2: applied: Run #2: retry.",
        "3: unknown_run: This batch has no run '9'.",
    ]
    assert FeedbackResponse.objects.get(response="retry").comment == "because flaky"
    assert {row.source for row in FeedbackResponse.objects.all()} == {"parallel_coordination"}


def test_answer_reads_a_file_and_prints_json(tmp_path: Path) -> None:
    batch = b.new_batch()
    run = b.asks(batch, "approval", "1")
    file = tmp_path / "answers.txt"
    file.write_text("all: approve\n")

    answer = faber("batch", "answer", batch.batch_id, str(file), "--json")

    assert answer.code == 0
    assert answer.document == {
        "results": [
            {
                "line": 1,
                "run_id": run.run_id,
                "result": "applied",
                "message": "Run #1: approve.",
            }
        ]
    }


def test_answer_without_a_line_is_wrong_usage() -> None:
    assert faber("batch", "answer", b.new_batch().batch_id, stdin="\n").code == 2


@pytest.mark.parametrize(
    ("kinds", "code"),
    [(("approval",), 3), (("failed",), 4), (("done",), 0), (("failed", "approval"), 3)],
)
def test_wait_ends_by_what_the_runs_need(kinds: tuple[str, ...], code: int) -> None:
    batch = b.new_batch()
    for number, kind in enumerate(kinds):
        make = {"failed": b.failed, "done": b.done}.get(kind)
        work_id = str(number)
        _ = make(batch, work_id) if make else b.asks(batch, kind, work_id)

    answer = faber("batch", "wait", batch.batch_id)

    assert answer.code == code
    assert answer.out.startswith("## Parallel Workflow Status")


def test_wait_stays_until_the_last_has_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    batch = b.new_batch()
    b.done(batch, "1")
    run = b.going(batch, "2")
    monkeypatch.setattr("feedback.management.commands.batch.time.sleep", lambda _: f.work(run))

    answer = faber("batch", "wait", batch.batch_id)

    assert answer.code == 0
    assert "1 of 2 runs have stopped." in answer.err
    assert "2 workflow runs completed initial execution" in answer.out


def test_wait_gives_up_in_time() -> None:
    batch = b.new_batch()
    b.going(batch, "1")

    answer = faber("batch", "wait", batch.batch_id, "--timeout", "0")

    assert answer.code == 7
    assert "0 of 1 runs have stopped; the others are still running." in answer.err


def test_a_batch_nobody_knows() -> None:
    assert faber("batch", "show", "coord-20261116-ffffff").code == 6


# Runs that were not started together


def test_any_runs_are_shown_answered_and_waited_for() -> None:
    first, second = (f.started(f.five_steps(), work_id=work_id) for work_id in ("124", "125"))
    runs = ("--run", f"{first.run_id},{str(second.uuid)[:8]}")

    shown = faber("batch", "show", *runs, "--json")
    text = faber("batch", "show", *runs).out
    waited = faber("batch", "wait", *runs, "--json")
    answered = faber("batch", "answer", *runs, stdin="#124: approve\n")

    assert (shown.document["total_runs"], shown.document["awaiting_feedback"]) == (2, 2)
    assert shown.document["batch_id"] is None
    assert "**Run #124**" in text
    assert (answered.code, answered.out) == (0, "1: applied: Run #124: approve.\n")
    assert waited.code == 3


def test_the_answers_to_any_runs_may_be_in_a_file(tmp_path: Path) -> None:
    run = f.started(f.five_steps(), work_id="124")
    (tmp_path / "answers.txt").write_text("#124: approve\n")

    answered = faber("batch", "answer", "--run", run.run_id, str(tmp_path / "answers.txt"))

    assert answered.code == 0, answered.err


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["show"], 2),
        (["show", "--run", ""], 2),
        (["show", "--run", "00000000"], 6),
        (["show", "coord-20261116-a1b2c3", "--run", "latest"], 2),
    ],
)
def test_a_batch_or_runs_must_be_named(words: list[str], code: int) -> None:
    f.started(f.five_steps())

    assert faber("batch", *words).code == code
