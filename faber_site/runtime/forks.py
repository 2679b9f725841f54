"""A process that has to be there: a fork of its supervisor, so that they share what is loaded."""

import atexit
import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence

from django.db import connections

from faber_site.runtime import processes

logger = logging.getLogger(__name__)

# A child that lived this long did not die of its start.
SETTLED = 10.0
LONGEST_PAUSE = 5.0


class Child:
    """In a session of its own; whoever starts it has no threads."""

    def __init__(
        self,
        name: str,
        main: Callable[[], object],
        *,
        called: str,
        inherits: Sequence[int] = (),
        works: bool = False,
    ) -> None:
        """`called` is what `ps` and `top` show; `works`: it is there for the sake of jobs."""
        self.name = name
        self.works = works
        self.session = 0  # none
        self._main = main
        self._called = called
        self._inherits = inherits
        self._exit_code: int | None = None
        self._started_at = 0.0
        self._start_at = 0.0
        self._deaths = 0

    @property
    def is_due(self) -> bool:
        return not self.session and time.monotonic() >= self._start_at

    @property
    def is_running(self) -> bool:
        return bool(self.session) and self._ended() is None

    @property
    def trouble(self) -> str:
        """Why it must be replaced; empty while it need not."""
        if not self.session or (code := self._ended()) is None:
            return ""
        return f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"

    def start(self) -> None:
        pid = fork(self._main, name=self.name, called=self._called, inherits=self._inherits)
        self._exit_code = None
        self._started_at = time.monotonic()
        self.session = pid

    def ask_to_end(self) -> None:
        if self.is_running:
            os.kill(self.session, signal.SIGTERM)

    def bury(self) -> float:
        """Forget the process; how long it will be before the next one may start."""
        if self.is_running:
            os.kill(self.session, signal.SIGKILL)
            os.waitpid(self.session, 0)
        self.session = 0
        lived = time.monotonic() - self._started_at
        self._deaths = 0 if lived > SETTLED else self._deaths + 1
        pause = min(LONGEST_PAUSE, 2.0 ** (self._deaths - 1)) if self._deaths > 1 else 0.0
        self._start_at = time.monotonic() + pause
        return pause

    def _ended(self) -> int | None:
        if self._exit_code is None:
            self._exit_code = exit_code(self.session)
        return self._exit_code


def fork(do: Callable[[], object], *, name: str, called: str, inherits: Sequence[int] = ()) -> int:
    """Have it done by a process that ends with this one; its number."""
    connections.close_all()  # nobody can share one
    sys.stdout.flush()
    parent = os.getpid()
    if pid := os.fork():
        return pid
    code: object = 1
    try:
        os.setsid()
        _forget_signals()
        _hold_only(inherits)
        processes.be_called(called)
        processes.end_with(parent)
        do()
        code = 0
    except SystemExit as end:
        code = end.code
    except Exception:
        logger.exception("%s failed", name)
    if isinstance(code, str):
        sys.stderr.write(f"{code}\n")
    atexit._run_exitfuncs()  # what is still to be sent, as when an interpreter ends
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else int(code is not None))


class SideTask:
    """Done by a fork meanwhile, which takes along whatever it loads."""

    def __init__(self, do: Callable[[], object]) -> None:
        self._pid = fork(do, name="a task", called="faber-task")

    def finish(self) -> None:
        """Wait for it, and end as it ended when that was not well."""
        _, status = os.waitpid(self._pid, 0)
        if code := os.waitstatus_to_exitcode(status):
            raise SystemExit(code)


def exit_code(pid: int) -> int | None:
    """What a fork ended with; None while it runs."""
    try:
        found, status = os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:  # somebody else has waited for it
        return 0
    return os.waitstatus_to_exitcode(status) if found else None


def _forget_signals() -> None:
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)


def _hold_only(inherited: Sequence[int]) -> None:
    """As after an exec: a lock of the supervisor must end with the supervisor."""
    with open(os.devnull) as nothing:  # noqa: PTH123
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)  # standard output is for the lines that scripts read
    lowest = 3
    for kept in sorted(inherited):
        os.closerange(lowest, kept)
        lowest = kept + 1
    os.closerange(lowest, os.sysconf("SC_OPEN_MAX"))
