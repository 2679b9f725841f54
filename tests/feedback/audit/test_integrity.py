"""Violations planted in the database: `audit verify` names each of them."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from django.db import connection, transaction
from pytest_django.fixtures import Settings

from feedback.audit.integrity import faults
from feedback.models import FeedbackRequest, FeedbackResponse
from feedback.requests import recorded
from runs import engine
from runs.accounts import users
from runs.chain import entries, links
from runs.domain.values.actors import Role
from runs.domain.values.events import chain
from runs.engine import history
from runs.models import Artifact, AuditEntry, AuditKind, Event, Run
from tests import factories as f

pytestmark = [pytest.mark.django_db, pytest.mark.database]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Revised once for Rita, then approved by Berta with a comment on a line."""
    asked = f.reviewed_list(tmp_path)
    f.answer(asked.run, "request_changes", "Shorter, please.")
    f.work(asked.run)
    f.answer(asked.run, "approve", "Good.", actor=f.person("Berta"))
    run = f.work(asked.run)
    assert faults() == []
    return run


def decision() -> FeedbackResponse:
    return FeedbackResponse.objects.get(response="approve")


def revision() -> Artifact:
    return Artifact.objects.order_by("pk")[0]


def put_answer(**changed: object) -> Callable[[], object]:
    return lambda: FeedbackResponse.objects.filter(pk=decision().pk).update(**changed)


def put_question(**changed: object) -> Callable[[], object]:
    asked = FeedbackRequest.objects.order_by("pk")
    return lambda: FeedbackRequest.objects.filter(pk=asked[0].pk).update(**changed)


def put_run(**changed: object) -> Callable[[], object]:
    return lambda: Run.objects.update(**changed)


def other_bytes() -> None:
    Artifact.objects.filter(pk=revision().pk).update(content=b"something else")


def text_for_bytes() -> None:
    """As a shell for databases writes it; PostgreSQL makes bytes of it, SQLite does not."""
    with connection.cursor() as cursor:
        cursor.execute("UPDATE faber_runs_artifact SET content = 'something else'")


def filed_under_another() -> None:
    other = users.create("mallory", role=Role.REVIEWER)
    FeedbackResponse.objects.filter(pk=decision().pk).update(user=other)


def other_bytes_and_hash() -> None:
    content = b"something else"
    digest = hashlib.sha256(content).hexdigest()
    Artifact.objects.filter(pk=revision().pk).update(
        content=content, sha256=digest, size=len(content)
    )


def rewritten_and_hashed_again() -> None:
    """As somebody does who knows how events are chained, and has no key."""
    run = Run.objects.get()
    before = ""
    for event in run.events.order_by("number"):
        if event.type == "approval_granted":
            event.document["user"] = "Mallory"
        before = event.hash = chain(before, event.document)
        event.save()
    Run.objects.update(last_event_hash=before)


def cut_history() -> None:
    run = Run.objects.get()
    last = run.events.order_by("-number")[0]
    before = run.events.get(number=last.number - 1)
    last.delete()
    Run.objects.update(last_event_id=before.number, last_event_hash=before.hash)


def nothing_shown() -> None:
    FeedbackRequest.objects.order_by("pk")[0].artifacts.clear()


def question_removed() -> None:
    FeedbackRequest.objects.order_by("pk")[0].delete()


def taken_back() -> None:
    FeedbackResponse.objects.filter(pk=decision().pk).update(state="retracted")


