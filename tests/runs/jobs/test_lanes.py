"""How many workers for steps there are: a few that wait, more as steps come, never too many."""

import time
from types import SimpleNamespace
from typing import Any, cast

import pytest
from pytest_django import Settings

from runs.jobs.database import lanes
from runs.jobs.database.lanes import SPARE, STAY_SECONDS, Bell, Lanes, WorkerSeat
from runs.jobs.table import Lane

MOST = 4


class Guard(Lanes):
    """Whose workers are only noted."""

    def __init__(self, *busy: bool) -> None:
        self.pool: list[Any] = []
        self._short_of_idle_at = time.monotonic()
        for is_busy in busy:
            self.spawn_worker()
            self.pool[-1].seat.is_busy.value = is_busy

    def spawn_worker(self) -> None:
        seat = WorkerSeat(Lane.STEPS, cast("Any", None), Bell())
        self.pool.append(SimpleNamespace(seat=seat, is_alive=lambda: True))

    def leaving(self) -> list[bool]:
        return [bool(worker.seat.may_leave.value) for worker in self.pool]


@pytest.fixture(autouse=True)
def _most(settings: Settings) -> None:
    settings.FABER_WORKERS = MOST


@pytest.mark.parametrize(
    ("busy", "workers"),
    [
        pytest.param([False, False], 2, id="nobody is busy"),
        pytest.param([True, False], 2, id="one still waits"),
        pytest.param([True, True], 3, id="nobody waits any more"),
        pytest.param([True] * MOST, MOST, id="there are as many as there may be"),
    ],
)
def test_a_worker_is_added_when_none_waits_for_the_next_step(
    busy: list[bool], workers: int
) -> None:
    guard = Guard(*busy)

    guard._see_to_spare_workers()

    assert len(guard.pool) == workers


def test_the_oldest_leave_when_more_than_a_few_have_waited_for_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    guard = Guard(False, False, True, False)
    guard._see_to_spare_workers()
    assert not any(guard.leaving())

    later = time.monotonic() + STAY_SECONDS + 1
    monkeypatch.setattr(time, "monotonic", lambda: later)
    guard._see_to_spare_workers()

    assert guard.leaving() == [True, False, False, False]
    assert guard.leaving().count(False) - 1 == SPARE


def test_a_worker_that_may_leave_takes_no_more_jobs() -> None:
    seat = WorkerSeat(Lane.STEPS, cast("Any", SimpleNamespace(get=pytest.fail)), Bell())
    seat.may_leave.value = True

    assert seat.get() == lanes._STOP
