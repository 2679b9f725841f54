"""The second round shows what became of the first, and what the same failure came to before."""

from pathlib import Path

import pytest

from feedback.desk import past_failures, rounds
from feedback.models import FeedbackRequest
from feedback.requests.answers import Words, respond
from runs.models import Run
from tests import factories as f

pytestmark = pytest.mark.django_db


def item(line: int, body: str) -> dict[str, object]:
    return {"path": "list.md", "revision": 1, "line": line, "end_line": line, "body": body}


def second_round(tmp_path: Path, *items: dict[str, object]) -> FeedbackRequest:
    first = f.reviewed_list(tmp_path)
    words = Words(comment="Nearly.", items=items)
    respond(first.request_id, "request_changes", actor=f.person(), words=words)
    return f.pending(f.work(first.run))


def _rows(line: rounds.LedgerLine) -> list[str]:
    rows = (row for hunk in line.hunks for row in hunk.rows)
    return ["".join(piece.text for piece in row.pieces) for row in rows]


def test_the_first_round_has_no_past(tmp_path: Path) -> None:
    shown = rounds.rounds_of(f.reviewed_list(tmp_path))

    assert (shown.earlier, shown.ledger) == ([], [])


def test_each_item_meets_its_disposition_and_the_change_that_answers_it(tmp_path: Path) -> None:
    asked = second_round(tmp_path, item(3, "red"), item(4, "green"), item(6, "by card?"))

    shown = rounds.rounds_of(asked)

    assert asked.round == 2
    assert [line.outcome for line in shown.ledger] == ["done", "declined", "unanswered"]
    assert shown.unanswered == 1
    declined = shown.ledger[1].line.disposition
    assert declined
    assert declined.reason == "Pears are in season."
    texts = [" ".join(_rows(line)) for line in shown.ledger]
    assert "Buy apples. (red)" in texts[0]
    assert "Buy pears. (green)" in texts[1]
    assert texts[2] == ""


def test_earlier_rounds_tell_who_said_what(tmp_path: Path) -> None:
    (earlier,) = rounds.rounds_of(second_round(tmp_path, item(3, "red"))).earlier

    assert (earlier.number, earlier.answer.who, earlier.answer.comment) == (1, "Rita", "Nearly.")


def test_items_about_a_file_that_is_gone_still_have_their_disposition(tmp_path: Path) -> None:
    asked = second_round(tmp_path, {**item(3, "red"), "path": "list.md"})
    asked.artifacts.clear()

    (line,) = rounds.rounds_of(asked).ledger

    assert line.is_elsewhere
    assert line.outcome == "done"


# Failures


def failed(python: str = "tests.steps:fail_first") -> Run:
    return f.started(f.workflow({"build": [f.step("x", python)]}))


def test_a_failure_that_happened_before_tells_how_it_ended() -> None:
    for response in ("retry", "retry", "abort"):
        f.answered(failed(), response)
    again = f.pending(failed())

    memory = past_failures.memory_of(again)

    assert [(t.response, t.told) for t in memory.tallies] == [
        ("retry", "worked 2 of 2 times"),
        ("abort", "was chosen 1 time"),
    ]
    assert [past.ended for past in memory.newest] == ["ended the run", "worked", "worked"]


def test_skipping_worked_when_the_run_was_completed_without_the_step() -> None:
    phases: dict[str, list[f.Json] | f.Json] = {
        "build": [f.step("x", "tests.steps:fail"), f.step("y")]
    }
    for _ in range(2):
        assert f.answered(f.started(f.workflow(phases)), "skip").status == "completed"
    gated = {**phases, "release": {"require_approval": True, "steps": [f.step("z")]}}
    f.answered(f.started(f.workflow(gated)), "skip")

    memory = past_failures.memory_of(f.pending(f.started(f.workflow(phases))))

    assert [tally.told for tally in memory.tallies] == ["worked 2 of 2 times"]
    assert [past.ended for past in memory.newest] == ["outcome unknown", "worked", "worked"]


def test_a_retry_that_failed_again_is_told() -> None:
    run = f.answered(failed("tests.steps:fail"), "retry")

    memory = past_failures.memory_of(f.pending(run))

    assert [past.ended for past in memory.newest] == ["failed again"]


def test_another_failure_and_other_questions_have_no_memory() -> None:
    f.answered(failed(), "retry")
    other = f.pending(f.started(f.workflow({"build": [f.step("y", "tests.steps:fail")]})))
    review = f.pending(f.started(f.five_steps()))

    assert not past_failures.memory_of(other).newest
    assert not past_failures.memory_of(review).newest
