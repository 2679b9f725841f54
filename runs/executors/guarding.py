"""Starts a command below a warden of its own, and speaks with the warden."""

import contextlib
import errno
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Self

_WARDEN = (sys.executable, "-I", "-S", str(Path(__file__).with_name("warden.py")))
_PATIENCE = 5.0


class Guarded:
    """A command under way; leaving the context ends it, and so does the death of this process."""

    def __init__(self, argv: Sequence[str], *, cwd: Path, environment: Mapping[str, str]) -> None:
        self.name = argv[0]
        self.gone = False  # the warden, so everything below it too
        self._said: dict[str, int] = {}
        self._words = b""
        self._line, theirs = socket.socketpair()
        try:
            with theirs:
                self._warden = _start(argv, cwd, environment, theirs.fileno())
        except BaseException:
            self._line.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._line.close()
        for pipe in (self.stdin, self.stdout, self.stderr):
            pipe.close()
        try:
            self._warden.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._warden.kill()
            self._warden.wait()

    @property
    def stdin(self) -> IO[bytes]:
        return _pipe(self._warden.stdin)

    @property
    def stdout(self) -> IO[bytes]:
        return _pipe(self._warden.stdout)

    @property
    def stderr(self) -> IO[bytes]:
        return _pipe(self._warden.stderr)

    @property
    def exit_code(self) -> int | None:
        """None while the command runs, and for ever when its warden was killed."""
        if "failed" in self._said:
            return 127 if self._said["failed"] == errno.ENOENT else 126
        return self._said.get("ended")

    @property
    def problem(self) -> str:
        """Why there is no command at all."""
        number = self._said.get("failed")
        if number is None:
            return ""
        if number == errno.ENOENT:
            return f"The command {self.name!r} was not found."
        return f"The command {self.name!r} could not be started: {os.strerror(number)}."

    def fileno(self) -> int:
        return self._line.fileno()

    def hear(self) -> bool:
        """Take in what the warden says; false when it is gone."""
        try:
            words = self._line.recv(4096)
        except ConnectionError:
            words = b""
        *lines, self._words = (self._words + words).split(b"\n")
        for line in lines:
            word, number = line.split()
            self._said[word.decode()] = int(number)
        self.gone = not words
        return not self.gone

    def ask_to_end(self) -> None:
        with contextlib.suppress(OSError):
            self._line.send(b"!")

    def kill(self) -> None:
        with contextlib.suppress(OSError):
            self._line.shutdown(socket.SHUT_WR)

    def give_up(self) -> None:
        """End the warden too; only what not even the kernel can end is left behind."""
        self._warden.kill()

    def kill_group(self) -> None:
        """The second best, for when somebody killed the warden."""
        with contextlib.suppress(OSError):
            os.killpg(self._said["started"], signal.SIGKILL)


def _start(
    argv: Sequence[str], cwd: Path, environment: Mapping[str, str], line: int
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*_WARDEN, str(line), *argv],
        cwd=cwd,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        pass_fds=[line],
        start_new_session=True,
    )


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        raise ValueError("the command was started without pipes")
    return pipe
