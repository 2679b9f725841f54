"""The processes of one cluster: workers for steps, and workers that only short jobs can have.

Each takes its jobs from the database itself and does them as django-q2's worker does: nothing lies
between the two that could be lost or get stuck. Those for steps are forked as steps come and leave
when they have nothing to do: a few always wait, so that whatever comes next finds somebody there.
"""

import atexit
import contextlib
import logging
import os
import pydoc
import select
import signal
import time
from collections.abc import Sequence
from ctypes import c_bool
from multiprocessing import RawValue, Value, get_context
from types import FrameType
from typing import Any

from django.db import InterfaceError, OperationalError, connections
from django_q import signals
from django_q.conf import Conf
from django_q.monitor import save_task
from django_q.signing import BadSignature, SignedPackage
from django_q.worker import worker

from runs.jobs import wakeup
from runs.jobs.database.broker import WokenBroker
from runs.jobs.engine import GRACE, Signs
from runs.jobs.table import JOB_FAILED, Lane

logger = logging.getLogger(__name__)

# How many workers for steps wait besides those that have one.
SPARE = 2
# For how long there are more than that before the oldest leave: they have grown the most.
STAY_SECONDS = 10.0
GUARD_SECONDS = 0.5
# A call wakes all who wait, and the guard. Whoever has the step needs the cores first: its guard
# and newer workers look this much later.
COURTESY_SECONDS = 0.005
_STOP = "STOP"  # what ends django-q2's worker

_forking = get_context("fork")


def run(signs: Signs) -> None:
    guard, crew = Guard(signs), Crew(signs)

    def end(_number: int, _frame: FrameType | None) -> None:
        signal.alarm(GRACE)
        guard.end()

    signal.signal(signal.SIGALRM, lambda _number, _frame: signs.kill_session(os.getsid(0)))
    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is the supervisor's
    signals.post_spawn.connect(crew.worker_starts)
    signals.pre_execute.connect(crew.job_starts)
    signals.post_execute_in_worker.connect(crew.job_ends)
    guard.keep_watch()


class Bell:
    """Calls the one who guards the workers."""

    def __init__(self) -> None:
        self._ear, self._rope = os.pipe()
        os.set_blocking(self._ear, False)
        os.set_blocking(self._rope, False)

    def ring(self) -> None:
        with contextlib.suppress(BlockingIOError, BrokenPipeError):  # it rings, or nobody is there
            os.write(self._rope, b"1")

    def wait(self, seconds: float) -> None:
        select.select([self._ear], [], [], seconds)
        with contextlib.suppress(BlockingIOError):
            os.read(self._ear, 4096)


class WorkerSeat:
    """Where one worker gets its jobs and says what came of them, as django-q2's worker wants it.

    What it and its guard tell each other lies in memory of both and has no lock: whoever is
    killed there keeps nobody waiting.
    """

    def __init__(self, lane: Lane, bell: Bell, older: "Sequence[WorkerSeat]" = ()) -> None:
        self.lane = lane
        self.is_busy = RawValue(c_bool, False)
        self.may_leave = RawValue(c_bool, False)
        # Not their seats: each of these holds those of workers that are gone by now.
        self._older_are_busy = [seat.is_busy for seat in older]
        self._guard = os.getpid()
        self._bell = bell
        self._broker = WokenBroker(lane.value)

    def get(self) -> Any:
        self.is_busy.value = False
        job = self._next()
        self.is_busy.value = True
        self._bell.ring()
        return job

    def put(self, job: dict[str, Any]) -> None:
        if job["ack_id"]:
            # A beat that could not be acknowledged counts as unanswered, and comes again.
            with contextlib.suppress(InterfaceError, OperationalError):
                self._broker.acknowledge(job["ack_id"])
        if not job["success"]:
            save_task(job, self._broker)

    def _next(self) -> Any:
        while not self.may_leave.value and os.getppid() == self._guard:
            for number, signed in self._broker.dequeue() or ():
                if job := _read(signed):
                    function = JobFunction(job["func"])
                    return {**job, "func": function, "cluster": self.lane.value, "ack_id": number}
            if not all(is_busy.value for is_busy in self._older_are_busy):
                time.sleep(COURTESY_SECONDS)
        self.close()
        return _STOP

    def close(self) -> None:
        self._broker.close()


