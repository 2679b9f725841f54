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

from runs.isolation import file_modes

_PYTHON = (sys.executable, "-I", "-S")
_WARDEN = str(Path(__file__).with_name("warden.py"))
_PATIENCE = 5.0
NOT_ISOLATED = "Could not isolate the step, so it was not executed."


class Guarded:
    """A command under way; leaving the context ends it, and so does the death of this process."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        environment: Mapping[str, str],
        shelter: Sequence[str] = (),  # what isolates the warden, if anything
    ) -> None:
        self.name = argv[0]
        self.gone = False  # the warden, so everything below it too
        self._is_isolated = bool(shelter)
        self._said: dict[str, int] = {}
        self._words = b""
        self._line, theirs = socket.socketpair()
        try:
            with theirs:
                line = theirs.fileno()
                command = [*(shelter or _PYTHON), _WARDEN, str(line), *argv]
                self._warden = _start(command, cwd, environment, line)
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
            return NOT_ISOLATED if self._is_isolated and self.gone and not self._said else ""
        if number == errno.ENOENT:
            return f"The command {self.name!r} was not found."
        return f"The command {self.name!r} could not start: {os.strerror(number)}."

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

    @property
    def is_fenced(self) -> bool:
        """Whether it was ended because nobody said in time that it may go on."""
        return "fenced" in self._said

    def hold(self, until: float, patience: float) -> None:
        """Let it go on until this moment of the monotonic clock, and wait so long for a later."""
        self._say(f"hold {until:.3f} {patience:.3f}\n")

    def ask_to_end(self) -> None:
        self._say("end\n")

    def _say(self, words: str) -> None:
        with contextlib.suppress(OSError):
            self._line.send(words.encode())

    def kill(self) -> None:
        with contextlib.suppress(OSError):
            self._line.shutdown(socket.SHUT_WR)

    def give_up(self) -> None:
        """End the warden too; only what not even the kernel can end is left behind."""
        self._warden.kill()

    def kill_group(self) -> None:
        """The second best, for when somebody killed the warden."""
        if self._is_isolated:
            return  # all ended with their first process, and their numbers mean others here
        with contextlib.suppress(OSError):
            os.killpg(self._said["started"], signal.SIGKILL)


def _start(
    command: Sequence[str], cwd: Path, environment: Mapping[str, str], line: int
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command,
        cwd=cwd,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        pass_fds=[line],
        start_new_session=True,
        umask=file_modes.usual_umask(),
    )


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        raise ValueError("the command was started without pipes")
    return pipe
