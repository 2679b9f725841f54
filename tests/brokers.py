"""Real brokers for the tests of Celery: each on a port of its own, and nothing of it on disk."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from uuid import uuid4

import pytest
from pytest_django import Settings

READY = 60.0  # seconds, on a busy machine


class BrokerServer(ABC):
    """A broker that can be killed; what it held is gone then."""

    program: str

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="faber-broker-"))
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    @abstractmethod
    def address(self) -> str: ...

    @abstractmethod
    def command(self) -> Sequence[str]: ...

    @abstractmethod
    def is_ready(self) -> bool: ...

    def environment(self) -> Mapping[str, str]:
        return {"FABER_TEST_BROKER": str(self._folder)}

    @property
    def settings(self) -> dict[str, str]:
        return {"FABER_QUEUE": "celery", "FABER_CELERY_BROKER_URL": self.address}

    def start(self) -> None:
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                self.command(),
                cwd=self._folder,
                env={**os.environ, **self.environment()},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        deadline = time.monotonic() + READY
        while not self.is_ready():
            said = (self._folder / "log").read_text()[-2000:]
            assert self._process.poll() is None, said
            assert time.monotonic() < deadline, said
            time.sleep(0.05)

    def kill(self) -> None:
        """All that was started for it, in whichever session."""
        if self._process:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        for pid in started_for(self._folder):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process = None

    def freeze(self) -> None:
        """Let it answer nobody."""
        assert self._process
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        assert self._process
        self._process.send_signal(signal.SIGCONT)

    def close(self) -> None:
        self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)


class RedisServer(BrokerServer):
    program = "redis-server"

    @property
    def address(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def command(self) -> Sequence[str]:
        where = ("--port", str(self.port), "--bind", "127.0.0.1")
        return [self.program, *where, "--save", "", "--appendonly", "no"]

    def is_ready(self) -> bool:
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1) as asking:
            asking.sendall(b"PING\r\n")
            return asking.recv(16).startswith(b"+PONG")
        return False


class RabbitServer(BrokerServer):
    """Slow to start: it is an Erlang node."""

    program = "rabbitmq-server"
    # What Debian's own command starts, after it has become another account.
    itself = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")

    def __init__(self) -> None:
        super().__init__()
        self._name = f"faber-{uuid4().hex[:8]}@localhost"

    @property
    def address(self) -> str:
        return f"amqp://guest:guest@127.0.0.1:{self.port}//"

    def command(self) -> Sequence[str]:
        return [str(self.itself) if self.itself.exists() else self.program]

    def environment(self) -> Mapping[str, str]:
        plugins = self._folder / "enabled_plugins"
        plugins.write_text("[].\n")
        return {
            **super().environment(),
            "HOME": str(self._folder),
            "RABBITMQ_NODENAME": self._name,
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": str(self.port),
            "RABBITMQ_DIST_PORT": str(free_port()),
            "RABBITMQ_MNESIA_BASE": str(self._folder / "data"),
            "RABBITMQ_LOG_BASE": str(self._folder),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(plugins),
            "RABBITMQ_PID_FILE": str(self._folder / "pid"),
            "ERL_EPMD_PORT": str(free_port()),
        }

    def is_ready(self) -> bool:
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1) as asking:
            asking.sendall(b"AMQP\x00\x00\x09\x01")
            return bool(asking.recv(16))
        return False


@contextmanager
def running(kind: type[BrokerServer]) -> Iterator[BrokerServer]:
    """A server that is there; tests are skipped, loudly, where it cannot be had."""
    if shutil.which(kind.program) is None:
        pytest.skip(f"{kind.program} is not installed; see tests/install_brokers.sh")
    with closing(kind()) as server:
        server.start()
        yield server


def use(address: str, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Be a process of a site on Celery with this broker."""
    from runs.jobs.celery import publisher  # a storm starts brokers without Django

    settings.FABER_QUEUE = "celery"
    settings.FABER_CELERY_BROKER_URL = address
    monkeypatch.setattr(publisher, "_own", publisher.Publisher())


def use_none(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same, while the broker is down."""
    use(f"redis://:s3cr3t@127.0.0.1:{free_port()}/0", settings, monkeypatch)


def started_for(folder: Path) -> list[int]:
    mark, found = os.fsencode(folder), []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if int(entry.name) != os.getpid() and mark in (entry / "environ").read_bytes():
                found.append(int(entry.name))
    return found


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    return port
