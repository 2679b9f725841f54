"""The record of decisions: listed, filtered, and checked to be whole."""

import csv
import io
import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from feedback.models import FeedbackResponse
from runs.chain import entries
from runs.domain.values.actors import Source
from runs.models import AuditEntry, AuditKind, Event, Run
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
    assert {
        *("kind", "at", "who", "account", "channel", "what", "comment", "run_id", "request_id"),
        *("reason", "imported", "override", "timed_out"),
    } <= set(items[0])
    assert [item["what"] for item in items] == ["request_changes", "approve"]


def test_the_audit_is_a_table_for_people(run: Run) -> None:
    header, first, _ = faber("audit").lines

    assert header.split() == [
        *("WHEN", "KIND", "WHO", "WHERE", "WHAT", "REQUEST", "RUN", "COMMENT"),
    ]
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
    assert answer.err.startswith("since: 'yesterday' is not a date or time")


def test_no_cell_of_the_csv_is_a_formula(run: Run) -> None:
    rows = list(csv.DictReader(io.StringIO(faber("audit", "--csv").out)))

    assert [row["comment"] for row in rows] == ["'=cmd|' /C calc'!A1", ""]
    assert rows[0]["who"] == "Rita"


@pytest.mark.parametrize("text", ["=1", "+1", "-1", "@a", "\t=1", "plain"])
def test_every_opening_of_a_formula_is_guarded(run: Run, text: str) -> None:
    AuditEntry.objects.filter(kind="decision").update(comment=text)

    comment = next(csv.DictReader(io.StringIO(faber("audit", "--csv").out)))["comment"]

    assert comment == (text if text == "plain" else f"'{text}").replace("\t", " ")


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
    assert f"the answer 'reject' of Berta to {request_id} was changed" in answer.out
    assert f"no event tells of the answer 'reject' of Berta to {request_id}" in answer.out
    assert f"tells of 'approve' to {request_id}, which is not on record" in answer.out


def test_a_removed_answer_is_named(run: Run) -> None:
    decision = FeedbackResponse.objects.get(response="approve")
    decision.delete()

    answer = faber("audit", "verify", "--json")

    assert answer.code == 4
    undecided, gone, untold = answer.document["broken"]
    assert "is answered, which the record does not say" in undecided
    assert "the answer 'approve' of Berta" in gone
    assert "is gone" in gone
    assert "which is not on record" in untold


def test_an_added_answer_is_named(run: Run) -> None:
    decision = FeedbackResponse.objects.get(response="approve")
    other = f.pending(f.started(f.five_steps()))
    decision.pk, decision.request = None, other
    decision.save()

    assert faber("audit", "verify").code == 4


def test_a_checkpoint_is_written_and_held_against_the_record(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "kept.json"
    assert faber("audit", "checkpoint", str(file)).code == 0
    assert faber("audit", "verify", "--checkpoint", str(file)).code == 0

    last = AuditEntry.objects.order_by("-number")[0]
    entries.write(AuditKind.SIGN_IN, who="later")
    AuditEntry.objects.filter(pk=last.pk).delete()

    assert faber("audit", "verify", "--checkpoint", str(file)).code == 4


def test_a_checkpoint_goes_to_standard_output(run: Run) -> None:
    shape = json.loads(faber("audit", "checkpoint").out)

    assert shape == faber("audit", "checkpoint", "--json").document | {
        "at": shape["at"],
        "signature": shape["signature"],
    }


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"number": 1}'])
def test_what_is_no_checkpoint_is_wrong_usage(run: Run, tmp_path: Path, content: str) -> None:
    file = tmp_path / "kept.json"
    file.write_text(content)

    assert faber("audit", "verify", "--checkpoint", str(file)).code == 2
    assert faber("audit", "verify", "--checkpoint", str(tmp_path / "none")).code == 2


def test_the_account_stands_beside_a_git_name(run: Run) -> None:
    actor = replace(f.person("Linus", source=Source.CLI, method="git_config"), account="rita")
    f.answer(f.started(f.five_steps()), "reject", actor=actor)

    assert faber("audit", "--user", "Linus").lines[1].count("Linus (rita)") == 1
    (item,) = faber("audit", "--user", "Linus", "--json").document["items"]
    assert (item["who"], item["account"]) == ("Linus", "rita")
