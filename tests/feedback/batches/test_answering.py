"""Many answers in one action: each reaches its run, none reaches another."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.db import DatabaseError
from pytest_django import DjangoAssertNumQueries, Settings

from feedback.batches import aggregate, answer_lines
from feedback.batches.answer_lines import LineOutcome
from feedback.batches.answering import RowResult, answer_listed, answer_text, respond_many
from feedback.models import FeedbackRequest, FeedbackResponse
from feedback.requests import answers as answering
from runs import engine
from runs.domain.values.actors import Role, Source
from runs.domain.values.status import RunStatus
from runs.models import Batch, Run
from tests import batches as b
from tests import factories as f

pytestmark = pytest.mark.django_db

RITA = f.person()


@pytest.fixture
def batch() -> Batch:
    return b.new_batch()


def outcomes(results: list[RowResult]) -> list[tuple[int, str]]:
    return [(result.line, result.outcome.value) for result in results]


def answers(run: Run) -> list[str]:
    return list(
        FeedbackResponse.objects.filter(request__run=run).values_list("response", flat=True)
    )


def test_the_aggregate_of_twelve_runs(batch: Batch) -> None:
    b.twelve(batch)

    report = aggregate.aggregate(batch)

    counts = ("total_runs", "completed", "awaiting_feedback", "error", "cancelled", "in_progress")
    assert [report[key] for key in counts] == [12, 3, 6, 2, 0, 1]
    assert report["all_stopped"] is False
    entries: Any = report["runs"]
    assert [entry["feedback_type"] for entry in entries[:6]] == list(b.TYPES)
    assert [entry["status"] for entry in entries[6:]] == [
        *["completed"] * 3,
        *["error"] * 2,
        "in_progress",
    ]
    for entry in entries[:6]:
        asked = FeedbackRequest.objects.get(run__run_id=entry["run_id"])
        assert entry["request_id"] == asked.request_id
        assert entry["feedback_request"]["options"] == [o.value for o in asked.choices]


def test_the_prompt_of_twelve_runs(batch: Batch) -> None:
    runs = b.twelve(batch)
    b.set_branch(runs["100"], "feat/100-csv")

    text = aggregate.prompt(batch)

    assert "11 of 12 workflow runs stopped so far:\n- 3 completed successfully\n" in text
    assert "**Run #100** (feat/100-csv):\n- Type: Approval\n- Question: " in text
    assert "**Run #105**:\n- Type: Error Resolution\n- Error: it broke\n" in text
    assert "- Options: [1] retry [2] skip [3] abort" in text
    assert "**Run #120**:\n- Status: Failed\n- Error: The run left its plan.\n" in text
    assert "- Options: [1] blue [2] dark green" in text


def test_one_text_with_two_bad_lines(batch: Batch) -> None:
    runs = b.twelve(batch)
    lines = [f"#{100 + n}: {b.FITTING[kind]}" for n, kind in enumerate(b.TYPES) if n != 2]
    text = "\n".join([*lines, "#999: approve", "whatever", "120: retry", "Run #121: abort"])
    untouched = {key: f.fresh(runs[key]).last_event_id for key in ("102", "110", "130")}

    results = answer_text(batch, text, f.person(groups=frozenset({"operator"})))

    assert outcomes(results) == [
        *((n, "applied") for n in range(1, 6)),
        (6, "unknown_run"),
        (7, "unreadable"),
        (8, "applied"),
        (9, "applied"),
    ]
    assert [result.run_id for result in results[:5]] == [
        runs[key].run_id for key in ("100", "101", "103", "104", "105")
    ]
    for n, kind in enumerate(b.TYPES):
        expected = [] if n == 2 else [b.FITTING[kind]]
        assert answers(runs[str(100 + n)]) == expected
    assert {key: f.fresh(runs[key]).last_event_id for key in untouched} == untouched
    assert f.pending(runs["102"]).type == "confirmation"
    assert f.fresh(runs["120"]).status == "in_progress"
    assert f.fresh(runs["121"]).status == "cancelled"


def test_the_next_round_belongs_to_the_same_batch(batch: Batch) -> None:
    run = b.asks(batch, "error_resolution", "1")

    for _ in range(3):
        assert outcomes(answer_text(batch, "#1: retry", RITA)) == [(1, "applied")]
        assert f.work(run).status == "awaiting_feedback"
    answer_text(batch, "#1: skip", RITA)
    f.work(run)

    assert aggregate.aggregate(batch)["completed"] == 1
    assert answers(run) == ["retry", "retry", "retry", "skip"]


def test_the_channel_is_on_record_and_the_person_stays_the_same(batch: Batch) -> None:
    run = b.asks(batch, "approval", "1")

    answer_text(batch, "1: approve because it is good", RITA)

    response = FeedbackResponse.objects.get()
    assert response.provided_by == {
        "user": "Rita",
        "source": "parallel_coordination",
        "method": "session",
        "account": "rita",
        "coordinator_id": batch.batch_id,
    }
    assert response.comment == "because it is good"
    assert response.identity == RITA.identity
    received = run.events.get(type="feedback_received").document
    assert received["source"] == "parallel_coordination"
    assert received["metadata"]["provided_by"]["coordinator_id"] == batch.batch_id


def test_an_answer_for_a_batch_is_not_held(batch: Batch, settings: Settings) -> None:
    settings.FABER_UNDO_SECONDS = 5
    run = b.asks(batch, "approval", "1")

    answer_text(batch, "1: approve", RITA)

    assert f.fresh(run).status == "in_progress"


def test_two_runs_on_one_work_id_are_never_guessed(batch: Batch) -> None:
    first, second = (b.asks(batch, "approval", "7") for _ in range(2))

    (result,) = answer_text(batch, "#7: approve", RITA)

    assert result.outcome is LineOutcome.AMBIGUOUS
    assert first.run_id in result.message
    assert second.run_id in result.message
    assert not FeedbackResponse.objects.exists()
    answer_text(batch, f"{second.uuid}: approve", RITA)
    assert (answers(first), answers(second)) == ([], ["approve"])


def test_a_run_of_another_batch_is_unknown_here(batch: Batch) -> None:
    other = b.asks(b.new_batch(batch_id="coord-20261116-000000"), "approval", "1")

    (by_work_id,) = answer_text(batch, "1: approve", RITA)
    (by_id,) = answer_text(batch, f"{other.run_id}: approve", RITA)

    assert by_work_id.outcome is by_id.outcome is LineOutcome.UNKNOWN_RUN
    assert answers(other) == []


def test_a_run_answered_elsewhere_meanwhile_says_so(batch: Batch) -> None:
    run = b.asks(batch, "approval", "1")
    known = aggregate.read(batch)
    f.answer(run, "reject", actor=f.person("Otto"))

    (result,) = respond_many(known, answer_lines.read("1: approve", known.members), RITA)

    assert result.outcome is LineOutcome.ALREADY_ANSWERED
    assert "Otto chose reject" in result.message
    assert answers(run) == ["reject"]


def test_a_run_that_goes_on_with_somebodys_answer_says_whose(batch: Batch) -> None:
    run = b.asks(batch, "approval", "1")
    f.answer(run, "approve", actor=f.person("Otto"))

    (result,) = answer_text(batch, "1: approve", RITA)

    assert result.outcome is LineOutcome.ALREADY_ANSWERED
    assert "Otto already chose approve" in result.message
    f.work(run)
    (result,) = answer_text(batch, "1: approve", RITA)
    assert result.outcome is LineOutcome.NOT_AWAITING


def test_an_answer_is_bound_to_what_its_author_saw(batch: Batch) -> None:
    run = b.asks(batch, "approval", "1")
    known = aggregate.read(batch)
    read = answer_lines.read("1: approve", known.members)

    (result,) = respond_many(known, read, RITA, seals={run.run_id: "another"})

    assert result.outcome is LineOutcome.STALE
    assert answers(run) == []


def test_one_that_cannot_be_recorded_does_not_stop_the_others(
    batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [b.asks(batch, "approval", str(n)) for n in range(3)]
    broken, respond = f.pending(runs[1]).request_id, answering.respond

    def respond_or_break(request_id: str, *args: Any, **more: Any) -> FeedbackResponse:
        if request_id == broken:
            raise DatabaseError("disk full")
        return respond(request_id, *args, **more)

    monkeypatch.setattr("feedback.batches.answering.respond", respond_or_break)

    results = answer_text(batch, "all: approve", RITA)

    assert [r.outcome.value for r in results] == ["applied", "failed", "applied"]
    assert [answers(run) for run in runs] == [["approve"], [], ["approve"]]


def test_who_may_not_answer_is_told_for_each_run(batch: Batch) -> None:
    mine = b.asks(batch, "approval", "1", reviewers=["rita"])
    other = b.asks(batch, "approval", "2", reviewers=["hugo"])

    results = answer_text(batch, "all: approve", RITA)

    assert [r.outcome.value for r in results] == ["applied", "not_allowed"]
    assert (answers(mine), answers(other)) == (["approve"], [])


def test_a_git_name_does_not_become_an_account(batch: Batch) -> None:
    run = b.asks(batch, "approval", "1", reviewers=["hugo"])
    pretender = replace(f.person("hugo"), source=Source.CLI, account="eve")

    (result,) = answer_text(batch, "1: approve", pretender)

    assert result.outcome is LineOutcome.NOT_ALLOWED
    assert answers(run) == []


def test_failed_runs_are_for_those_who_may_steer(batch: Batch) -> None:
    run = b.failed(batch, "1")

    (result,) = answer_text(batch, "1: retry", RITA)

    assert result.outcome is LineOutcome.NOT_ALLOWED
    assert f.fresh(run).status == "failed"


def test_a_failed_run_is_not_skipped(batch: Batch) -> None:
    b.failed(batch, "1")

    (result,) = answer_text(batch, "1: skip", f.STARTER)

    assert result.outcome is LineOutcome.INVALID_RESPONSE
    assert "retry, abort" in result.message


def test_a_failed_run_that_somebody_sent_on_is_left_alone(batch: Batch) -> None:
    run = b.failed(batch, "1")
    known = aggregate.read(batch)
    engine.resume_stopped(run.pk, f.STARTER)

    (result,) = respond_many(known, answer_lines.read("1: abort", known.members), f.STARTER)

    assert result.outcome is LineOutcome.NOT_AWAITING
    assert f.fresh(run).status == "in_progress"


def test_a_quorum_counts_people_not_channels(batch: Batch) -> None:
    run = b.asks(batch, "approval", "1", quorum=2)
    f.answer(run, "approve", actor=RITA)

    (again,) = answer_text(batch, "1: approve", RITA)
    assert again.outcome is LineOutcome.ALREADY_ANSWERED
    answer_text(batch, "1: approve", f.person("Otto"))

    assert f.fresh(run).status == "in_progress"


def test_answers_of_a_program(batch: Batch) -> None:
    b.asks(batch, "review", "1")
    b.asks(batch, "clarification", "2")

    results = answer_listed(
        batch,
        {
            "1": {"response": "request_changes", "comment": "Shorter."},
            "2": {"response": "SQLite"},
            "3": {"response": "approve"},
        },
        RITA,
    )

    assert [result.shape()["result"] for result in results] == ["applied", "applied", "unknown_run"]
    assert results[2].shape()["run_id"] is None
    assert set(FeedbackResponse.objects.values_list("response", "comment")) == {
        ("request_changes", "Shorter."),
        ("SQLite", ""),
    }


def test_an_answer_in_its_undo_time_is_progress(batch: Batch, settings: Settings) -> None:
    settings.FABER_UNDO_SECONDS = 5
    f.answer(b.asks(batch, "approval", "1"), "approve", actor=f.person(user_id=None))

    report = aggregate.aggregate(batch)

    assert (report["awaiting_feedback"], report["in_progress"]) == (0, 1)
    (result,) = answer_text(batch, "1: reject", f.person("Otto"))
    assert result.outcome is LineOutcome.ALREADY_ANSWERED


def test_a_batch_is_read_in_as_many_queries_whatever_its_size(
    batch: Batch, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for n in range(8):
        b.asks(batch, "approval", str(n))
    aggregate.read(batch)

    with django_assert_num_queries(2):
        aggregate.read(batch)


def test_two_hundred_answers_each_reach_their_own_run(batch: Batch) -> None:
    """Every second one is rejected, so that an answer for a neighbour would show."""
    runs = [b.asks(batch, "approval", str(1000 + n)) for n in range(200)]
    said = ["approve" if n % 2 else "reject" for n in range(200)]
    lines = [f"#{run.work_id}: {word} for {run.uuid}" for run, word in zip(runs, said, strict=True)]

    results = answer_text(batch, "\n".join(reversed(lines)), RITA)

    assert {result.outcome for result in results} == {LineOutcome.APPLIED}
    assert FeedbackResponse.objects.count() == 200
    for run, word in zip(runs, said, strict=True):
        response = FeedbackResponse.objects.get(request__run=run)
        assert (response.response, response.comment) == (word, f"for {run.uuid}")
        after = f.fresh(run)
        if word == "reject":
            assert after.state is RunStatus.CANCELLED
        else:
            heard = after.attempts.get(status="queued").feedback or {}
            assert heard["comment"] == f"for {run.uuid}"
            assert after.state is RunStatus.IN_PROGRESS


def test_a_viewer_answers_nothing(batch: Batch) -> None:
    b.asks(batch, "approval", "1")

    (result,) = answer_text(batch, "all: approve", f.person(groups=frozenset({Role.VIEWER.value})))

    assert result.outcome is LineOutcome.NOT_ALLOWED


def test_an_answer_to_a_file_that_changed_is_asked_again_and_its_line_says_so(
    batch: Batch, tmp_path: Path
) -> None:
    run = f.spec_reviewed(tmp_path)
    Run.objects.filter(pk=run.pk).update(batch=batch)
    (tmp_path / f.SPEC).write_text("# Another spec\n")

    (result,) = answer_text(batch, "#258: approve", RITA)

    assert result.outcome is LineOutcome.APPLIED
    assert "approve, but the run asks again: specs/spec.md changed after" in result.message
    assert f.pending(run).artifacts.get().revision == 2
