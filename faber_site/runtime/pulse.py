"""Looks after a cluster from outside: sweeps, sends its lanes beats, tells when one is stuck."""

import logging
import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from django.db import close_old_connections

from faber_site.runtime import processes
from faber_site.runtime.processes import Process
from faber_site.runtime.set_back import ClockWatch
from faber_site.runtime.sweep import sweep
from feedback.upkeep import nightly
from runs.jobs import heartbeat, queue
from runs.jobs.table import Lane
from runs.worker.lookout import Lookout

logger = logging.getLogger(__name__)

INTERVAL = 2.0
# Somebody in front of a terminal waits for the first beat of a new cluster.
FIRST_INTERVAL = 0.2
# How many looks in a row may find a beat unanswered while a worker stands idle. Looks, not
# seconds: when the database or the machine is slow, the looks become slow with it.
PATIENCE = 4
FIRST_PATIENCE = 30
# A write that takes longer than this means that the database keeps everybody waiting.
SLOW_WRITE = 0.3


@dataclass(slots=True, kw_only=True)
class Watch:
    """What was seen of one lane of a cluster, which its session names."""

    session: int
    lane: Lane
    is_beat_sent: bool = False
    has_answered: bool = False
    missed: int = 0

    @property
    def is_stuck(self) -> bool:
        return self.missed >= (PATIENCE if self.has_answered else FIRST_PATIENCE)

    def saw_answer(self) -> None:
        self.has_answered = True
        self.missed = 0

    def saw_silence(self, *, worker_is_idle: bool) -> None:
        # When all workers are busy, with steps that may last an hour, silence means nothing.
        self.missed = self.missed + 1 if worker_is_idle else 0


class Pulse:
    """Has a thread of its own: a slow database must not keep dead children from being replaced."""

    def __init__(self) -> None:
        self._session = 0  # none
        self._watches: list[Watch] = []
        self._is_over = False
        self._gone: deque[int] = deque()
        self._news = threading.Event()
        self._next_sweep = time.monotonic()
        self._trouble = ""
        self._lookout = Lookout()
        self._clock = ClockWatch()
        self._upkeep = nightly.Reminder()

    def start(self) -> None:
        threading.Thread(target=self._run, daemon=True, name="pulse").start()

    def watch(self, session: int) -> None:
        """Look after this cluster from now on, and no longer after the one before."""
        if self._session:
            self._gone.append(self._session)
        self._session = session
        self._watches = [Watch(session=session, lane=lane) for lane in Lane]
        self._news.set()

    def stop(self) -> None:
        """Leave the site to other machines, once this one has no workers any more."""
        self._is_over = True
        self._news.set()

    @property
    def has_answered(self) -> bool:
        """Whether every lane takes jobs."""
        return bool(self._watches) and all(watch.has_answered for watch in self._watches)

    @property
    def is_stuck(self) -> bool:
        return any(watch.is_stuck for watch in self._watches)

    def _run(self) -> None:
        while not self._is_over:
            close_old_connections()
            self._survive_round()
            self._news.wait(INTERVAL if self.has_answered else FIRST_INTERVAL)
            self._news.clear()

    def _survive_round(self) -> None:
        """Whatever fails is tried again in the next round, and logged when it is something new."""
        try:
            self._round()
        except Exception as error:
            if self._trouble != str(error):
                logger.exception("looking after the cluster failed; it will be tried again")
            self._trouble = str(error)
        else:
            self._trouble = ""

    def _round(self) -> None:
        self._clock.catch_up()  # first: a beat may wait for a moment that is not near any more
        if watches := self._watches:
            members = processes.in_session(watches[0].session)
            for watch in watches:
                _look(watch, members)
        while self._gone:
            queue.forget(self._gone[0])
            self._gone.popleft()
        if time.monotonic() >= self._next_sweep:
            self._next_sweep = time.monotonic() + INTERVAL
            sweep(self._lookout)
            self._upkeep.look()


def _look(watch: Watch, members: Sequence[Process]) -> None:
    session, lane = watch.session, watch.lane
    workers = [process for process in members if process.lane is lane]
    if not watch.is_beat_sent:
        if members and not workers:  # it is still starting
            return
        queue.forget(session, lane)  # of a cluster long gone that had the same number
    elif queue.is_answered(session, lane):
        watch.saw_answer()
    else:
        began = time.monotonic()
        queue.remind(session, lane)
        if time.monotonic() - began > SLOW_WRITE:
            return  # the database keeps everybody waiting, so that silence means nothing
        busy = sum(worker.is_busy for worker in workers)
        # Where processes cannot be seen, nothing can be concluded from silence.
        is_idle = bool(members) and busy < lane.workers
        watch.saw_silence(worker_is_idle=is_idle)
        if watch.has_answered and not is_idle:
            heartbeat.note(lane)  # all of them work, and none is left to say so
        return
    queue.enqueue_for(session, lane.beat)
    watch.is_beat_sent = True
