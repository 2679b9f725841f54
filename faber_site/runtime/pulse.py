"""Looks after a cluster from outside: sweeps, sends its lanes beats, tells when one is stuck."""

import logging
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from django.db import close_old_connections

from faber_site.runtime import processes
from faber_site.runtime.processes import Process
from faber_site.runtime.set_back import ClockWatch
from faber_site.runtime.sweep import sweep
from faber_site.runtime.vitals import Vitals
from feedback.upkeep import nightly
from runs.jobs import heartbeat, queue
from runs.jobs.table import Lane
from runs.worker.lookout import Lookout

logger = logging.getLogger(__name__)

INTERVAL = 2.0
# Where nothing happened for so long, beats and sweeps may be rarer; looks at processes may not.
CALM_AFTER = 30.0
CALM_INTERVAL = 6.0
# Somebody in front of a terminal waits for the first beat of a new cluster.
FIRST_INTERVAL = 0.05
# How many looks in a row may find a beat unanswered while a worker stands idle. Looks, not
# seconds: when the database or the machine is slow, the looks become slow with it.
PATIENCE = 4
FIRST_PATIENCE = 120
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


class Stillness:
    """Knows for how long nobody was busy, nobody came, nobody left and nobody kept silent."""

    def __init__(self) -> None:
        self._members: Sequence[Process] = []
        self._disturbed_at = time.monotonic()

    @property
    def has_come(self) -> bool:
        return time.monotonic() - self._disturbed_at > CALM_AFTER

    @property
    def lasts(self) -> bool:
        """Whether it has come, and those who were seen last are as they were."""
        return self.has_come and processes.are_still_there(self._members)

    def saw(self, members: Sequence[Process]) -> None:
        before, now = _pids(self._members), _pids(members)
        # Where processes cannot be seen, nobody knows.
        if not now or now != before or any(process.is_busy for process in members):
            self.disturb()
        self._members = members

    def disturb(self) -> None:
        self._disturbed_at = time.monotonic()


class Pulse:
    """Looks after whatever cluster its supervisor keeps, from a process of its own."""

    def __init__(self, vitals: Vitals) -> None:
        self._vitals = vitals
        self._session = 0  # none
        self._watches: list[Watch] = []
        self._gone: deque[int] = deque()
        self._calm = Stillness()
        self._rest_until = 0.0
        self._next_sweep = time.monotonic()
        self._trouble = ""
        self._lookout = Lookout()
        self._clock = ClockWatch()
        self._upkeep = nightly.Reminder()

    def run(self) -> None:
        while True:
            close_old_connections()
            self._survive_round()
            time.sleep(INTERVAL if self._has_answered else FIRST_INTERVAL)

    @property
    def _has_answered(self) -> bool:
        return bool(self._watches) and all(watch.has_answered for watch in self._watches)

    @property
    def _is_stuck(self) -> bool:
        return any(watch.is_stuck for watch in self._watches)

    def _turn_to(self, session: int) -> None:
        if self._session:
            self._gone.append(self._session)
        self._session = session
        self._watches = [Watch(session=session, lane=lane) for lane in Lane]

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
        if self._session != self._vitals.session:
            self._turn_to(self._vitals.session)
        elif time.monotonic() < self._rest_until and self._calm.lasts:
            return
        members = processes.in_session(self._session) if self._session else []
        self._calm.saw(members)
        self._rest_until = time.monotonic() + CALM_INTERVAL
        for watch in self._watches:
            _look(watch, members)
        if any(watch.missed for watch in self._watches):
            self._calm.disturb()
        self._vitals.tell(self._session, has_answered=self._has_answered, is_stuck=self._is_stuck)
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
        can_answer = queue.remind(session, lane)
        if not can_answer or time.monotonic() - began > SLOW_WRITE:
            return  # the database or a broker keeps everybody waiting: silence means nothing
        busy = sum(worker.is_busy for worker in workers)
        # Where processes cannot be seen, nothing can be concluded from silence.
        is_idle = bool(members) and busy < lane.workers
        watch.saw_silence(worker_is_idle=is_idle)
        if watch.has_answered and not is_idle:
            heartbeat.note(lane)  # all of them work, and none is left to say so
        return
    queue.beat(session, lane)
    watch.is_beat_sent = True


def _pids(members: Sequence[Process]) -> set[int]:
    return {process.pid for process in members}
