"""How many workers for steps there are: a few that wait, more as steps come, never too many."""

import gc
import os
import time
import weakref
from collections.abc import Iterator
from contextlib import closing
from types import SimpleNamespace
from typing import Any, cast

import pytest
from django.db import connection
from django.utils import timezone
from django_q.conf import Conf
from django_q.models import Failure, OrmQ
from pytest_django import Settings

from runs.jobs import queue
from runs.jobs.database import lanes
from runs.jobs.database.lanes import SPARE, STAY_SECONDS, Bell, WorkerSeat
from runs.jobs.table import Job, Lane

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.database]

MOST = 4


class Guard(lanes.Guard):
    """Whose workers are only noted."""

    def __init__(self, *busy: bool) -> None:
        super().__init__(cast("Any", None))
        for is_busy in busy:
            self._add_worker(Lane.STEPS)
            self._pool[-1].seat.is_busy.value = is_busy

    def _add_worker(self, lane: Lane) -> None:
        seat = WorkerSeat(lane, Bell())
        self._pool.append(SimpleNamespace(seat=seat, is_alive=lambda: True))

    def workers(self) -> int:
        return len(self._pool)

    def leaving(self) -> list[bool]:
        return [bool(worker.seat.may_leave.value) for worker in self._pool]


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

    assert guard.workers() == workers


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


