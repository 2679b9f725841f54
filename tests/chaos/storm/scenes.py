"""Sites for a storm: one host on SQLite, or two on one PostgreSQL whose clocks differ."""

import json
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.chaos.scratch import Scratch
from tests.chaos.storm.clocks import WallClock, library
from tests.chaos.storm.database import PostgresServer, SqliteFile
from tests.chaos.storm.hosts import Host
from tests.chaos.storm.proxy import Proxy
from tests.fake_github import FakeGitHub

# Short, so that whatever waits for its end is seen in a storm of seconds.
LEASE = 3
DISK = "200m"
# More than a lease, so that a host that went by its own clock would take what the other has.
SKEWS = {"one": 0, "two": 20}
KEYS = {
    "FABER_SECRET_KEY": "Zk3-v9Qm_17LwBxTtN0sYcE4uHdRf8ga",
    "FABER_AUDIT_KEY": "ag8fRdHu4EcYs0NtTxBwL71_mQ9v-3kZ",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A site that is ready, and where its traces are."""

    folder: Path  # what is kept of a storm that found something
    hosts: tuple[Host, ...]
    database: SqliteFile | PostgresServer
    github: FakeGitHub
    token: str
    has_own_disk: bool
    lease: int  # seconds

    @property
    def work(self) -> Path:
        """Where steps are executed."""
        return self.folder / "work"

    @property
    def signs(self) -> Path:
        return self.folder / "signs"


class LoggedOutside(Scratch):
    """What it says is not lost when its disk is full."""

    @property
    def log(self) -> Path:
        return self.folder.with_name(f"{self.folder.name}.log")


@contextmanager
def on_sqlite(**settings: str) -> Iterator[Scene]:
    with ExitStack() as stack:
        scene = _Scene(stack)
        host = scene.host("one", settings)
        database = SqliteFile(host.scratch.folder / "faber.sqlite3")
        yield scene.ready((host,), database)


@contextmanager
def on_postgres(**settings: str) -> Iterator[Scene]:
    with ExitStack() as stack:
        scene = _Scene(stack)
        database = PostgresServer()
        stack.callback(database.close)
        hosts = []
        for name, skew in SKEWS.items():
            proxy = Proxy(database.socket)
            stack.callback(proxy.close)
            address = f"postgres://postgres@127.0.0.1:{proxy.port}/postgres"
            host = scene.host(name, {"FABER_DATABASE_URL": address, **KEYS, **settings})
            host.proxy, host.skew = proxy, skew
            hosts.append(host)
        yield scene.ready(tuple(hosts), database)


class _Scene:
    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._folder = Path(tempfile.mkdtemp(prefix="faber-storm-"))
        self._github = stack.enter_context(FakeGitHub())
        self._has_own_disk = True
        (self._folder / "work").mkdir()

    def host(self, name: str, settings: Mapping[str, str]) -> Host:
        data = self._folder / name
        data.mkdir(mode=0o700)
        self._has_own_disk &= self._mounted(data)
        clock = WallClock(self._folder / f"{name}.clock") if library() else None
        environment = {
            "FABER_MACHINE_NAME": name,
            "FABER_LEASE_SECONDS": str(LEASE),
            "FABER_UNDO_SECONDS": "0",
            "FABER_GITHUB_POLL_SECONDS": "3",
            "NO_PROXY": "127.0.0.1",
            **self._github.settings(),
            **(clock.environment() if clock else {}),
            **settings,
        }
        host = Host(name=name, scratch=LoggedOutside(data, environment), clock=clock)
        self._stack.callback(host.close)
        return host

    def ready(self, hosts: tuple[Host, ...], database: SqliteFile | PostgresServer) -> Scene:
        for host in hosts:
            host.start()
        self._github.add_repository("Acme/Storm")
        self._github.grant("Acme/Storm", "rita", "write")
        asked = hosts[0].scratch.run("token", "create", "storm", "--scope", "operator", "--json")
        printed, _ = asked.communicate(timeout=60)
        return Scene(
            folder=self._folder,
            hosts=hosts,
            database=database,
            github=self._github,
            token=json.loads(printed)["token"],
            has_own_disk=self._has_own_disk,
            lease=int(hosts[0].scratch.settings["FABER_LEASE_SECONDS"]),
        )

    def _mounted(self, data: Path) -> bool:
        """Give a data directory a small disk of its own, which only root can."""
        command = ["mount", "-t", "tmpfs", "-o", f"size={DISK},mode=700", "faber-storm", str(data)]
        try:
            done = subprocess.run(command, capture_output=True, check=False)
        except OSError:
            return False
        if done.returncode == 0:
            unmount = ["umount", "--lazy", str(data)]
            self._stack.callback(lambda: subprocess.run(unmount, check=False))
        return done.returncode == 0
