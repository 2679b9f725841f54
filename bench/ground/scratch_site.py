"""A whole site on a scratch data directory, as `make up` starts it, for looking at it."""

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.sites import seed

ROOT = Path(__file__).parent.parent.parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    url: str
    environment: dict[str, str]
    pid: int

    def login_link(self, name: str = "admin") -> str:
        """A fresh link: each works once."""
        done = subprocess.run(
            [sys.executable, "manage.py", "login-link", name],
            cwd=ROOT,
            env=self.environment,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        found = re.search(r"https?://\S+", done.stdout)
        if found is None:
            raise RuntimeError(f"no link in {done.stdout!r}")
        return found.group()


@contextlib.contextmanager
def scratch_site(**settings: str) -> Iterator[Site]:
    """Start everything, with the demo waiting for its first review; stop it at the end."""
    with tempfile.TemporaryDirectory(prefix="faber-site-") as folder:
        environment = {
            **os.environ,
            "FABER_DATA_DIR": folder,
            "FABER_PORT": str(free_port()),
            **settings,
        }
        seed(Path(folder))
        with running(environment) as site:
            yield site


@contextlib.contextmanager
def running(environment: dict[str, str]) -> Iterator[Site]:
    """Start everything on a data directory that stays; stop it at the end."""
    command = [sys.executable, "manage.py", "up"]
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield Site(url=_ready(process), environment=environment, pid=process.pid)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(20)


def _ready(process: subprocess.Popen[str]) -> str:
    for line in process.stdout or ():
        if found := re.search(r"FABER is ready: (\S+)/", line):
            return found.group(1)
    raise RuntimeError("the site did not become ready")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
