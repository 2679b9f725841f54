"""The processes of one cluster: workers for steps, and workers that only short jobs can have.

Both lanes share everything but the queue that a worker waits at. A second cluster would keep them
apart as well, for four more processes. Those for steps are forked as steps come and leave when
they have nothing to do: a few always wait, so that whatever comes next finds somebody there.
"""

import contextlib
import os
import queue
import select
import signal
import threading
import time
from ctypes import c_bool
from multiprocessing import Event, RawValue, Value, get_context
from types import FrameType
from typing import Any
from uuid import uuid4

from django_q import signals
from django_q.brokers import get_broker
from django_q.cluster import Sentinel
from django_q.conf import Conf
from django_q.pusher import pusher
from django_q.queues import Queue
from django_q.worker import worker

from runs.jobs.database.broker import WokenBroker
from runs.jobs.engine import GRACE, Signs
from runs.jobs.table import Lane

# How many workers for steps wait besides those that have one.
SPARE = 2
# For how long there are more than that before the oldest leave: they have grown the most.
STAY_SECONDS = 10.0
GUARD_SECONDS = 0.5
LOOK_SECONDS = 5.0
_STOP = "STOP"  # what ends django-q2's worker


def run(signs: Signs) -> None:
    stop, bell, forking = Event(), Bell(), get_context("fork")
    crew = Crew(signs)
    sentinel = forking.Process(target=Lanes, args=(signs, bell, stop, Event(), uuid4()))

    def end(_number: int, _frame: FrameType | None) -> None:
        signal.alarm(GRACE)
        stop.set()
        bell.ring()

    signal.signal(signal.SIGALRM, lambda _number, _frame: signs.kill_session(os.getsid(0)))
    signal.signal(signal.SIGTERM, end)
    signals.post_spawn.connect(crew.worker_starts)
    signals.pre_execute.connect(crew.job_starts)
    signals.post_execute_in_worker.connect(crew.job_ends)
    sentinel.start()
    sentinel.join()


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
    """Where one worker waits for its jobs.

    What it and its guard tell each other lies in memory of both and has no lock: whoever is
    killed there keeps nobody waiting.
    """

    def __init__(self, lane: Lane, jobs: Queue, bell: Bell) -> None:
        self.lane = lane
        self.is_busy = RawValue(c_bool, False)
        self.may_leave = RawValue(c_bool, False)
        self._jobs = jobs
        self._bell = bell

    def get(self) -> Any:
        """The next job, as django-q2's worker asks for it."""
        self.is_busy.value = False
        job = self._next()
        self.is_busy.value = True
        self._bell.ring()
        return job

    def _next(self) -> Any:
        while not self.may_leave.value:
            with contextlib.suppress(queue.Empty):
                return self._jobs.get(timeout=LOOK_SECONDS)
        return _STOP


class Crew:
    """What each worker does besides its jobs."""

    def __init__(self, signs: Signs) -> None:
        self._signs = signs
        self._guard = 0  # who started this worker

    def worker_starts(self, **_kwargs: object) -> None:
        self._guard = os.getppid()
        self._signs.be_busy(is_busy=False)

    def job_starts(self, **_kwargs: object) -> None:
        self._signs.be_busy(is_busy=True)

    def job_ends(self, *, task: dict[str, object], **_kwargs: object) -> None:
        """Also ends a worker whose cluster was retired while it was busy: no job can reach it."""
        self._signs.be_busy(is_busy=False)
        if os.getppid() != self._guard:
            get_broker().acknowledge(task["ack_id"])
            os._exit(0)


class Lanes(Sentinel):  # type: ignore[misc]  # django-q2 has no types
    """django-q2's sentinel, with a queue of its own for each lane, and no more workers than needed.

    Its jobs have no time limit, so that of its guard's round only looking for the dead is left.
    """

    def __init__(self, signs: Signs, bell: Bell, *args: Any) -> None:
        self._signs = signs
        self._bell = bell
        self._short_queue = Queue(maxsize=Conf.QUEUE_LIMIT)
        self._short_of_idle_at = time.monotonic()
        super().__init__(*args)

    def spawn_cluster(self) -> None:
        self.pool_size = Lane.SHORT.workers + min(SPARE, Lane.STEPS.workers)
        super().spawn_cluster()

    def spawn_worker(self) -> None:
        lane = Lane.SHORT if len(self._of(Lane.SHORT)) < Lane.SHORT.workers else Lane.STEPS
        jobs = self._short_queue if lane is Lane.SHORT else self.task_queue
        seat = WorkerSeat(lane, jobs, self._bell)
        self._signs.be_of(lane)  # the fork takes it along
        self.spawn_process(worker, seat, self.result_queue, Value("f", -1), self.timeout)
        self.pool[-1].seat = seat

    def spawn_pusher(self) -> Any:
        return self.spawn_process(_push, self.task_queue, self._short_queue, self.event_out)

    def guard(self) -> None:
        self.start_event.set()
        while not self.stop_event.is_set():
            self._see_to_the_dead()
            self._see_to_spare_workers()
            self._bell.wait(GUARD_SECONDS)
        self.stop()

    def _see_to_the_dead(self) -> None:
        for process in [p for p in (*self.pool, self.monitor, self.pusher) if not p.is_alive()]:
            if process in self.pool and process.exitcode == 0:  # it was one too many, and left
                self.pool.remove(process)
            else:
                self.reincarnate(process)

    def _see_to_spare_workers(self) -> None:
        workers = self._of(Lane.STEPS)
        idle = [process for process in workers if not process.seat.is_busy.value]
        if not idle and len(workers) < Lane.STEPS.workers:
            self.spawn_worker()
        if len(idle) < SPARE:
            self._short_of_idle_at = time.monotonic()
        elif time.monotonic() - self._short_of_idle_at > STAY_SECONDS:
            for process in idle[:-SPARE]:
                process.seat.may_leave.value = True

    def stop(self) -> None:
        self.event_out.set()
        self.pusher.join()
        for _ in range(Lane.SHORT.workers):
            self._short_queue.put(_STOP)
        for process in self._of(Lane.SHORT):
            process.join()
            self.pool.remove(process)
        super().stop()

    def _of(self, lane: Lane) -> list[Any]:
        return [process for process in self.pool if process.seat.lane is lane]


def _push(steps: Queue, short: Queue, end: Any) -> None:
    """Hand out the jobs of both lanes; a full one keeps its own thread waiting and no other."""
    threading.Thread(
        target=pusher, args=(short, end, WokenBroker(Lane.SHORT.value)), daemon=True, name="short"
    ).start()
    pusher(steps, end, WokenBroker(Lane.STEPS.value))