@pytest.mark.parametrize(
    ("plant", "named"),
    [
        (put_answer(identity="user:99"), "the answer 'approve' of Berta"),
        (put_answer(provided_by={"user": "Mallory", "source": "web"}), "'approve' of Mallory"),
        (put_answer(provided_by="nobody knows"), "the answer 'approve' of somebody"),
        (put_answer(received_at="2020-01-01T00:00:00Z"), "the answer 'approve' of Berta"),
        (put_answer(comment="Never seen it."), "the answer 'approve' of Berta"),
        (put_answer(items=[{"path": "list.md", "line": 1, "body": "x"}]), "the answer 'approve'"),
        (put_answer(action="abort"), "the answer 'approve' of Berta"),
        (put_answer(seal="0" * 64), "the answer 'approve' of Berta"),
        (taken_back, "is retracted, which the record does not say"),
        (put_question(prompt="Something harmless?"), "was changed"),
        (put_question(options=[]), "the question fr-"),
        (put_question(reviewers=["mallory"]), "the question fr-"),
        (put_question(quorum=3), "the question fr-"),
        (nothing_shown, "the question fr-"),
        (put_question(own_title="Something harmless"), "was changed"),
        (put_question(max_rounds=9), "was changed"),
        (put_question(agent="nobody"), "was changed"),
        (put_question(status="cancelled"), "is cancelled, which the record does not say"),
        (put_question(status="superseded"), "is superseded, which the record does not say"),
        (put_question(closed_at="2020-01-01T00:00:00Z"), "is answered, which the record does not"),
        (put_answer(held_until="2020-01-01T00:00:00Z"), "the answer 'approve' of Berta"),
        (put_run(started_by_token="other"), "what the run was started with was changed"),
        (lambda: Artifact.objects.update(size=1), "list.md revision 1 was changed"),
        (filed_under_another, "is filed under another account"),
        (other_bytes, "list.md revision 1 was changed"),
        (text_for_bytes, "list.md revision 1 was changed"),
        (other_bytes_and_hash, "list.md revision 1 is not the file that its history tells of"),
        (rewritten_and_hashed_again, "where the run stands was changed, or its history was"),
        (cut_history, "where the run stands was changed, or its history was"),
        (lambda: Run.objects.all().delete(), "the run is gone"),
        (put_run(started_by="Mallory"), "what the run was started with was changed"),
        (put_run(work_id="1"), "what the run was started with was changed"),
        (put_run(status="failed"), "where the run stands was changed"),
        (put_run(approvals={"phase:release": "fr-x"}), "where the run stands was changed"),
        (put_run(plan={"workflow_id": "other"}), "its plan was changed"),
        (question_removed, "is gone"),
        (lambda: decision().delete(), "the answer 'approve' of Berta"),
        (lambda: AuditEntry.objects.filter(kind="decision").update(who="M"), "was changed"),
        (lambda: AuditEntry.objects.filter(number=2).delete(), "The record lacks 2."),
    ],
)
def test_a_planted_violation_is_named(run: Run, plant: Callable[[], object], named: str) -> None:
    plant()

    assert any(named in fault for fault in faults()), faults()


@pytest.mark.parametrize("status", ["answered", "cancelled", "superseded"])
def test_a_question_that_was_closed_by_hand_is_named(status: str) -> None:
    asked = f.pending(f.started(f.five_steps()))
    assert faults() == []

    FeedbackRequest.objects.filter(pk=asked.pk).update(
        status=status, closed_at="2026-01-01T00:00:00Z"
    )

    assert any(f"is {status}, which the record does not say" in fault for fault in faults())


def test_a_decided_question_that_was_opened_again_by_hand_is_named() -> None:
    f.answered(f.started(f.five_steps()), "reject", "No.")
    assert faults() == []

    FeedbackRequest.objects.update(status="pending", closed_at=None)

    assert any("is pending, which the record does not say" in fault for fault in faults())


@pytest.mark.parametrize("status", ["pending", "answered", "superseded"])
def test_a_withdrawn_question_that_was_changed_by_hand_is_named(status: str) -> None:
    run = f.started(f.five_steps())
    engine.cancel(run.pk, reason="Not needed.", actor=f.STARTER)
    assert faults() == []

    FeedbackRequest.objects.update(status=status)

    assert any(f"is {status}, which the record does not say" in fault for fault in faults())


