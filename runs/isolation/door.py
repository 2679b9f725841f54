"""A socket through which an isolated step reaches `faber mcp`, and nothing else of the site.

Each connection gets a process of its own outside of the isolation, with the connection as its
standard input and output. It speaks as an agent does, whoever is at the other end.
"""

import contextlib
import os
import socket
import struct
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

MOST = 8  # at the same time; an agent and its helpers have one each
# They would lead to another site than the one that executes the step.
_ELSEWHERE = ("FABER_URL", "FABER_TOKEN")


class Door:
    """Open while a step runs; leaving the context ends whoever came through."""

    def __init__(self, path: Path, command: Sequence[str], environment: Mapping[str, str]) -> None:
        own = {name: value for name, value in os.environ.items() if name not in _ELSEWHERE}
        self.path = path
        self._command, self._environment = tuple(command), {**own, **environment}
        self._servants: list[subprocess.Popen[bytes]] = []
        self._socket = socket.socket(socket.AF_UNIX)
        try:
            with short_name(path) as name:
                self._socket.bind(name)
            path.chmod(0o600)
            self._socket.listen(MOST)
            self._socket.setblocking(False)
        except BaseException:
            self._socket.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._socket.close()
        self.path.unlink(missing_ok=True)
        for servant in self._servants:
            servant.kill()
            servant.wait()

    def fileno(self) -> int:
        return self._socket.fileno()

    def answer(self) -> bool:
        """Let in whoever knocks; always true: the door stays open."""
        with contextlib.suppress(OSError):
            connection, _ = self._socket.accept()
            with connection:
                self._let_in(connection)
        return True

    def _let_in(self, connection: socket.socket) -> None:
        self._servants = [servant for servant in self._servants if servant.poll() is None]
        if len(self._servants) >= MOST or _uid_of(connection) != os.getuid():
            return
        connection.setblocking(True)
        servant = subprocess.Popen(
            self._command,
            cwd="/",  # not the workspace, from which Python might load modules
            env=self._environment,
            stdin=connection.fileno(),
            stdout=connection.fileno(),
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._servants.append(servant)


def beside(file: Path) -> Path:
    """Where the door of a step is: next to its briefing, with which the warden removes it."""
    return file.with_suffix(".mcp")


def knock(path: Path) -> socket.socket:
    """Connect from inside the step."""
    connection = socket.socket(socket.AF_UNIX)
    with short_name(path) as name:
        connection.connect(name)
    return connection


@contextlib.contextmanager
def short_name(path: Path) -> Iterator[str]:
    """The path of a socket, which has to be short, however deep its folder lies."""
    folder = os.open(path.parent, os.O_PATH | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)


def _uid_of(connection: socket.socket) -> int:
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    return int(struct.unpack("3i", credentials)[1])
