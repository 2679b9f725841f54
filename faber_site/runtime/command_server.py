"""Executes commands that are handed over, each in a fork of whoever has loaded what it needs."""

import contextlib
import json
import os
import socket
import struct
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from faber_site.command_socket import agreement
from faber_site.runtime import forks
from runs.isolation import inherited

MOST_AT_ONCE = 8
_PATIENCE = 5.0  # for somebody who knocked and says nothing
_LONGEST = 1_000_000
_STANDARD = ((0, "r", "strict"), (1, "w", "strict"), (2, "w", "backslashreplace"))


@contextlib.contextmanager
def serving(execute: Callable[[], int]) -> Iterator["CommandServer | None"]:
    """Be there for as long as this lasts; where such sockets cannot be, nobody is."""
    try:
        server = CommandServer(execute)
    except OSError:
        yield None
        return
    try:
        yield server
    finally:
        server.close()


class CommandServer:
    """Serves this account alone; a caller that is not served executes its command by itself."""

    def __init__(self, execute: Callable[[], int]) -> None:
        self._execute = execute
        self._code = agreement.code()
        self._settings = agreement.shaping(os.environ)
        self._callers: set[int] = set()
        self._path = agreement.socket_path()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.setblocking(False)
        new = self._path.with_name(f"{self._path.name}-{os.getpid()}")
        new.unlink(missing_ok=True)
        self._socket.bind(str(new))
        self._socket.listen(MOST_AT_ONCE)
        self._mark = new.stat().st_ino
        new.replace(self._path)  # of two supervisors the latest serves

    def fileno(self) -> int:
        return self._socket.fileno()

    def admit(self) -> None:
        """Take the next caller, if one is there; when there are too many it is let go."""
        self._callers -= {caller for caller in self._callers if forks.exit_code(caller) is not None}
        with contextlib.suppress(OSError):  # gone again, or this machine has no process left
            caller, _ = self._socket.accept()
            with caller:
                if _account(caller) == os.getuid() and len(self._callers) < MOST_AT_ONCE:
                    self._callers.add(self._fork(caller))

    def close(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            if self._path.stat().st_ino == self._mark:
                self._path.unlink()
        self._socket.close()

    def _fork(self, caller: socket.socket) -> int:
        return forks.fork(
            lambda: self._serve(caller),
            name="a command",
            called="faber-command",
            inherits=[caller.fileno()],
        )

    def _serve(self, caller: socket.socket) -> None:
        caller.settimeout(_PATIENCE)
        with contextlib.suppress(OSError):  # they did not wait
            caller.send(agreement.READY)
            message, files, *_ = socket.recv_fds(caller, _LONGEST, len(_STANDARD))
            order = json.loads(message) if message else {}
            if self._fits(order, files):
                _take_the_place_of(order, files)
                caller.send(str(_outcome(self._execute)).encode())
            else:
                caller.send(agreement.REFUSED)

    def _fits(self, order: dict[str, Any], files: Sequence[int]) -> bool:
        """Whether it would do the same here as there."""
        return (
            len(files) == len(_STANDARD)
            and agreement.takes(order["words"][1:])
            and order["code"] == self._code
            and agreement.shaping(order["environment"]) == self._settings
            and os.access(order["folder"], os.X_OK)
        )


def _take_the_place_of(order: dict[str, Any], files: Sequence[int]) -> None:
    """Be where they are: their terminal, their folder, their environment."""
    streams = []
    for file, (number, mode, errors), encoding in zip(
        files, _STANDARD, order["encodings"], strict=True
    ):
        os.dup2(file, number)
        streams.append(open(number, mode, encoding=encoding, errors=errors, closefd=False))  # noqa: SIM115
    sys.stdin, sys.stdout, sys.stderr = streams
    zone = os.environ["TZ"]
    os.environ.clear()
    os.environ.update(order["environment"])
    inherited.choose_settings()
    os.environ["TZ"] = zone  # Django would have set it there as well
    os.chdir(order["folder"])
    sys.argv = order["words"]


def _outcome(execute: Callable[[], int]) -> int:
    try:
        code: object = execute()
    except SystemExit as end:
        code = end.code
    if isinstance(code, str):
        sys.stderr.write(f"{code}\n")
    with contextlib.suppress(BrokenPipeError):
        sys.stdout.flush()
        sys.stderr.flush()
    return code if isinstance(code, int) else int(code is not None)


def _account(caller: socket.socket) -> int:
    """Who is at the other end."""
    _pid, user, _group = struct.unpack(
        "3i", caller.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    )
    return int(user)
