"""When a step is lost: its lease ran out, and nobody renewed it while somebody looked on."""

from datetime import timedelta
from typing import NamedTuple

import pytest
from django.utils import timezone
from pytest_django import Settings

from runs import engine
from runs.engine import recovery
from runs.models import Run, StepAttempt
from runs.worker import lookout as looking
from runs.worker import sweep as steps
from runs.worker.lookout import Lookout
from tests import factories as f

pytestmark = [pytest.mark.django_db, pytest.mark.database]


class Watch:
    """A monotonic clock that goes on when it is told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> Watch:
    settings.FABER_LEASE_SECONDS = 12  # so that patience is three seconds
    watch = Watch()
    monkeypatch.setattr(looking, "time", watch)
    return watch


class Held(NamedTuple):
    run: Run
    attempt: StepAttempt


@pytest.fixture
def held() -> Held:
    run = f.start(f.five_steps())
    claim = engine.claim(run.pk, "holder")
    assert claim
    return Held(run, claim.attempt)


def run_out(held: Held, *, ago: float = 1) -> None:
    ends = timezone.now() - timedelta(seconds=ago)
    StepAttempt.objects.filter(pk=held.attempt.pk).update(lease_until=ends)


def looks(lookout: Lookout, watch: Watch, *pauses: float) -> list[int]:
    """How many steps each look after such a pause finds lost."""
    found = []
    for pause in pauses:
        watch.now += pause
        found.append(len(lookout.lost()))
    return found


def test_a_step_is_lost_when_its_lease_stays_as_it_is_for_a_while(watch: Watch, held: Held) -> None:
    lookout = Lookout()
    assert looks(lookout, watch, 2, 2) == [0, 0]  # the lease holds
    run_out(held)

    assert looks(lookout, watch, 2, 1, 1, 1) == [0, 0, 0, 1]


def test_whoever_renews_between_two_looks_keeps_the_step(watch: Watch, held: Held) -> None:
    lookout = Lookout()
    run_out(held, ago=60)  # or the clock was moved on by a minute
    assert looks(lookout, watch, 2, 2) == [0, 0]

    engine.keep(held.attempt.pk, "holder")

    assert looks(lookout, watch, 2, 2, 2) == [0, 0, 0]


def test_a_pause_in_which_nobody_looked_on_is_no_reason(watch: Watch, held: Held) -> None:
    lookout = Lookout()
    run_out(held)
    assert looks(lookout, watch, 1) == [0]

    assert looks(lookout, watch, 3600) == [0]  # this process was stopped, the holder maybe too

    assert looks(lookout, watch, 1) == [1]


def test_a_lease_of_a_clock_that_was_set_back_is_looked_at_too(watch: Watch, held: Held) -> None:
    lookout = Lookout()
    run_out(held, ago=-3600)

    assert looks(lookout, watch, 1, 2, 2) == [0, 0, 1]


def test_what_was_given_back_is_free_at_once(watch: Watch, held: Held) -> None:
    recovery.release("holder", recovery.CUT_OFF)

    assert looks(Lookout(), watch, 0) == [1]
    steps.sweep(Lookout())
    assert [a.status for a in held.run.attempts.order_by("pk")] == ["lost", "queued"]
    assert held.run.attempts.get(status="lost").reason == recovery.CUT_OFF


def test_a_step_renewed_after_the_last_look_is_not_taken_away(watch: Watch, held: Held) -> None:
    lookout = Lookout()
    run_out(held)
    looks(lookout, watch, 1, 2)
    watch.now += 2
    (lost,) = lookout.lost()
    engine.keep(held.attempt.pk, "holder")

    assert not engine.bring_back(lost.run_pk, seen=lost.lease_until)

    assert held.run.attempts.get().status == "running"


def test_nobody_takes_a_step_by_a_single_look_at_the_clock(held: Held) -> None:
    run_out(held, ago=3600)

    assert engine.claim(held.run.pk, "another") is None
    assert held.run.attempts.get().worker == "holder"


def test_being_cut_off_counts_as_no_crash(held: Held) -> None:
    for number in range(1, 6):
        recovery.release("holder", recovery.CUT_OFF)
        claim = engine.claim(held.run.pk, "holder")
        assert claim
        assert claim.attempt.number == number + 1

    assert not held.run.requests.exists()