def test_a_withdrawal_at_another_time_is_named() -> None:
    run = f.started(f.five_steps())
    engine.cancel(run.pk, reason="Not needed.", actor=f.STARTER)

    FeedbackRequest.objects.update(closed_at="2026-01-01T00:00:00Z")

    assert any("is cancelled, which the record does not say" in fault for fault in faults())


def test_a_question_that_was_asked_again_stands_as_it_should(tmp_path: Path) -> None:
    run = f.spec_reviewed(tmp_path)
    (tmp_path / f.SPEC).write_text("# Another spec\n")
    f.answer(run, "approve")

    assert list(run.requests.values_list("status", flat=True)) == ["superseded", "pending"]
    assert faults() == []


def test_questions_of_the_first_form_stay_whole(run: Run) -> None:
    """Their lines know nothing of what came since; how they stand is looked at all the same."""
    asked = f.pending(f.started(f.five_steps()))
    line = AuditEntry.objects.get(kind="question", request_id=asked.request_id)
    line.form, line.digest = 1, recorded.question_digest(asked, [], 1)
    line.code = entries.code_of(line)
    line.save()
    assert faults() == []

    FeedbackRequest.objects.filter(pk=asked.pk).update(status="answered")

    assert any("is answered, which the record does not say" in fault for fault in faults())


def _answer_of(run: Run) -> FeedbackResponse:
    return FeedbackResponse.objects.get(request__run=run, response="approve")


def _hashed_again(run: Run) -> None:
    before = ""
    for event in run.events.order_by("number"):
        event.document = {**event.document, "user": "Mallory"}
        before = event.hash = chain(before, event.document)
        event.save()
    Run.objects.filter(pk=run.pk).update(last_event_hash=before)


def _put(**changed: object) -> Callable[[Run], object]:
    return lambda run: FeedbackResponse.objects.filter(pk=_answer_of(run).pk).update(**changed)


def _ask(**changed: object) -> Callable[[Run], object]:
    return lambda run: run.requests.update(**changed)


EACH_KIND: dict[str, Callable[[Run], object]] = {
    "who": _put(provided_by={"user": "Mallory", "source": "web"}),
    "what": _put(response="reject"),
    "words": _put(comment="Never seen it."),
    "line comments": _put(items=[{"path": "list.md", "line": 1, "body": "x"}]),
    "when": _put(received_at="2020-01-01T00:00:00Z"),
    "channel": _put(provided_by={"user": "Berta", "source": "api"}),
    "seal": _put(seal="0" * 64),
    "question": _ask(prompt="Something harmless?"),
    "options": _ask(options=[{"value": "approve", "action": "continue"}]),
    "how a question stands": _ask(status="cancelled"),
    "file": lambda run: run.revisions.update(content=b"something else"),
    "removed run": lambda run: Run.objects.filter(pk=run.pk).delete(),
    "events rewritten and hashed again": _hashed_again,
}


def test_three_of_each_kind_are_each_named(tmp_path: Path) -> None:
    runs = []
    for number in range(3):
        folder = tmp_path / str(number)
        folder.mkdir()
        asked = f.reviewed_list(folder)
        f.answer(asked.run, "approve", "Good.", actor=f.person("Berta"))
        runs.append(f.work(asked.run))
    assert faults() == []

    for kind, plant in EACH_KIND.items():
        with transaction.atomic():
            for run in runs:
                plant(run)
            found = faults()
            transaction.set_rollback(True)
        for run in runs:
            assert any(run.run_id in fault for fault in found), f"{kind} of {run.run_id}"
    assert faults() == []


def test_a_run_that_was_slipped_in_is_named(run: Run) -> None:
    run.pk, run.uuid, run.run_id = None, "0" * 31 + "1", "acme/app/slipped-in"
    run.save(force_insert=True)

    assert "acme/app/slipped-in: the run is not on record" in faults()


def test_an_answer_that_was_slipped_in_is_named(run: Run) -> None:
    forged = decision()
    forged.pk, forged.decides, forged.identity = None, False, "user:7"
    forged.save(force_insert=True)

    assert any("is not on record" in fault for fault in faults())


