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

from django.db import DatabaseError

from faber_site.runtime import processes
from faber_site.runtime.children import Child
from faber_site.runtime.processes import Process
from runs.engine import recovery
from runs.jobs import queue

logger = logging.getLogger(__name__)

TICK = 1.0
FIRST_TICK = 0.1  # until all is ready
# Between asking the children to end and killing them; the whole has to fit into ten seconds.
GRACE = 4.0

Wait = Callable[[float], None]


class Supervisor:
    def __init__(self, children: Sequence[Child], *, announce: Callable[[], bool]) -> None:
        """`announce` is called until it returns True, once all children do their work."""
        self._children = children
        self._announce = announce
        self._is_ready = False
        self._requests = 0  # to end
        # Sessions of replaced children; only workers that still have a job are left in them.
        self._retired: set[int] = set()

    def run(self) -> None:
        """Return when somebody asked for the end and nothing is left running."""
        with _signals_end_waits() as wait:
            signal.signal(signal.SIGTERM, self._request_end)
            signal.signal(signal.SIGINT, self._request_end)
            try:
                while not self._requests:
                    self._tick()
                    wait(TICK if self._is_ready else FIRST_TICK)
            finally:
                self._end(wait)

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

    def _end(self, wait: Wait) -> None:
        sessions = self._retired | {child.session for child in self._children if child.session}
        for child in self._children:
            child.ask_to_end()
        deadline = time.monotonic() + GRACE
        while self._is_alive(sessions) and self._requests < 2 and time.monotonic() < deadline:
            wait(0.1)
        workers = [process for process in _members(sessions) if process.is_busy]
        for session in sessions:
            processes.kill_session(session)
        for child in self._children:
            child.bury()
        # Killed is not yet gone, and whoever sees this process end counts on that.
        deadline = time.monotonic() + 1
        while self._is_alive(sessions) and time.monotonic() < deadline:
            wait(0.02)
        _give_back(workers, sessions)

    def _is_alive(self, sessions: set[int]) -> bool:
        return any(child.is_running for child in self._children) or bool(_members(sessions))


def _members(sessions: set[int]) -> list[Process]:
    return [process for session in sessions for process in processes.in_session(session)]


def _give_back(workers: Sequence[Process], sessions: set[int]) -> None:
    """Let others have at once what the killed workers held; only then, so that nobody overlaps."""
    try:
        for process in workers:
            recovery.release(f"{socket.gethostname()}:{process.pid}:")
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
def _signals_end_waits() -> Iterator[Wait]:
    """A way to wait that ends early with a signal, also with one that came just before."""
    ear, mouth = socket.socketpair()
    with ear, mouth:
        ear.setblocking(False)
        mouth.setblocking(False)
        signal.set_wakeup_fd(mouth.fileno(), warn_on_full_buffer=False)
        # Without a handler the death of a child would not be told.
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)

        def wait(seconds: float) -> None:
            select.select([ear], [], [], seconds)
            with contextlib.suppress(BlockingIOError):
                while ear.recv(64):
                    pass

        yield wait
        signal.set_wakeup_fd(-1)
