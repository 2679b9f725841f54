"""Looks after a cluster from outside: sweeps, sends it beats, tells when it is stuck."""

import logging
import threading
import time
from collections import deque
from dataclasses import dataclass

from django.conf import settings
from django.db import close_old_connections

from faber_site.runtime import processes
from faber_site.runtime.sweep import sweep
from runs.jobs import queue
from runs.jobs.table import Job

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
    """What was seen of one cluster, which its session names."""

    session: int
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
        self._watch: Watch | None = None
        self._gone: deque[int] = deque()
        self._news = threading.Event()
        self._next_sweep = time.monotonic()
        self._trouble = ""

    def start(self) -> None:
        threading.Thread(target=self._run, daemon=True, name="pulse").start()

    def watch(self, session: int) -> None:
        """Look after this cluster from now on, and no longer after the one before."""
        if self._watch:
            self._gone.append(self._watch.session)
        self._watch = Watch(session=session)
        self._news.set()

    @property
    def has_answered(self) -> bool:
        return self._watch is not None and self._watch.has_answered

    @property
    def is_stuck(self) -> bool:
        return self._watch is not None and self._watch.is_stuck

    def _run(self) -> None:
        while True:
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
        if watch := self._watch:
            _look(watch)
        while self._gone:
            queue.forget(self._gone[0])
            self._gone.popleft()
        if time.monotonic() >= self._next_sweep:
            self._next_sweep = time.monotonic() + INTERVAL
            sweep()


def _look(watch: Watch) -> None:
    members = processes.in_session(watch.session)
    workers = [process for process in members if process.is_worker]
    if not watch.is_beat_sent:
        if members and not workers:  # it is still starting
            return
        queue.forget(watch.session)  # of a cluster long gone that had the same number
    elif queue.is_answered(watch.session):
        watch.saw_answer()
    else:
        began = time.monotonic()
        queue.remind(watch.session)
        if time.monotonic() - began > SLOW_WRITE:
            return  # the database keeps everybody waiting, so that silence means nothing
        busy = sum(worker.is_busy for worker in workers)
        # Where processes cannot be seen, nothing can be concluded from silence.
        watch.saw_silence(worker_is_idle=bool(members) and busy < settings.FABER_WORKERS)
        return
    queue.enqueue_for(watch.session, Job.BEAT)
    watch.is_beat_sent = True