def test_lines_that_change_places_are_named(run: Run) -> None:
    AuditEntry.objects.filter(number=2).update(number=1000)
    AuditEntry.objects.filter(number=3).update(number=2)
    AuditEntry.objects.filter(number=1000).update(number=3)

    assert any("does not follow the one before it" in fault for fault in faults())


def test_a_line_written_without_the_key_is_named(run: Run, settings: Settings) -> None:
    kept = settings.FABER_AUDIT_KEY
    settings.FABER_AUDIT_KEY = "a key that somebody made up for this"
    entries.write(AuditKind.DECISION, what="approve")
    settings.FABER_AUDIT_KEY = kept

    assert any("was written with another key" in fault for fault in faults())


def forging(settings: Settings, forge: Callable[[], object]) -> None:
    """Do something as somebody who knows the code of FABER and has not its key."""
    kept = settings.FABER_AUDIT_KEY
    settings.FABER_AUDIT_KEY = "a key that somebody made up for this"
    forge()
    settings.FABER_AUDIT_KEY = kept


def test_a_line_that_was_coded_anew_is_named(run: Run, settings: Settings) -> None:
    line = AuditEntry.objects.filter(kind="decision")[0]
    line.who = "Mallory"

    forging(settings, lambda: setattr(line, "code", entries.code_of(line)))
    line.save()

    assert any(f"Line {line.number} of the record" in fault for fault in faults())


def test_a_history_whose_head_was_coded_anew_is_named(run: Run, settings: Settings) -> None:
    rewritten_and_hashed_again()
    run = f.fresh(run)

    forging(settings, lambda: setattr(run, "head_code", history.head_code(run)))
    run.save()

    assert any("where the run stands was changed" in fault for fault in faults())


def test_a_checkpoint_that_was_signed_anew_is_refused(run: Run, settings: Settings) -> None:
    forged: list[links.Checkpoint] = []

    forging(settings, lambda: forged.append(links.checkpoint()))

    assert "The checkpoint was changed or written with another key." in faults(forged[0])


def test_a_checkpoint_finds_an_end_that_was_cut(run: Run) -> None:
    entries.write(AuditKind.SIGN_IN, who="mallory", what="signed in")
    kept = links.checkpoint()
    AuditEntry.objects.order_by("-number")[0].delete()

    assert faults() == []
    (fault,) = faults(kept)
    assert (
        fault == f"The record ends at {kept.number - 1}; on {kept.at} it went on to {kept.number}."
    )


def test_a_checkpoint_finds_a_run_that_was_removed_with_all_its_traces(tmp_path: Path) -> None:
    f.started(f.five_steps())
    gone = f.started(f.five_steps())
    kept = links.checkpoint()
    AuditEntry.objects.filter(run_id=gone.run_id).delete()
    gone.delete()

    assert faults(kept)


def test_a_checkpoint_holds_for_a_record_that_went_on(run: Run) -> None:
    kept = links.checkpoint()
    f.started(f.five_steps())

    assert faults(kept) == []


def test_a_checkpoint_that_was_changed_is_refused(run: Run) -> None:
    kept = json.loads(json.dumps(links.checkpoint().shape()))
    forged = links.Checkpoint(**{**kept, "number": 1})

    assert "The checkpoint was changed or written with another key." in faults(forged)


def test_events_of_an_ended_run_cannot_be_cut_with_an_older_code(run: Run) -> None:
    """Whoever kept an older row of the run puts it back, with the history it had then."""
    again = f.started(f.five_steps())
    older = Run.objects.filter(pk=again.pk).values("head_code", "status", "position", "error")[0]
    events = again.last_event_id, again.last_event_hash
    f.answered(again, "reject", "no")
    Event.objects.filter(run=again, number__gt=events[0]).delete()
    Run.objects.filter(pk=again.pk).update(
        **older, last_event_id=events[0], last_event_hash=events[1], completed_at=None
    )

    assert any("are on record, not all are there" in fault for fault in faults())
