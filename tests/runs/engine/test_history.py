"""A history that somebody changed by hand: the run stops with a sentence, and nothing is lost."""

import pytest
from django_q.models import OrmQ

from feedback.audit import integrity
from feedback.models import FeedbackResponse
from runs import engine
from runs.domain.values.errors import Refused
from runs.models import Event, Run
from runs.worker import advance
from tests import factories as f

pytestmark = [pytest.mark.django_db, pytest.mark.database]


def slip_in(run: Run, ahead: int = 1, **fields: object) -> Event:
    """A row that nobody here wrote, where one of the next events belongs."""
    event = Event.objects.filter(run=run).latest("number")
    event.pk, event.number = None, f.fresh(run).last_event_id + ahead
    for name, value in fields.items():
        setattr(event, name, value)
    event.save(force_insert=True)
    return event


def changed(run: Run) -> str:
    run = f.fresh(run)
    assert run.status == "failed"
    assert not run.attempts.filter(status__in=("queued", "running")).exists()
    return run.error


@pytest.mark.parametrize("ahead", [1, 2, 3])
def test_an_answer_is_kept_and_the_run_fails_with_a_sentence(ahead: int) -> None:
    run = f.started(f.five_steps())
    known = run.last_event_id
    slip_in(run, ahead)
    jobs = OrmQ.objects.count()

    f.answer(run, "approve")

    told = f"Its history was changed: {known} events were recorded, {known + 1} are there."
    assert changed(run) == told
    assert FeedbackResponse.objects.get().response == "approve"
    assert OrmQ.objects.count() == jobs
    numbers = list(run.events.order_by("number").values_list("number", flat=True))
    assert numbers[-1] == f.fresh(run).last_event_id
    assert f.told(run)[-1] == "workflow_error"
    assert "feedback_received" in f.told(run)


def test_a_step_that_ends_keeps_its_result_and_no_other_begins() -> None:
    run = f.start(f.workflow({"build": [f.step("one"), f.step("two")]}))
    slip_in(run)

    f.work(run)

    assert "Its history was changed" in changed(run)
    first, second = run.attempts.order_by("pk")
    assert (first.status, first.message) == ("finished", "one done")
    assert (second.status, second.started_at is not None) == ("cancelled", True)


def test_a_step_that_would_end_the_run_does_not() -> None:
    run = f.start(f.workflow({"build": [f.step("one")]}))
    slip_in(run)

    f.work(run)

    assert "Its history was changed" in changed(run)
    assert f.fresh(run).completed_at is None


def test_a_step_that_asks_does_not_ask() -> None:
    run = f.start(f.workflow({"build": [f.step("one", requires_approval=True)]}))
    slip_in(run)

    f.work(run)

    assert "Its history was changed" in changed(run)
    assert not run.requests.exists()


def test_what_is_asked_already_is_withdrawn() -> None:
    run = f.started(f.workflow({"build": [f.step("one", requires_approval=True, quorum=2)]}))
    slip_in(run)

    f.answer(run, "approve")

    assert "Its history was changed" in changed(run)
    assert run.requests.get().status == "cancelled"


def test_a_dead_workers_step_is_not_begun_again() -> None:
    run = f.start(f.workflow({"build": [f.step("one")]}))
    assert engine.claim(run.pk, advance.worker_name())
    slip_in(run)

    f.lose(run)

    assert "Its history was changed" in changed(run)


def test_such_a_run_can_be_cancelled_and_an_operator_may_resume_it() -> None:
    runs = [f.started(f.five_steps()) for _ in range(2)]
    for run in runs:
        slip_in(run)
    engine.cancel(runs[0].pk, reason="broken", actor=f.STARTER)
    f.answer(runs[1], "approve")

    engine.resume_stopped(runs[1].pk, f.STARTER)

    assert f.fresh(runs[0]).status == "cancelled"
    assert f.fresh(runs[1]).status == "in_progress"
    with pytest.raises(Refused):
        engine.cancel(runs[0].pk, reason="again", actor=f.STARTER)


def test_the_record_names_what_was_slipped_in_before_and_after_the_run_failed() -> None:
    run = f.started(f.five_steps())
    event = slip_in(run, type="approval_granted")
    named = f"{run.run_id}: event {event.number} (approval_granted) was changed"

    assert named in integrity.faults()
    f.answer(run, "approve")
    assert named in integrity.faults()
