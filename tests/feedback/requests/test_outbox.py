"""Whoever sends something keeps its turn as long as it lives, and not much longer."""

import time
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import InterfaceError

from feedback.models import Delivery
from feedback.requests import outbox
from runs.models import clock

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.database]

TURN = timedelta(seconds=2)


def until(condition: Callable[[], object], *, seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.02)


@pytest.fixture
def taken() -> Delivery:
    made = Delivery.objects.create(kind="reply", mark="reply-1", repository="Acme/App", issue=1)
    row = outbox.take(Delivery.objects.all(), made.pk, turn=TURN)
    assert row is not None
    return row


def ends() -> object:
    return Delivery.objects.values_list("next_try_at", flat=True).get()


def test_a_turn_is_kept_while_something_is_being_sent(taken: Delivery) -> None:
    first = ends()

    with outbox.Turn(taken, TURN) as turn:
        until(lambda: ends() != first)
        assert not turn.is_over
        assert outbox.take(Delivery.objects.all(), taken.pk, turn=TURN) is None


def test_a_turn_that_somebody_else_has_is_not_kept(taken: Delivery) -> None:
    Delivery.objects.update(attempts=taken.attempts + 2)
    theirs = ends()

    with outbox.Turn(taken, timedelta(seconds=0.2)) as turn:
        until(lambda: turn.is_over)

    assert ends() == theirs


def test_a_turn_ends_when_the_database_does_not_take_it(
    taken: Delivery, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> None:
        raise InterfaceError("connection already closed")

    monkeypatch.setattr(clock, "now", refuse)

    with outbox.Turn(taken, timedelta(seconds=0.2)) as turn:
        until(lambda: turn.is_over)
