"""What is known of other processes, and the little that is done to them."""

import contextlib
import ctypes
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from django.db import InterfaceError, OperationalError, connections

from faber_site.monitoring import errors
from runs.domain.values.errors import NewerDatabase
from runs.jobs import log_context
from runs.jobs.table import Lane
from runs.models import migrate

PROC = Path("/proc")
PR_SET_PDEATHSIG = 1
# What workers call themselves; `ps` and `top` show it, 15 characters at most.
BUSY, IDLE = "faber-busy", "faber-idle"
SHORT_BUSY, SHORT_IDLE = "faber-s-busy", "faber-s-idle"
_NAMES = {Lane.STEPS: (IDLE, BUSY), Lane.SHORT: (SHORT_IDLE, SHORT_BUSY)}
_LANES = {name: lane for lane, names in _NAMES.items() for name in names}

_own_lane = Lane.STEPS


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    pid: int
    parent: int
    session: int
    name: str

    @property
    def lane(self) -> Lane | None:
        """Which jobs it executes; None when it is no worker."""
        return _LANES.get(self.name)

    @property
    def is_busy(self) -> bool:
        return self.name in (BUSY, SHORT_BUSY)

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)


def can_be_seen() -> bool:
    return PROC.is_dir()


def in_session(session: int) -> list[Process]:
    """Who still runs in a session, its leader or not; nobody where there is no /proc."""
    # As text: a `Path` for each would cost more than reading it, every two seconds.
    there = os.listdir(PROC) if can_be_seen() else []  # noqa: PTH208
    found = (_read(entry) for entry in there if entry.isdecimal())
    return [process for process in found if process and process.session == session]


def are_still_there(members: Sequence[Process]) -> bool:
    """Whether each is alive and does what it did; cheaper than looking who else there is."""
    return all(_read(str(member.pid)) == member for member in members)


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


def be_of(lane: Lane) -> None:
    """Be a worker of this lane, or begin to make some."""
    global _own_lane  # noqa: PLW0603  one per process
    _own_lane = lane


def be_busy(*, is_busy: bool) -> None:
    """Call oneself what a worker is called that has a job, or has none."""
    log_context.forget_run()
    be_called(_NAMES[_own_lane][is_busy])


def be_called(name: str) -> None:
    """What `ps` and `top` show of this process."""
    with contextlib.suppress(OSError):
        (PROC / "self" / "comm").write_text(name)


def begin() -> None:
    """What a child of the supervisor does first; it ends where a newer version has taken over."""
    errors.send()
    try:
        migrate.check_version()
    except NewerDatabase as error:
        raise SystemExit(str(error)) from error
    except (InterfaceError, OperationalError):
        pass  # out of reach for the moment, and the supervisor has looked
    finally:
        connections.close_all()


def end_with(parent: int) -> None:
    """Get a SIGTERM when the parent dies, however it dies; only Linux can."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:  # it died before the line above could matter
        raise SystemExit(f"process {parent}, which this one belongs to, is gone")


def _read(entry: str) -> Process | None:
    try:
        with open(f"{PROC}/{entry}/stat", errors="replace") as file:  # noqa: PTH123
            stat = file.read()
    except OSError:  # it ended meanwhile
        return None
    # The name may hold spaces and brackets of its own.
    start, end = stat.index("("), stat.rindex(")")
    state, parent, _group, session = stat[end + 2 :].split(maxsplit=4)[:4]
    if state in "ZX":
        return None
    return Process(
        pid=int(entry), parent=int(parent), session=int(session), name=stat[start + 1 : end]
    )
