"""The processes of one cluster: a Celery worker for steps, one for short jobs, and their parent.

The parent sends what has waited for its moment, and ends when one of the two does.
"""

import logging
import os
import signal
import warnings
from contextlib import suppress
from importlib import import_module
from multiprocessing import connection as pipes
from multiprocessing import get_context
from types import FrameType
from typing import Any

from billiard.util import set_pdeathsig
from celery import bootsteps, signals
from celery.app import trace
from celery.apps.worker import Worker
from celery.exceptions import CPendingDeprecationWarning
from celery.worker import state
from celery.worker.consumer import Consumer
from django.db import InterfaceError, OperationalError, close_old_connections, connections

from runs.jobs import draining, names
from runs.jobs.celery import app as celery_app
from runs.jobs.celery import later, publisher
from runs.jobs.database import rows
from runs.jobs.engine import GRACE, OutOfReach, Signs
from runs.jobs.table import JOB_FAILED, Job, Lane, Queue
from runs.models import machine

logger = logging.getLogger(__name__)

_LOOK_SECONDS = 1.0
# How often a worker sees whether it may take steps, and whether its parent is there.
_WATCH_SECONDS = 0.3
_RECONNECT_SECONDS = 0.5


def run(signs: Signs) -> None:
    forking = get_context("fork")
    lanes = [forking.Process(target=_be, args=(lane, signs)) for lane in Lane]
    is_asked_to_end = False

    def end(_number: int, _frame: FrameType | None) -> None:
        nonlocal is_asked_to_end
        is_asked_to_end = True
        signal.alarm(GRACE)
        for process in lanes:
            process.terminate()

    signal.signal(signal.SIGALRM, lambda _number, _frame: signs.kill_session(os.getsid(0)))
    for process in lanes:
        process.start()
    signal.signal(signal.SIGTERM, end)
    trouble = ""
    while not pipes.wait([process.sentinel for process in lanes], _LOOK_SECONDS):
        trouble = _send_due(trouble)
    if not is_asked_to_end:
        os._exit(1)  # another cluster is started at once, and steps under way go on
    for process in lanes:
        process.join()


def _send_due(trouble: str) -> str:
    try:
        close_old_connections()
        later.send_due(lambda job, ids: publisher.own().link.send(job.queue.value, job, ids))
    except (InterfaceError, OperationalError, OutOfReach) as error:
        connections.close_all()
        if trouble != str(error):
            logger.warning("What was put off can't be queued: %s", error)
        return str(error)
    return ""


def _be(lane: Lane, signs: Signs) -> None:
    """Be the worker of one lane."""
    app, crew = celery_app.made(), LaneCrew(lane, signs)
    for job in Job:
        crew.register(app, job)
    app.conf.task_queues = [celery_app.queue(name) for name in (_own(lane), *_shared(lane))]
    app.conf.worker_consumer = PatientConsumer
    app.steps["consumer"].add(LaneWatch)
    signals.setup_logging.connect(_keep_logging)
    logging.getLogger("celery.worker.consumer").setLevel(logging.ERROR)  # it has a line of ours
    signals.worker_process_init.connect(crew.worker_starts)
    signs.be_of(lane)
    LaneWorker(
        app=app,
        hostname=f"{lane}@{machine.name()}",
        concurrency=lane.workers,
        without_gossip=True,
        without_mingle=True,
        without_heartbeat=True,
    ).start()


def _own(lane: Lane) -> str:
    return names.own_queue(lane, os.getsid(0))


def _shared(lane: Lane) -> list[str]:
    """What a lane takes from besides its beats, the most urgent first."""
    if lane is Lane.SHORT:
        return [Queue.PEOPLE.value, Queue.ERRANDS.value]
    return [names.queue_of(lane, machine.name()), Queue.STEPS.value]


def _keep_logging(**_kwargs: object) -> None:
    """Who hears this has set up logging."""


class LaneCrew:
    """What each process of a lane does besides its jobs."""

    def __init__(self, lane: Lane, signs: Signs) -> None:
        self._lane = lane
        self._signs = signs
        self._guard = 0  # who started this process

    def register(self, app: Any, job: Job) -> None:
        @app.task(name=job.value)  # type: ignore[untyped-decorator]  # Celery has no types
        def execute(*ids: int) -> None:
            self._execute(job, ids)

    def worker_starts(self, **_kwargs: object) -> None:
        with suppress(OSError):  # only Linux knows it
            set_pdeathsig(0)  # a step outlives the lane that it was taken by
        self._guard = os.getppid()
        self._signs.be_busy(is_busy=False)

    def _execute(self, job: Job, ids: tuple[int, ...]) -> None:
        self._signs.be_busy(is_busy=True)
        close_old_connections()
        try:
            getattr(import_module(job.module), job.function)(*ids)
            if job is self._lane.beat:
                rows.forget(os.getsid(0), self._lane)
        except Exception:
            logger.exception(JOB_FAILED, job.value, ids)
        finally:
            close_old_connections()
            self._signs.be_busy(is_busy=False)
        if os.getppid() != self._guard:  # no job can reach it any more
            publisher.own().flush()
            os._exit(0)


class LaneWorker(Worker):  # type: ignore[misc]
    def on_before_init(self, **_options: object) -> None:
        """Without the advice not to be root: nobody can send code to be executed in JSON."""
        trace.setup_worker_optimizations(self.app, self.hostname)
        self.quiet = True

    def install_platform_tweaks(self, worker: object) -> None:
        """Ends when it is asked to, with the jobs that it has; Ctrl-C is the supervisor's."""

        def end(_number: int, _frame: FrameType | None) -> None:
            state.should_stop = 0

        signal.signal(signal.SIGTERM, end)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)


class PatientConsumer(Consumer):  # type: ignore[misc]
    """Comes back soon after its broker did, and tells of an outage once."""

    _is_down = False

    def ensure_connected(self, conn: Any) -> Any:
        conn.ensure_connection(
            self._tell_once,
            interval_start=_RECONNECT_SECONDS,
            interval_step=0,
            interval_max=_RECONNECT_SECONDS,
            callback=state.maybe_shutdown,
        )
        self._is_down = self.first_connection_attempt = False
        return conn

    def on_connection_error_after_connected(self, error: Exception) -> None:
        with warnings.catch_warnings():
            # A later Celery may end what is under way; it is asked not to.
            warnings.simplefilter("ignore", CPendingDeprecationWarning)
            super().on_connection_error_after_connected(error)

    def _tell_once(self, error: Exception, _interval: float) -> None:
        if not self._is_down:
            said = str(error).rstrip(".")
            logger.warning("The broker is out of reach: %s. Workers wait for it.", said)
        self._is_down = True


class LaneWatch(bootsteps.StartStopStep):  # type: ignore[misc]
    """Takes no more steps when somebody asked for that, and ends when its parent is gone."""

    requires = ("celery.worker.consumer.tasks:Tasks",)

    def __init__(self, consumer: Any, **kwargs: Any) -> None:
        super().__init__(consumer, **kwargs)
        self._parent = os.getppid()
        self._drains = False

    def start(self, consumer: Any) -> None:
        consumer.timer.call_repeatedly(_WATCH_SECONDS, self._look, (consumer,))

    def _look(self, consumer: Any) -> None:
        if os.getppid() != self._parent:
            state.should_stop = 0
        if not self._drains and draining.is_asked():
            self._drains = True
            for name in _shared(Lane.STEPS):
                queue = celery_app.called(name)
                if queue in consumer.app.amqp.queues.consume_from:
                    consumer.cancel_task_queue(queue)
