"""A real FABER on a scratch directory, and the processes it consists of."""

import contextlib
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import client
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

import psycopg
from django.utils import timezone
from django_q import core_signing
from django_q.signing import PickleSerializer
from psycopg.sql import SQL

from faber_site.runtime import processes
from runs.jobs.database.lanes import SPARE
from runs.jobs.table import Lane

CHECKOUT = Path(__file__).resolve().parents[2]
WORKERS = 3
UMASK = 0o022  # of whoever starts it
SHORT_WORKERS = 2
STEP_WORKERS = (processes.BUSY, processes.IDLE)
WORKER_NAMES = (*STEP_WORKERS, processes.SHORT_BUSY, processes.SHORT_IDLE)
# Starts a run whose steps execute the scripts given; the last one is called slow.
STARTER = """
import sys, django
django.setup()
from pathlib import Path
from tests import factories
names = [f"before-{number}" for number in range(len(sys.argv) - 3)] + ["slow"]
steps = [
    {"id": name, "run": ["sh", "-c", script]}
    for name, script in zip(names, sys.argv[2:], strict=True)
]
factories.start(factories.workflow({"build": steps}), Path(sys.argv[1]))
"""


def eventually(condition: Callable[[], object], *, within: float) -> bool:
    deadline = time.monotonic() + within
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    pid: int
    parent: int
    session: int
    name: str
    command: str

    def kill(self, number: int = signal.SIGKILL) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)


class Attempt(NamedTuple):
    status: str
    worker: str
    reason: str


