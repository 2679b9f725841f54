"""A person at a terminal: reads what is on the screen, and types."""

import os
import re
import select
import signal
import subprocess
import time
from functools import partial
from pathlib import Path

from tests.commands import FABER, environment

_CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")


class Terminal:
    """`faber` on a pseudo-terminal; every wait has a deadline."""

    def __init__(self, folder: Path, *words: str) -> None:
        self._mine, theirs = os.openpty()
        self.raw = ""  # with colours and movements
        self.process = subprocess.Popen(
            [FABER, *words],
            cwd=folder,
            env=environment(folder),
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            # A test run in the background hands down that Ctrl-C means nothing.
            preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
        )
        os.close(theirs)

    def read_until(self, text: str, *, within: float = 20) -> str:
        """What came on the screen, up to and with the text."""
        deadline = time.monotonic() + within
        while text not in self.screen:
            left = deadline - time.monotonic()
            assert left > 0, f"{text!r} never came; the screen shows:\n{self.screen}"
            if not self._read(left):
                break
        before, found, self.raw = self.screen.partition(text)
        assert found, f"{text!r} never came; at the end the screen showed:\n{before}"
        return before + found

    def type(self, text: str, *, enter: bool = True) -> None:
        os.write(self._mine, f"{text}\n".encode() if enter else text.encode())

    def press_ctrl_c(self) -> None:
        self.process.send_signal(signal.SIGINT)

    def exit_code(self) -> int:
        while self._read(20):
            pass
        return self.process.wait(20)

    @property
    def screen(self) -> str:
        return _CODES.sub("", self.raw)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._mine)

    def _read(self, seconds: float) -> bool:
        if not select.select([self._mine], [], [], seconds)[0]:
            return False
        try:
            self.raw += os.read(self._mine, 1 << 16).decode(errors="replace")
        except OSError:  # nobody has the other end any more
            return False
        return True
