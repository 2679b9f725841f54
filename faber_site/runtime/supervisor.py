"""Replaces children that die or hang, and ends everything when asked to."""

import contextlib
import logging
import os
import select
import signal
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import Protocol

from django.db import DatabaseError

from faber_site.runtime import processes
from faber_site.runtime.forks import Child
from faber_site.runtime.processes import Process
from runs.engine import recovery
from runs.jobs import draining, queue
from runs.jobs.table import Lane
from runs.models import machine

logger = logging.getLogger(__name__)

TICK = 1.0
FIRST_TICK = 0.05  # until all is ready
# Between asking the children to end and killing them; the whole has to fit into ten seconds.
GRACE = 4.0
# A step that was taken but has not begun yet is seen in the next look.
QUIET = 2

Wait = Callable[[float], None]


class Callers(Protocol):
    """Those who come while a supervisor waits, to whatever can be selected."""

    def fileno(self) -> int: ...

    def admit(self) -> None: ...


class Supervisor:
    def __init__(
        self,
        children: Sequence[Child],
        *,
        announce: Callable[[], bool],
        drained: Callable[[], Sequence[Child]] = tuple,
        callers: Callers | None = None,
    ) -> None:
        """`announce` is called until it returns True, once all children do their work.

        `drained` is called when the workers have ended because somebody asked for that; whom it
        names is kept from then on. `callers` are let in between two looks.
        """
        self._children = list(children)
        self._announce = announce
        self._drained = drained
        self._callers = callers
        self._is_ready = False
        self._quiet = 0  # looks in a row that found no step under way
        self._requests = 0  # to end
        # Sessions of replaced children; only workers that still have a job are left in them.
        self._retired: set[int] = set()

    def run(self) -> None:
        """Return when somebody asked for the end, or nothing is left to look after."""
        with _signals_end_waits(self._callers) as wait:
            signal.signal(signal.SIGTERM, self._request_end)
            signal.signal(signal.SIGINT, self._request_end)
            try:
                while self._children and not self._requests:
                    self._tick()
                    self._drain(wait)
                    wait(TICK if self._is_ready else FIRST_TICK)
            finally:
                self._end(self._children, wait)

    def _request_end(self, _number: int, _frame: FrameType | None) -> None:
        self._requests += 1

    def _tick(self) -> None:
        for child in self._children:
            if trouble := child.trouble:
                self._replace(child, trouble)
            if child.is_due:
                self._start(child)
        self._clear_retired()
        _reap_orphans()
        self._is_ready = self._is_ready or self._announce()

    def _start(self, child: Child) -> None:
        try:
            child.start()
        except OSError as error:  # no memory, or too many processes: for the moment
            self._replace(child, f"cannot be started: {error}")

    def _replace(self, child: Child, trouble: str) -> None:
        self._retire(child)
        pause = child.bury()
        when = f"in {pause:.0f} s" if pause else "now"
        logger.warning("%s %s; another is started %s", child.name, trouble, when)

    def _retire(self, child: Child) -> None:
        if child.session:
            self._retired.add(child.session)
        self._clear_retired()

    def _clear_retired(self) -> None:
        """End all but the workers that have a job: nothing else can reach them any more."""
        for session in tuple(self._retired):
            members = processes.in_session(session)
            for process in processes.without_job(members):
                process.kill()
            if not members:
                self._retired.discard(session)

    def _drain(self, wait: Wait) -> None:
        """Once those who were asked to take no more steps have none, end them; the site stays."""
        working = [child for child in self._children if child.works]
        if not working or not draining.is_asked():
            return
        sessions = self._retired | _sessions(working)
        self._quiet = 0 if _have_steps(sessions) else self._quiet + 1
        if self._quiet < QUIET:
            return
        self._end(working, wait)
        self._children = [child for child in self._children if not child.works]
        stays = "; the site stays, and steps wait for the next start" if self._children else ""
        logger.warning("the workers have ended, as `faber work --drain` asked%s", stays)
        self._children += self._drained()

    def _end(self, children: Sequence[Child], wait: Wait) -> None:
        sessions = self._retired | _sessions(children)
        for child in children:
            child.ask_to_end()
        deadline = time.monotonic() + GRACE
        while _is_alive(children, sessions) and self._requests < 2 and time.monotonic() < deadline:
            wait(0.1)
        workers = [process for process in _members(sessions) if process.is_busy]
        for session in sessions:
            processes.kill_session(session)
        for child in children:
            child.bury()
        # Killed is not yet gone, and whoever sees this process end counts on that.
        deadline = time.monotonic() + 1
        while _is_alive(children, sessions) and time.monotonic() < deadline:
            wait(0.02)
        _give_back(workers, sessions)


def _sessions(children: Sequence[Child]) -> set[int]:
    return {child.session for child in children if child.session}


def _is_alive(children: Sequence[Child], sessions: set[int]) -> bool:
    return any(child.is_running for child in children) or bool(_members(sessions))


def _have_steps(sessions: set[int]) -> bool:
    """Whether somebody in these sessions executes a step, or is at another long job."""
    if processes.can_be_seen():
        workers = (process for process in _members(sessions) if process.is_busy)
        return any(process.lane is Lane.STEPS for process in workers)
    try:
        return recovery.has_steps(f"{machine.name()}:")
    except DatabaseError:
        return True  # nobody knows


def _members(sessions: set[int]) -> list[Process]:
    return [process for session in sessions for process in processes.in_session(session)]


def _give_back(workers: Sequence[Process], sessions: set[int]) -> None:
    """Let others have at once what the killed workers held; only then, so that nobody overlaps."""
    try:
        for process in workers:
            recovery.release(f"{machine.name()}:{process.pid}:")
        for session in sessions:
            queue.forget(session)
    except DatabaseError:
        logger.warning("the database is out of reach; the leases run out by themselves")


def _reap_orphans() -> None:
    """Those of a whole container come to its first process, and nobody else waits for them."""
    if os.getpid() == 1:
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


@contextlib.contextmanager
def _signals_end_waits(callers: Callers | None) -> Iterator[Wait]:
    """A way to wait that ends early with a signal, also with one that came just before."""
    ear, mouth = socket.socketpair()
    with ear, mouth:
        ear.setblocking(False)
        mouth.setblocking(False)
        signal.set_wakeup_fd(mouth.fileno(), warn_on_full_buffer=False)
        # Without a handler the death of a child would not be told.
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)

        def wait(seconds: float) -> None:
            heard: list[socket.socket | Callers] = [ear, callers] if callers else [ear]
            there, _, _ = select.select(heard, [], [], seconds)
            if callers and callers in there:
                callers.admit()
            with contextlib.suppress(BlockingIOError):
                while ear.recv(64):
                    pass

        yield wait
        signal.set_wakeup_fd(-1)
