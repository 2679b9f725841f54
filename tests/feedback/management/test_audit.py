"""The record of decisions: listed, filtered, and checked to be whole."""

import csv
import io
from datetime import timedelta

import pytest
from django.utils import timezone

from feedback.models import FeedbackResponse
from runs.models import Event, Run
from tests import factories as f
from tests.commands import faber

pytestmark = pytest.mark.django_db


@pytest.fixture
def run() -> Run:
    """Revised for Rita, then approved by Berta."""
    run = f.started(f.five_steps())
    f.answer(run, "request_changes", "=cmd|' /C calc'!A1")
    f.work(run)
    f.answer(run, "approve", actor=f.person("Berta"))
    return f.work(run)


def test_the_audit_lists_every_decision(run: Run) -> None:
    items = faber("audit", "--json").document["items"]

    assert [(item["user"], item["response"]) for item in items] == [
        ("Rita", "request_changes"),
        ("Berta", "approve"),
    ]
    assert set(items[0]) == {
        "request_id",
        "run_id",
        "project",
        "type",
        "response",
        "action",
        "comment",
        "user",
        "source",
        "method",
        "received_at",
        "state",
    }


def test_the_audit_is_a_table_for_people(run: Run) -> None:
    header, first, _ = faber("audit").lines

    assert header.split() == ["WHEN", "WHO", "WHERE", "DECIDED", "REQUEST", "RUN", "COMMENT"]
    assert "Rita" in first
    assert run.short_id in first


def test_the_audit_can_be_narrowed(run: Run) -> None:
    other = f.started(f.five_steps())
    f.answer(other, "reject")
    tomorrow = (timezone.now() + timedelta(days=1)).date().isoformat()

    def count(*words: str) -> int:
        return len(faber("audit", "--json", *words).document["items"])

    assert count() == 3
    assert count("--user", "berta") == 1
    assert count("--user", "nobody") == 0
    assert count("--run", run.run_id) == 2
    assert count("--since", "2020-01-01") == 3
    assert count("--since", "2020-01-01T10:00:00+02:00") == 3
    assert count("--since", tomorrow) == 0
    assert count("--user", "Rita", "--run", other.short_id) == 1


def test_a_time_that_is_none_is_wrong_usage() -> None:
    answer = faber("audit", "--since", "yesterday")

    assert answer.code == 2
    assert answer.err.startswith("since: 'yesterday' is not a day or time")


def test_no_cell_of_the_csv_is_a_formula(run: Run) -> None:
    rows = list(csv.DictReader(io.StringIO(faber("audit", "--csv").out)))

    assert [row["comment"] for row in rows] == ["'=cmd|' /C calc'!A1", ""]
    assert rows[0]["user"] == "Rita"


@pytest.mark.parametrize("text", ["=1", "+1", "-1", "@a", "\t=1", "plain"])
def test_every_opening_of_a_formula_is_guarded(run: Run, text: str) -> None:
    FeedbackResponse.objects.update(comment=text)

    comment = next(csv.DictReader(io.StringIO(faber("audit", "--csv").out)))["comment"]

    assert comment == (text if text == "plain" else f"'{text}")


def test_a_record_that_nobody_touched_is_whole(run: Run) -> None:
    answer = faber("audit", "verify", "--json")

    assert (answer.code, answer.document) == (0, {"valid": True, "broken": []})


def test_a_changed_event_is_named(run: Run) -> None:
    event = Event.objects.filter(run=run, type="approval_granted").get()
    event.document["user"] = "Mallory"
    event.save()

    answer = faber("audit", "verify")

    assert answer.code == 4
    assert answer.lines == [f"{run.run_id}: event {event.number} (approval_granted) was changed"]


def test_a_removed_event_is_named(run: Run) -> None:
    Event.objects.filter(run=run, number=3).delete()

    answer = faber("audit", "verify")

    assert answer.code == 4
    assert f"{run.run_id}: event 3 is missing" in answer.lines


def test_a_changed_answer_is_named(run: Run) -> None:
    decision = FeedbackResponse.objects.get(response="approve")
    FeedbackResponse.objects.filter(pk=decision.pk).update(response="reject")

    answer = faber("audit", "verify")

    assert answer.code == 4
    request_id = decision.request.request_id
    assert f"Berta answered 'reject' to {request_id}, but no event tells of it" in answer.out
    assert f"tells of 'approve' to {request_id}, which is not on record" in answer.out


def test_a_removed_answer_is_named(run: Run) -> None:
    decision = FeedbackResponse.objects.get(response="approve")
    decision.delete()

    answer = faber("audit", "verify", "--json")

    assert answer.code == 4
    (fault,) = answer.document["broken"]
    assert "which is not on record" in fault


def test_an_added_answer_is_named(run: Run) -> None:
    decision = FeedbackResponse.objects.get(response="approve")
    other = f.pending(f.started(f.five_steps()))
    decision.pk, decision.request = None, other
    decision.save()

    assert faber("audit", "verify").code == 4