@dataclass(slots=True)
class Scratch:
    """One data directory, and all that was started on it."""

    folder: Path
    settings: Mapping[str, str] = field(default_factory=dict)
    port: int = 0
    faber: subprocess.Popen[str] | None = None
    code: Path = CHECKOUT  # what it runs

    def __post_init__(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]

    def start(self, command: str) -> list[str]:
        """Run a faber command and read what it says when it is ready."""
        self.faber = self.run(command)
        assert self.faber.stdout
        first = self.faber.stdout.readline()
        return [first, self.faber.stdout.readline()] if command == "up" else [first]

    def run(self, *command: str) -> subprocess.Popen[str]:
        with self.log.open("a") as log:
            return subprocess.Popen(
                [sys.executable, str(self.code / "manage.py"), *command],
                env=self._environment(),
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                umask=UMASK,
            )

    def _environment(self) -> dict[str, str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("FABER_", "DJANGO_"))}
        return kept | {
            "FABER_DATA_DIR": str(self.folder),
            "FABER_PORT": str(self.port),
            "FABER_WORKERS": str(WORKERS),
            **self.settings,
        }

    @property
    def log(self) -> Path:
        return self.folder / "log"

    # What it consists of: everything whose environment names this directory.

    def processes(self) -> list[Process]:
        mine = f"FABER_DATA_DIR={self.folder}\0".encode()
        return [process for process in _all() if mine in _environment_of(process.pid)]

    def pids(self) -> list[int]:
        return [process.pid for process in self.processes()]

    def leader(self, part: str) -> Process:
        """The first process of the cluster, of the site ("web") or of the watch over both."""
        return _as_soon_as_there(lambda: self._leaders(part))

    def lane(self) -> Process:
        """One of the processes that Celery has below its cluster's first."""
        return _as_soon_as_there(lambda: self._below(self._leaders("cluster")))

    def workers(self) -> list[Process]:
        """Those of the present cluster that take steps."""
        return [worker for worker in self._all_workers() if worker.name in STEP_WORKERS]

    def short_workers(self) -> list[Process]:
        """Those that take short jobs."""
        return [worker for worker in self._all_workers() if worker.name not in STEP_WORKERS]

    def _all_workers(self) -> list[Process]:
        sessions = [leader.pid for leader in self._leaders("cluster")]
        return [p for p in self.processes() if p.session in sessions and p.name in WORKER_NAMES]

    def idle_workers(self) -> list[Process]:
        return [worker for worker in self.workers() if worker.name == processes.IDLE]

    def has_all_workers_within(self, seconds: float) -> bool:
        return eventually(
            lambda: (
                len(self.idle_workers()) >= SPARE and len(self.short_workers()) == SHORT_WORKERS
            ),
            within=seconds,
        )

    def _leaders(self, part: str) -> list[Process]:
        assert self.faber
        children = (p for p in self.processes() if p.parent == self.faber.pid)
        return [p for p in children if p.name == f"faber-{part}"]

    def _below(self, parents: list[Process]) -> list[Process]:
        pids = [parent.pid for parent in parents]
        return [p for p in self.processes() if p.parent in pids]

    # What it can do

    def queue(self, function: str, *arguments: object, queue: str = "faber") -> None:
        """Queue a job from outside."""
        package = {
            "id": uuid4().hex,
            "name": function,
            "func": function,
            "args": arguments,
            "kwargs": {},
            "started": timezone.now(),
            "ack_failure": True,
        }
        secret = (self.folder / "secret_key").read_text()
        payload = core_signing.dumps(package, key=secret, salt="faber", serializer=PickleSerializer)
        self._sql(
            "INSERT INTO django_q_ormq (key, payload, lock) VALUES (?, ?, ?)",
            queue,
            payload,
            timezone.now().replace(tzinfo=None).isoformat(" "),
        )

    def start_run(self, *scripts: str, workspace: Path | None = None) -> None:
        # Not the data directory itself, of which an isolated step sees nothing.
        workspace = workspace or self.folder / "work"
        workspace.mkdir(exist_ok=True)
        self.call(STARTER, str(workspace), *scripts)

    def call(self, script: str, *arguments: str) -> None:
        """Be a process of the site for a moment."""
        settings = {"DJANGO_SETTINGS_MODULE": "faber_site.settings", "PYTHONPATH": str(self.code)}
        subprocess.run(
            [sys.executable, "-c", script, *arguments],
            cwd=self.code,
            env=self._environment() | settings,
            check=True,
        )

    def attempts(self) -> list[Attempt]:
        rows = self.rows("SELECT status, worker, reason FROM faber_runs_stepattempt ORDER BY id")
        return [Attempt(*row) for row in rows]

    def worker_of(self, attempt: int) -> Process:
        """Who executes an attempt, as soon as somebody does."""
        assert eventually(
            lambda: [a.status for a in self.attempts()][attempt - 1 :] == ["running"], within=15
        )
        pid = int(self.attempts()[attempt - 1].worker.split(":")[1])
        return next(p for p in self.processes() if p.pid == pid)

    def rows(self, query: str) -> list[tuple[str, ...]]:
        """What its database answers, whichever it is."""
        if address := self.settings.get("FABER_DATABASE_URL"):
            with psycopg.connect(address) as connection:
                return connection.execute(SQL(query)).fetchall()
        return self._sql(query)

    def damage(self, column: str, value: object) -> None:
        """Put into every run what FABER would never write there."""
        self._sql(f"UPDATE faber_runs_run SET {column} = ?", json.dumps(value))  # noqa: S608

    def _sql(self, statement: str, *values: str) -> list[tuple[str, ...]]:
        with contextlib.closing(sqlite3.connect(self.folder / "faber.sqlite3", timeout=20)) as db:
            rows = db.execute(statement, values).fetchall()
            db.commit()
            return rows

    def works_within(self, seconds: float, lane: Lane | None = None) -> bool:
        """Whether jobs are executed again; the first ones may be lost with what was killed."""
        if lane is None:
            return all(self.works_within(seconds, lane) for lane in Lane)
        sign = self.folder / f"job-{uuid4().hex}"
        next_try = 0.0

        def is_done() -> bool:
            nonlocal next_try
            if time.monotonic() >= next_try:
                self.queue("pathlib.Path.touch", sign, queue=lane.value)
                next_try = time.monotonic() + 1
            return sign.exists()

        return eventually(is_done, within=seconds)

    def keep_a_worker_busy(self, *, until: Path) -> Process:
        """Queue a job that lasts until there is a file, and leaves another; who has it."""
        told = until.with_suffix(".worker")
        waits = f"until [ -e {until} ]; do sleep 0.1; done; touch {until.with_suffix('.done')}"
        script = f"echo $PPID > {told}.new; mv {told}.new {told}; {waits}"
        self.queue("subprocess.run", ["sh", "-c", script])
        assert eventually(told.exists, within=15)
        return next(p for p in self.processes() if p.pid == int(told.read_text()))

    def ask_to_end(self, number: signal.Signals) -> str:
        """Send a signal and wait; what it still printed."""
        assert self.faber
        self.faber.send_signal(number)
        printed, _ = self.faber.communicate(timeout=30)
        assert self.faber.returncode == 0
        return printed

    def answers(self, path: str) -> bool:
        asking = client.HTTPConnection("127.0.0.1", self.port, timeout=2)
        try:
            asking.request("GET", path)
            return asking.getresponse().status == client.OK
        except OSError:
            return False
        finally:
            asking.close()

    def close(self) -> None:
        """Kill all of it, with what it started meanwhile; nothing is left when this returns."""
        assert eventually(self._is_killed, within=15)
        if self.faber:
            self.faber.wait()
            assert self.faber.stdout
            self.faber.stdout.close()

    def _is_killed(self) -> bool:
        left = self.processes()
        for process in left:
            process.kill()
        return not left


def _as_soon_as_there(find: Callable[[], list[Process]]) -> Process:
    found: list[Process] = []

    def is_there() -> bool:
        found[:] = find()
        return bool(found)

    assert eventually(is_there, within=15)
    return found[0]


def _all() -> list[Process]:
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            stat = (entry / "stat").read_text()
            start, end = stat.index("("), stat.rindex(")")
            state, parent, _group, session = stat[end + 2 :].split()[:4]
            if state not in "ZX":
                process = Process(
                    pid=int(entry.name),
                    parent=int(parent),
                    session=int(session),
                    name=stat[start + 1 : end],
                    command=(entry / "cmdline").read_text(),
                )
                found.append(process)
    return found


def _environment_of(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""
