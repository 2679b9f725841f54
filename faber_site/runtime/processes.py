"""What is known of other processes, and the little that is done to them."""

import contextlib
import ctypes
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
PR_SET_PDEATHSIG = 1
# What workers call themselves; `ps` and `top` show it, 15 characters at most.
BUSY = "faber-busy"
IDLE = "faber-idle"


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    pid: int
    parent: int
    session: int
    name: str

    @property
    def is_worker(self) -> bool:
        return self.name in (BUSY, IDLE)

    @property
    def is_busy(self) -> bool:
        return self.name == BUSY

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)


def in_session(session: int) -> list[Process]:
    """Who still runs in a session, its leader or not; nobody where there is no /proc."""
    found = (_read(entry) for entry in PROC.glob("[0-9]*"))
    return [process for process in found if process and process.session == session]


def without_job(members: list[Process]) -> list[Process]:
    """Who is neither a worker with a job nor works for one."""
    left = [process for process in members if not process.is_busy]
    working = {process.pid for process in members if process.is_busy}
    while helpers := {process.pid for process in left if process.parent in working}:
        left = [process for process in left if process.pid not in helpers]
        working = helpers
    return left


def kill_session(session: int) -> None:
    """End all who stayed in the group that their session began with."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(session, signal.SIGKILL)


def call_oneself(name: str) -> None:
    with contextlib.suppress(OSError):
        (PROC / "self" / "comm").write_text(name)


def end_with(parent: int) -> None:
    """Get a SIGTERM when the parent dies, however it dies; only Linux can."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:  # it died before the line above could matter
        raise SystemExit(f"process {parent}, which this one belongs to, is gone")


def _read(entry: Path) -> Process | None:
    try:
        stat = (entry / "stat").read_text(errors="replace")
    except OSError:  # it ended meanwhile
        return None
    # The name may hold spaces and brackets of its own.
    start, end = stat.index("("), stat.rindex(")")
    state, parent, _group, session = stat[end + 2 :].split()[:4]
    if state in "ZX":
        return None
    return Process(
        pid=int(entry.name), parent=int(parent), session=int(session), name=stat[start + 1 : end]
    )