class JobFunction:
    """A job's function; django-q2 would hand on only the text of what it raises."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __str__(self) -> str:  # what a failed job is kept as
        return self._path

    def __call__(self, *args: object, **kwargs: object) -> object:
        try:
            return self._found()(*args, **kwargs)
        except Exception:
            logger.exception(JOB_FAILED, self._path, args)
            raise

    def _found(self) -> Any:
        function = pydoc.locate(self._path)
        if function is None:  # a newer version queued it
            raise LookupError(f"this version has no {self._path}")
        return function


def _read(signed: str) -> dict[str, Any] | None:
    try:
        job: dict[str, Any] = SignedPackage.loads(signed)
    except (TypeError, BadSignature):
        logger.exception("a job cannot be read, and is left out")
        return None
    return job


class Crew:
    """What each worker does besides its jobs."""

    def __init__(self, signs: Signs) -> None:
        self._signs = signs

    def worker_starts(self, **_kwargs: object) -> None:
        self._signs.be_busy(is_busy=False)

    def job_starts(self, **_kwargs: object) -> None:
        given_by: Any = connections[Conf.ORM]  # an attribute that the stubs lack
        given_by.health_check_done = True  # a moment ago
        self._signs.be_busy(is_busy=True)

    def job_ends(self, **_kwargs: object) -> None:
        self._signs.be_busy(is_busy=False)


class Guard:
    """Has as many workers as are needed, and others in place of those that died.

    One that it does not survive does the job that it has, and leaves.
    """

    def __init__(self, signs: Signs) -> None:
        self._signs = signs
        self._bell = Bell()
        self._pool: list[Any] = []  # processes, each with its seat
        self._short_of_idle_at = time.monotonic()
        self._is_over = False

    def keep_watch(self) -> None:
        for lane, workers in {Lane.SHORT: Lane.SHORT.workers, Lane.STEPS: SPARE}.items():
            for _ in range(min(workers, lane.workers)):
                self._add_worker(lane)
        while not self._is_over:
            self._see_to_the_dead()
            self._see_to_spare_workers()
            self._bell.wait(GUARD_SECONDS)
            time.sleep(COURTESY_SECONDS)
        self._send_home()

    def end(self) -> None:
        self._is_over = True
        self._bell.ring()

    def _add_worker(self, lane: Lane) -> None:
        older = [each.seat for each in self._pool if each.seat.lane is lane]
        seat = WorkerSeat(lane, self._bell, older)
        self._signs.be_of(lane)  # the fork takes it along
        process: Any = _forking.Process(target=_work, args=(seat,), name=lane.name)
        process.seat = seat
        connections.close_all()  # nobody can share one, and to make a broker is to connect
        process.start()
        self._pool.append(process)

    def _see_to_the_dead(self) -> None:
        for process in [each for each in self._pool if not each.is_alive()]:
            self._pool.remove(process)
            process.seat.is_busy.value = True  # or newer ones let it go first for ever
            if process.exitcode:  # else it was one too many, and left
                logger.warning("A worker ended with exit code %s.", process.exitcode)
                self._add_worker(process.seat.lane)

    def _see_to_spare_workers(self) -> None:
        workers = [process for process in self._pool if process.seat.lane is Lane.STEPS]
        idle = [process for process in workers if not process.seat.is_busy.value]
        if not idle and len(workers) < Lane.STEPS.workers:
            self._add_worker(Lane.STEPS)
        if len(idle) < SPARE:
            self._short_of_idle_at = time.monotonic()
        elif time.monotonic() - self._short_of_idle_at > STAY_SECONDS:
            for process in idle[:-SPARE]:
                process.seat.may_leave.value = True

    def _send_home(self) -> None:
        for process in self._pool:
            process.seat.may_leave.value = True
        for lane in Lane:
            # Whoever cannot be woken looks by itself after a while.
            with contextlib.suppress(InterfaceError, OperationalError):
                wakeup.wake(Conf.ORM, lane)
        for process in self._pool:
            process.join()


def _work(seat: WorkerSeat) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    worker(seat, seat, Value("f", -1), Conf.TIMEOUT)
    atexit._run_exitfuncs()  # what is still to be sent; nothing else runs them in such a fork
