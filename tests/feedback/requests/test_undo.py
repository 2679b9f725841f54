"""The undo time: an answer takes effect or is taken back, and whoever is first decides."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone
from django_q.models import OrmQ
from pytest_django import Settings

from faber_site.runtime.sweep import sweep
from feedback.audit import integrity
from feedback.models import FeedbackResponse
from feedback.requests import answers
from feedback.requests.answers import respond
from runs import engine
from runs.domain.values.actors import Actor, Source
from runs.domain.values.errors import AlreadyAnswered, NotAllowed, Refused
from runs.domain.values.status import RequestStatus
from runs.models import Run
from tests import factories as f

pytestmark = [pytest.mark.django_db, pytest.mark.database]

State = FeedbackResponse.State
Status = RequestStatus


@pytest.fixture(autouse=True)
def undo_time(settings: Settings) -> None:
    settings.FABER_UNDO_SECONDS = 5


@pytest.fixture
def run() -> Run:
    return f.started(f.five_steps())


@pytest.fixture
def held(run: Run) -> FeedbackResponse:
    return f.answer(run, "approve", "Good.")


def test_a_click_in_the_browser_waits_before_the_run_goes_on(
    run: Run, held: FeedbackResponse
) -> None:
    told = f.told(run)

    assert held.state == State.HELD
    assert held.request.status == Status.ANSWERED
    assert f.fresh(run).status == "awaiting_feedback"
    assert "feedback_received" not in told
    assert "approval_granted" not in told
    assert not run.attempts.filter(status="queued").exists()


def test_its_job_is_hidden_until_the_time_is_over(held: FeedbackResponse) -> None:
    job = OrmQ.objects.latest("id")

    assert job.func() == "feedback.requests.answers.take_effect"
    assert job.lock == held.held_until


@pytest.mark.parametrize("source", [each for each in Source if each is not Source.WEB])
def test_other_channels_go_at_once(run: Run, source: Source) -> None:
    f.answer(run, "approve", actor=f.person(source=source))

    assert f.fresh(run).status == "in_progress"


def test_without_undo_time_a_click_goes_at_once(run: Run, settings: Settings) -> None:
    settings.FABER_UNDO_SECONDS = 0

    f.answer(run, "approve")

    assert f.fresh(run).status == "in_progress"


def test_when_the_time_is_over_the_run_goes_on_as_if_just_answered(
    run: Run, held: FeedbackResponse
) -> None:
    answers.take_effect(held.pk)

    assert f.work(run).status == "completed"
    told = f.told(run)
    assert told.index("feedback_received") < told.index("approval_granted")
    attempt = run.attempts.get(step="three")
    assert attempt.feedback
    assert attempt.feedback["comment"] == "Good."
    event = run.events.get(type="feedback_received")
    assert (event.document["user"], event.document["source"]) == ("Rita", "web")


def test_it_takes_effect_once_however_often_the_job_comes(run: Run, held: FeedbackResponse) -> None:
    assert answers.take_effect(held.pk)
    assert not answers.take_effect(held.pk)

    assert f.told(run).count("feedback_received") == 1


def test_taken_back_the_request_is_open_and_can_be_answered_anew(
    run: Run, held: FeedbackResponse
) -> None:
    answers.retract(held.request.request_id, f.person())
    answers.take_effect(held.pk)

    assert f.pending(run) == held.request
    assert "feedback_received" not in f.told(run)
    again = f.answer(run, "request_changes", "Shorter, please.")
    assert again.state == State.HELD
    assert [r.state for r in held.request.responses.all()] == [State.RETRACTED, State.HELD]


@pytest.mark.parametrize("first", ["worker", "person"])
def test_the_claim_and_not_the_clock_decides_the_race(
    run: Run, held: FeedbackResponse, first: str
) -> None:
    if first == "worker":
        assert answers.take_effect(held.pk)
        with pytest.raises(Refused, match="Too late"):
            answers.retract(held.request.request_id, f.person())
        assert f.fresh(run).status == "in_progress"
    else:
        answers.retract(held.request.request_id, f.person())
        assert not answers.take_effect(held.pk)
        assert f.fresh(run).status == "awaiting_feedback"


def test_go_now_ends_the_time_early_and_may_come_late(run: Run, held: FeedbackResponse) -> None:
    answers.apply_now(held.request.request_id, f.person())
    answers.apply_now(held.request.request_id, f.person())

    assert f.told(run).count("feedback_received") == 1
    assert f.fresh(run).status == "in_progress"


@pytest.mark.parametrize("act", [answers.retract, answers.apply_now])
def test_only_its_author_can_undo_or_hasten(
    run: Run, held: FeedbackResponse, act: Callable[[str, Actor], object]
) -> None:
    with pytest.raises(NotAllowed, match="Only Rita"):
        act(held.request.request_id, f.person("Sven"))

    held.refresh_from_db()
    assert held.state == State.HELD


def test_nothing_to_undo_is_a_sentence(run: Run) -> None:
    with pytest.raises(Refused, match="No answer to undo"):
        answers.retract(f.pending(run).request_id, f.person())


def test_others_are_refused_while_it_waits(run: Run, held: FeedbackResponse) -> None:
    with pytest.raises(AlreadyAnswered, match="Rita chose approve"):
        respond(held.request.request_id, "reject", actor=f.person("Sven"))


def test_a_run_cancelled_meanwhile_stays_cancelled(run: Run, held: FeedbackResponse) -> None:
    engine.cancel(run.pk, reason="wrong branch", actor=f.STARTER)

    assert not answers.take_effect(held.pk)
    held.refresh_from_db()
    assert held.state == State.RETRACTED
    assert held.request.__class__.objects.get(pk=held.request_id).status == Status.CANCELLED
    assert f.fresh(run).status == "cancelled"


def test_the_sweep_finds_an_answer_whose_job_is_gone(run: Run, held: FeedbackResponse) -> None:
    OrmQ.objects.all().delete()
    sweep()
    assert f.fresh(run).status == "awaiting_feedback"

    FeedbackResponse.objects.update(held_until=timezone.now() - timedelta(seconds=30))
    sweep()

    assert f.fresh(run).status == "in_progress"


def test_an_undo_time_does_not_grow_with_a_clock_that_was_set_back(
    run: Run, held: FeedbackResponse
) -> None:
    OrmQ.objects.all().delete()
    FeedbackResponse.objects.update(held_until=timezone.now() + timedelta(hours=1))

    sweep()

    assert f.fresh(run).status == "in_progress"


def test_the_audit_expects_no_event_of_an_answer_that_took_no_effect(
    run: Run, held: FeedbackResponse
) -> None:
    assert integrity.faults() == []

    answers.retract(held.request.request_id, f.person())
    assert integrity.faults() == []


def test_an_answer_short_of_its_quorum_is_not_held() -> None:
    gated = f.step("two", requires_approval=True, quorum=2)
    run = f.started(f.workflow({"build": [gated]}))

    assert f.answer(run, "approve").state == State.TAKEN
    assert f.answer(run, "approve", actor=f.person("Sven")).state == State.HELD
