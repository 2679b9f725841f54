"""Whoever sends something keeps its turn as long as it lives, and not much longer."""

import time
from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from django.db import InterfaceError
from django_q.models import OrmQ

from feedback.models import Delivery
from feedback.requests import outbox
from runs.jobs.table import Job
from runs.models import clock

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.database]

TURN = timedelta(seconds=2)


def until(condition: Callable[[], object], *, seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.02)


def is_lost(turn: outbox.Turn) -> bool:
    try:
        turn.check()
    except outbox.TurnLostError:
        return True
    return False


@pytest.fixture
def taken() -> Delivery:
    made = Delivery.objects.create(kind="reply", mark="reply-1", repository="Acme/App", issue=1)
    row = outbox.take(Delivery.objects.all(), made.pk, turn=TURN)
    assert row is not None
    return row


def ends() -> datetime:
    return Delivery.objects.values_list("next_try_at", flat=True).get()


def test_a_turn_is_kept_while_something_is_being_sent(taken: Delivery) -> None:
    first = ends()

    with outbox.Turn(taken, TURN) as turn:
        until(lambda: ends() != first)
        turn.check()
        assert outbox.take(Delivery.objects.all(), taken.pk, turn=TURN) is None


def test_a_turn_that_somebody_else_has_is_not_kept(taken: Delivery) -> None:
    Delivery.objects.update(attempts=taken.attempts + 2)
    theirs = ends()

    with outbox.Turn(taken, timedelta(seconds=0.2)) as turn:
        until(lambda: is_lost(turn))

    assert ends() == theirs


def test_a_turn_ends_when_the_database_does_not_take_it(
    taken: Delivery, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> None:
        raise InterfaceError("connection already closed")

    monkeypatch.setattr(clock, "now", refuse)

    with outbox.Turn(taken, timedelta(seconds=0.2)) as turn:
        until(lambda: is_lost(turn))


def test_a_turn_that_another_took_is_lost_at_once(taken: Delivery) -> None:
    with outbox.Turn(taken, TURN) as turn:
        # To everybody else its end has come, because the clock jumped.
        Delivery.objects.update(next_try_at=clock.now() - TURN)
        assert outbox.take(Delivery.objects.all(), taken.pk, turn=TURN)

        assert is_lost(turn)


def test_whoever_lives_keeps_its_row_although_the_clock_jumped(taken: Delivery) -> None:
    late = clock.now() - timedelta(minutes=10)
    Delivery.objects.update(next_try_at=late)

    outbox.catch_up(Delivery.objects.all(), Job.DELIVER)

    # The next one to have it comes later than the next sign of life.
    assert outbox.take(Delivery.objects.all(), taken.pk, turn=TURN) is None
    (job,) = OrmQ.objects.all()
    assert job.lock > clock.now()
    with outbox.Turn(taken, TURN) as turn:
        until(lambda: ends() > job.lock)
        assert not is_lost(turn)


def test_a_row_of_the_dead_is_taken_by_the_job_that_the_sweep_queued(taken: Delivery) -> None:
    Delivery.objects.update(next_try_at=clock.now() - timedelta(minutes=1))

    outbox.catch_up(Delivery.objects.all(), Job.DELIVER)
    outbox.catch_up(Delivery.objects.all(), Job.DELIVER)

    assert OrmQ.objects.count() == 1
    until(lambda: outbox.take(Delivery.objects.all(), taken.pk, turn=TURN))
