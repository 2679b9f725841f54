"""A lease is renewed as long as its worker lives, and counts from before it was asked for."""

import threading
import time
from collections.abc import Callable

import pytest
from django.db import InterfaceError, OperationalError, connection
from pytest_django import Settings

from runs import engine
from runs.engine import Claim
from runs.models import StepAttempt
from runs.worker.advance import Nobody
from runs.worker.lease import Lease
from tests import factories as f

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.database]


@pytest.fixture
def claim(settings: Settings) -> Claim:
    settings.FABER_LEASE_SECONDS = 1.2
    claim = engine.claim(f.start(f.five_steps()).pk, "holder")
    assert claim
    return claim


def until(condition: Callable[[], object]) -> None:
    ends = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < ends, "it did not happen in time"
        time.sleep(0.01)


def lease_end(claim: Claim) -> object:
    return StepAttempt.objects.values_list("lease_until", flat=True).get(pk=claim.attempt.pk)


def is_renewed(claim: Claim) -> Callable[[], bool]:
    before = lease_end(claim)
    return lambda: lease_end(claim) != before


def test_a_hold_begins_before_the_lease_is_asked_for(claim: Claim) -> None:
    lease = Lease(claim, Nobody().line)

    assert lease.hold().until == claim.since + 1.2
    assert claim.since < time.monotonic()


def test_a_lease_is_renewed_and_the_hold_with_it(claim: Claim) -> None:
    with Lease(claim, Nobody().line) as lease:
        first = lease.hold().until

        until(is_renewed(claim))
        until(lambda: lease.hold().until > first)


@pytest.mark.parametrize("error", [OperationalError("gone"), InterfaceError("closed")], ids=str)
def test_a_lease_that_cannot_be_renewed_is_tried_again_and_holds_no_longer(
    error: Exception, claim: Claim, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep, failures = engine.keep, iter([error, error])

    def failing(attempt_pk: int, worker: str) -> bool:
        if failure := next(failures, None):
            raise failure
        tried.append(lease.hold().until)
        return keep(attempt_pk, worker)

    tried: list[float] = []
    monkeypatch.setattr(engine, "keep", failing)

    with Lease(claim, Nobody().line) as lease:
        first, patience = lease.hold()
        until(lambda: lease.hold().patience > patience)  # whoever cannot know stands still
        until(lambda: tried)
        assert tried[0] == first
        until(lambda: lease.hold().until > first)
        until(lambda: lease.hold().patience == patience)


def test_whoever_waits_for_the_databases_answer_does_not_know_either(
    claim: Claim, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered = threading.Event()
    monkeypatch.setattr(engine, "keep", lambda *_: answered.wait(30))

    with Lease(claim, Nobody().line) as lease:
        patience = lease.hold().patience
        until(lambda: lease.hold().patience > patience)
        answered.set()
        until(lambda: lease.hold().patience == patience)


def test_an_answer_that_comes_after_the_lease_it_gives_lets_the_step_stand_still(
    claim: Claim, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when a machine was stopped while it asked: only the next answer can be held on to."""
    asked: list[float] = []
    answered = threading.Event()

    def slow(*_: object) -> bool:
        asked.append(time.monotonic())
        if len(asked) > 1:
            return answered.wait(30)
        until(lambda: time.monotonic() > asked[0] + 1.3)
        return True

    monkeypatch.setattr(engine, "keep", slow)

    with Lease(claim, Nobody().line) as lease:
        patience = lease.hold().patience
        until(lambda: len(asked) == 2)

        assert lease.hold().until < time.monotonic()
        assert lease.hold().patience > patience
        answered.set()
        until(lambda: lease.hold().patience == patience)


@pytest.mark.postgres
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no connection to lose")
def test_a_lease_outlives_the_connection_it_was_renewed_on(claim: Claim) -> None:
    with Lease(claim, Nobody().line):
        until(is_renewed(claim))
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
            assert cursor.fetchone()[0] > 0

        until(is_renewed(claim))


def test_a_step_that_somebody_else_has_is_stopped(claim: Claim) -> None:
    with Lease(claim, Nobody().line) as lease:
        f.lose(claim.run)

        until(lease.should_stop)


def test_leases_of_one_process_are_renewed_by_one_thread(claim: Claim) -> None:
    other = engine.claim(f.start(f.five_steps()).pk, "another")
    assert other

    with Lease(claim, Nobody().line), Lease(other, Nobody().line):
        until(is_renewed(claim))
        until(is_renewed(other))

        assert [thread.name for thread in threading.enumerate()].count("leases") == 1


def test_a_lease_whose_renewal_hangs_keeps_no_other_from_being_renewed(
    claim: Claim, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = engine.claim(f.start(f.five_steps()).pk, "another")
    assert other
    keep, asked, answered = engine.keep, threading.Event(), threading.Event()

    def hanging(attempt_pk: int, worker: str) -> bool:
        if attempt_pk == claim.attempt.pk:
            asked.set()
            return answered.wait(30)
        return keep(attempt_pk, worker)

    monkeypatch.setattr(engine, "keep", hanging)

    with Lease(other, Nobody().line):
        with Lease(claim, Nobody().line):
            assert asked.wait(30)
        until(is_renewed(other))
    answered.set()