@pytest.fixture
def forked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The processes of workers, which are only noted."""
    made: list[Any] = []

    def note(**_options: object) -> Any:
        made.append(SimpleNamespace(start=lambda: None, is_alive=lambda: True, exitcode=0))
        return made[-1]

    monkeypatch.setattr(lanes._forking, "Process", note)
    return made


@pytest.fixture
def left_by_one(forked: list[Any]) -> lanes.Guard:
    """A guard of two workers, the older of which has left."""
    guard = lanes.Guard(cast("Any", SimpleNamespace(be_of=lambda _lane: None)))
    for _ in range(2):
        guard._add_worker(Lane.STEPS)
    forked[0].is_alive = lambda: False
    guard._see_to_the_dead()
    return guard


def test_nobody_lets_a_worker_go_first_that_is_gone(
    left_by_one: lanes.Guard, monkeypatch: pytest.MonkeyPatch
) -> None:
    seat = left_by_one._pool[0].seat
    did: list[str] = []

    def look() -> None:
        did.append("look")
        seat.may_leave.value = len(did) > 1

    monkeypatch.setattr(os, "getppid", os.getpid)
    monkeypatch.setattr(seat._broker, "dequeue", look)
    monkeypatch.setattr("runs.jobs.database.lanes.time.sleep", lambda _for: did.append("wait"))
    seat.get()

    assert did == ["look", "look"]


def test_nothing_is_kept_of_a_worker_that_is_gone(
    left_by_one: lanes.Guard, forked: list[Any]
) -> None:
    gone = weakref.ref(forked[0].seat)

    forked.clear()
    gc.collect()

    assert left_by_one._pool
    assert gone() is None


def test_no_worker_shares_a_connection_with_its_guard(monkeypatch: pytest.MonkeyPatch) -> None:
    signs = SimpleNamespace(be_of=lambda _lane: None)
    at_the_fork: list[object] = []
    forked = SimpleNamespace(start=lambda: at_the_fork.append(connection.connection))
    monkeypatch.setattr(lanes._forking, "Process", lambda **_options: forked)
    connection.ensure_connection()

    lanes.Guard(cast("Any", signs))._add_worker(Lane.STEPS)

    assert at_the_fork == [None]


@pytest.fixture
def seat(monkeypatch: pytest.MonkeyPatch) -> Iterator[WorkerSeat]:
    monkeypatch.setattr(Conf, "POLL", 0.01)
    monkeypatch.setattr(os, "getppid", os.getpid)  # as its guard's child sees it
    with closing(WorkerSeat(Lane.STEPS, Bell())) as seat:
        yield seat


def test_a_worker_that_may_leave_takes_no_more_jobs(seat: WorkerSeat) -> None:
    queue.enqueue(Job.ADVANCE_RUN, 1)
    seat.may_leave.value = True

    assert seat.get() == lanes._STOP
    assert queue.waiting(Lane.STEPS) == 1


def test_a_worker_whose_guard_is_gone_takes_no_more_jobs(
    seat: WorkerSeat, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue.enqueue(Job.ADVANCE_RUN, 1)
    monkeypatch.setattr(os, "getppid", lambda: 1)

    assert seat.get() == lanes._STOP
    assert queue.waiting(Lane.STEPS) == 1


@pytest.mark.parametrize("is_busy", [False, True])
def test_a_newer_worker_lets_one_that_waits_longer_look_first(
    seat: WorkerSeat, monkeypatch: pytest.MonkeyPatch, is_busy: bool
) -> None:
    seat.is_busy.value = is_busy
    waited: list[float] = []

    def wait(seconds: float) -> None:
        waited.append(seconds)
        queue.enqueue(Job.ADVANCE_RUN, 1)

    monkeypatch.setattr("runs.jobs.wakeup.SocketListener.wait", lambda _self, _seconds: wait(0.0))
    monkeypatch.setattr("runs.jobs.wakeup.NotifiedListener.wait", lambda _self, _seconds: wait(0.0))
    monkeypatch.setattr("runs.jobs.database.lanes.time.sleep", wait)
    with closing(WorkerSeat(Lane.STEPS, Bell(), [seat])) as newer:
        newer.get()

    assert waited == ([0.0] if is_busy else [0.0, lanes.COURTESY_SECONDS])


def test_a_job_is_gone_when_it_is_taken(seat: WorkerSeat) -> None:
    queue.enqueue(Job.ADVANCE_RUN, 7)

    job = seat.get()

    assert (str(job["func"]), job["args"]) == (Job.ADVANCE_RUN, (7,))
    assert not OrmQ.objects.exists()


def test_a_beat_is_there_until_it_was_answered(seat: WorkerSeat) -> None:
    queue.beat(os.getsid(0), Lane.STEPS)

    job = seat.get()
    assert not queue.is_answered(os.getsid(0), Lane.STEPS)
    seat.put({**job, "success": True})

    assert queue.is_answered(os.getsid(0), Lane.STEPS)


def test_a_job_that_nobody_here_can_read_is_left_out(
    seat: WorkerSeat, caplog: pytest.LogCaptureFixture
) -> None:
    OrmQ.objects.create(key=Lane.STEPS.value, payload="forged", lock=timezone.now())
    queue.enqueue(Job.ADVANCE_RUN, 7)

    assert seat.get()["args"] == (7,)
    assert caplog.messages == ["a job cannot be read, and is left out"]


def test_a_job_that_failed_is_kept(seat: WorkerSeat) -> None:
    queue.enqueue(Job.ADVANCE_RUN, 7)
    now = timezone.now()

    seat.put({**seat.get(), "success": False, "result": "boom", "stopped": now})

    failed = Failure.objects.get()
    assert (failed.func, failed.result) == (Job.ADVANCE_RUN, "boom")


def test_an_error_is_logged_with_its_stack(
    seat: WorkerSeat, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def breaks(_run: int) -> None:
        raise LookupError

    queue.enqueue(Job.ADVANCE_RUN, 7)
    monkeypatch.setattr("runs.worker.advance.advance_run", breaks)
    job = seat.get()

    with pytest.raises(LookupError):
        job["func"](*job["args"])

    assert caplog.messages == [f"the job {Job.ADVANCE_RUN}(7,) failed"]
    assert caplog.records[0].exc_info


def test_a_job_of_a_newer_version_says_that_it_is_not_known(
    seat: WorkerSeat, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue.enqueue(Job.ADVANCE_RUN, 7)
    monkeypatch.delattr("runs.worker.advance.advance_run")
    job = seat.get()

    with pytest.raises(LookupError, match=f"this version has no {Job.ADVANCE_RUN}"):
        job["func"](*job["args"])
