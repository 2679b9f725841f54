"""What time asks for is done once, on the site's clock, also after days without a worker."""

import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from types import ModuleType
from typing import Any
from uuid import uuid4

import pytest
from django.db import connections
from django_q.models import OrmQ
from pytest_django import Settings

from feedback.audit import integrity, lines
from feedback.audit.decisions import DecisionFilter
from feedback.models import FeedbackRequest, FeedbackResponse
from feedback.requests.answers import respond
from feedback.requests.deadlines import acting
from feedback.requests.request_json import request_shape
from runs.domain.values.actors import TIMEOUT
from runs.domain.values.errors import AlreadyAnswered, FaberError, NotAllowed
from runs.models import Project, Run
from tests import factories as f

pytestmark = [pytest.mark.django_db, pytest.mark.database]

HOUR = timedelta(hours=1)


class Clock:
    """The site's clock, shifted by hand."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from runs.models import clock

        self._now = clock.now
        self.ahead = timedelta()
        monkeypatch.setattr("runs.models.clock.now", lambda: self._now() + self.ahead)

    def set(self, moment: datetime) -> None:
        self.ahead = moment - self._now()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


Heard = list[tuple[str, tuple[str, ...]]]


@pytest.fixture
def heard(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Heard:
    kept: Heard = []
    module = ModuleType(f"channel_{uuid4().hex}")
    for name in ("opened", "changed", "run_moved"):
        setattr(module, name, lambda *_: None)
    for name in ("reminded", "escalated"):
        setattr(module, name, lambda _request, to, name=name: kept.append((name, tuple(to))))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    settings.FABER_CHANNELS = (*settings.FABER_CHANNELS, module.__name__)
    return kept


def asked(**step: Any) -> Run:
    one = f.step("one", requires_approval=True, **step)
    return f.started(f.workflow({"build": [one, f.step("two")]}))


def swept() -> None:
    """The sweep queues it, and a worker of the short lane does it."""
    OrmQ.objects.all().delete()
    acting.catch_up()
    jobs = [job for job in OrmQ.objects.all() if job.func() == acting.act.__module__ + ".act"]
    for job in jobs:
        assert job.key.startswith("faber.short")
        acting.act(*job.task["args"])


# Reminders


def test_nobody_is_reminded_before_the_time(clock: Clock, heard: Heard) -> None:
    asked(remind="1h")

    clock.ahead = timedelta(minutes=59)
    swept()

    assert heard == []


def test_reviewers_are_reminded_again_each_time_it_has_passed(clock: Clock, heard: Heard) -> None:
    run = asked(remind="1h", reviewers=["rita"])

    for minutes in (61, 62, 119, 121, 181):
        clock.ahead = timedelta(minutes=minutes)
        swept()

    assert heard == [("reminded", ("rita",))] * 3
    assert f.pending(run).reminded == 3


def test_after_days_without_a_worker_there_is_one_reminder(clock: Clock, heard: Heard) -> None:
    run = asked(remind="1h")
    request = f.pending(run)

    clock.ahead = timedelta(days=3, minutes=5)
    swept()
    swept()

    assert heard == [("reminded", ())]
    assert f.pending(run).remind_at == request.requested_at + timedelta(days=3, hours=1)


def test_a_decided_request_reminds_nobody(clock: Clock, heard: Heard) -> None:
    run = asked(remind="1h")
    f.answer(run, "approve")

    clock.ahead = 2 * HOUR
    swept()

    assert heard == []


def test_two_workers_remind_once(clock: Clock, heard: Heard) -> None:
    request = f.pending(asked(remind="1h"))
    clock.ahead = HOUR + timedelta(seconds=1)

    acting.act(request.pk)
    acting.act(request.pk)

    assert len(heard) == 1


@pytest.mark.parametrize(
    ("friday", "monday"),
    [
        # Over a weekend in which Berlin's clocks go forward, go back, and stay.
        ("2026-03-27T15:30", "2026-03-30T07:30"),
        ("2026-10-23T14:30", "2026-10-26T08:30"),
        ("2026-11-20T15:30", "2026-11-23T08:30"),
    ],
)
def test_business_hours_hold_a_reminder_back(
    clock: Clock, heard: Heard, monkeypatch: pytest.MonkeyPatch, friday: str, monday: str
) -> None:
    Project.objects.create(
        name="Acme/App", business_hours="mon-fri 09:00-17:00", timezone="Europe/Berlin"
    )
    begin = datetime.fromisoformat(friday).replace(tzinfo=UTC)
    then = datetime.fromisoformat(monday).replace(tzinfo=UTC)
    monkeypatch.setattr("runs.models.clock.read_at", lambda _row: begin)
    monkeypatch.setattr("runs.models.clock.noted", lambda: begin)
    asked(remind="1h")

    for moment, reminders in ((then - timedelta(minutes=1), 0), (then + timedelta(seconds=1), 1)):
        clock.set(moment)
        swept()
        assert len(heard) == reminders


def test_a_lost_job_is_queued_again(clock: Clock, heard: Heard) -> None:
    asked(remind="1h")
    clock.ahead = HOUR + timedelta(seconds=1)
    OrmQ.objects.all().delete()

    acting.catch_up()
    acting.catch_up()
    assert OrmQ.objects.count() == 1

    OrmQ.objects.all().delete()
    clock.ahead += timedelta(seconds=31)
    swept()
    assert len(heard) == 1


# Escalation


def test_others_are_asked_too_and_may_answer(clock: Clock, heard: Heard) -> None:
    run = asked(reviewers=["rita"], escalate={"after": "2h", "to": ["olga"]})
    olga = f.person("Olga")
    with pytest.raises(NotAllowed):
        f.answer(run, "approve", actor=olga)

    clock.ahead = 2 * HOUR + timedelta(seconds=1)
    swept()
    swept()

    assert heard == [("escalated", ("olga",))]
    request = f.pending(run)
    assert request.reviewers == ["rita", "olga"]
    assert request_shape(request)["escalated_to"] == ["olga"]
    assert integrity.faults() == []
    assert f.answer(run, "approve", actor=olga).decides


def test_what_anybody_may_answer_stays_so(clock: Clock) -> None:
    run = asked(escalate={"after": "2h", "to": ["olga"]})

    clock.ahead = 3 * HOUR
    swept()

    assert f.pending(run).reviewers == []
    assert f.pending(run).escalated_to == ["olga"]


# Timeouts


def test_what_nobody_decided_ends_as_the_workflow_says(clock: Clock) -> None:
    run = asked(due="4h", on_timeout="reject")

    clock.ahead = 4 * HOUR - timedelta(seconds=30)
    swept()
    assert f.fresh(run).status == "awaiting_feedback"

    clock.ahead = 4 * HOUR + timedelta(seconds=1)
    swept()

    given = FeedbackResponse.objects.get()
    assert (given.response, given.timed_out) == ("reject", True)
    assert given.provided_by == {"user": "policy", "source": "policy", "method": "timeout"}
    assert given.comment.startswith("Nobody decided by ")
    assert f.fresh(run).status == "cancelled"
    assert "approval_denied" in f.told(run)
    assert integrity.faults() == []


def test_a_timeout_is_told_apart_everywhere(clock: Clock) -> None:
    asked(due="4h", on_timeout="reject")
    clock.ahead = 5 * HOUR
    swept()

    response = request_shape(FeedbackRequest.objects.get())["response"]
    assert isinstance(response, dict)
    assert response["timed_out"] is True
    assert response["provided_by"]["source"] == "policy"
    assert response["provided_by"]["method"] == "timeout"
    [line] = lines.found(DecisionFilter(kind="decision"))
    assert lines.shape(line)["timed_out"] is True


def test_silence_approves_only_with_the_workflows_own_key(clock: Clock) -> None:
    run = asked(due="1h", on_timeout="approve", allow_timeout_approval=True)

    clock.ahead = 2 * HOUR
    swept()

    assert f.fresh(run).status == "in_progress"
    assert FeedbackResponse.objects.get().timed_out


def test_silence_fills_no_quorum_and_needs_none(clock: Clock) -> None:
    run = asked(due="1h", on_timeout="approve", allow_timeout_approval=True, quorum=2)
    f.answer(run, "approve")

    clock.ahead = 2 * HOUR
    swept()

    assert f.fresh(run).status == "in_progress"
    assert [given.decides for given in FeedbackResponse.objects.all()] == [False, True]


def test_an_imported_run_rests(clock: Clock) -> None:
    run = asked(due="1h", on_timeout="reject")
    Run.objects.filter(pk=run.pk).update(on_hold=True)

    clock.ahead = 2 * HOUR
    swept()

    assert f.fresh(run).status == "awaiting_feedback"


def test_whoever_comes_after_a_timeout_is_told(clock: Clock) -> None:
    run = asked(due="1h", on_timeout="reject")
    request_id = f.pending(run).request_id
    clock.ahead = 2 * HOUR
    swept()

    with pytest.raises(AlreadyAnswered, match="nobody had decided in time, so reject was taken"):
        respond(request_id, "approve", actor=f.person())


def test_a_timeout_after_an_answer_changes_nothing(clock: Clock) -> None:
    run = asked(due="1h", on_timeout="reject")
    request = f.pending(run)
    f.answer(run, "approve")

    clock.ahead = 2 * HOUR
    acting.act(request.pk)

    assert FeedbackResponse.objects.get().response == "approve"


def test_code_that_nobody_saw_is_not_approved_by_silence(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    from runs.domain.values.errors import Stale

    run = asked(due="1h", on_timeout="approve", allow_timeout_approval=True)

    def refuse(*_: object, **__: object) -> None:
        raise Stale(seal="other")

    monkeypatch.setattr("feedback.requests.answers.respond", refuse)
    clock.ahead = 2 * HOUR
    swept()

    assert f.pending(run).on_timeout == ""


def test_a_broken_mark_of_a_timeout_is_found(clock: Clock) -> None:
    asked(due="1h", on_timeout="reject")
    clock.ahead = 2 * HOUR
    swept()

    by = {"user": "policy", "source": "policy", "method": "session"}
    FeedbackResponse.objects.update(provided_by=by)
    FeedbackRequest.objects.update(on_timeout="approve")

    [question, answer] = integrity.faults()
    assert "the question" in question
    assert "was changed" in question
    assert "was changed" in answer


# The race


def _try(request_id: str, number: int) -> str:
    try:
        if number % 2:
            given = respond(request_id, "approve", actor=f.person(f"Person {number}"))
        else:
            given = respond(request_id, "reject", actor=TIMEOUT)
    except FaberError as error:
        return type(error).__name__
    else:
        return f"taken by {given.source}"
    finally:
        connections.close_all()


@pytest.mark.django_db(transaction=True)
@pytest.mark.timeout(120)
def test_a_person_and_the_timeout_at_once_leave_one_answer_and_tell_the_others() -> None:
    for _ in range(5):
        run = asked(due="1h", on_timeout="reject")
        request_id = f.pending(run).request_id
        connections.close_all()
        with ThreadPoolExecutor(max_workers=4) as pool:
            results = Counter(pool.map(_try, [request_id] * 4, range(4)))

        given = FeedbackResponse.objects.get(request__request_id=request_id)
        assert results == {f"taken by {given.source}": 1, "AlreadyAnswered": 3}
        run = f.fresh(run)
        assert run.status == ("cancelled" if given.timed_out else "in_progress")
        assert f.told(run).count("feedback_received") == 1
