"""The processes a supervisor keeps: the site and the cluster."""

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from faber_site.runtime.pulse import Pulse
from runs.executors import file_modes

CODE = Path(__file__).resolve().parents[2]
# A child that lived this long did not die of its start.
SETTLED = 10.0
LONGEST_PAUSE = 5.0


class Child:
    """A process that has to be there, in a session of its own."""

    def __init__(
        self,
        name: str,
        module: str,
        arguments: Sequence[str] = (),
        *,
        inherits: Sequence[int] = (),
        pulse: Pulse | None = None,
    ) -> None:
        self.name = name
        self.session = 0  # none
        self._module = module
        self._arguments = arguments
        self._inherits = inherits
        self._pulse = pulse
        self._process: subprocess.Popen[bytes] | None = None
        self._started_at = 0.0
        self._start_at = 0.0
        self._deaths = 0

    @property
    def works(self) -> bool:
        """Whether it executes jobs."""
        return self._pulse is not None

    @property
    def is_due(self) -> bool:
        return self._process is None and time.monotonic() >= self._start_at

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def trouble(self) -> str:
        """Why it must be replaced; empty while it need not."""
        if self._process is None:
            return ""
        if (code := self._process.poll()) is not None:
            return f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
        return "no longer takes jobs" if self._pulse and self._pulse.is_stuck else ""

    def start(self) -> None:
        # The code that this process runs, not what lies in the folder the user stands in (-P).
        # PYTHONPATH would do it too, but every step would inherit it.
        main = f"from {self._module} import main; main()"
        boot = f"import sys; sys.path.insert(0, {str(CODE)!r}); {main}"
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", boot, str(os.getpid()), *self._arguments],
            stdin=subprocess.DEVNULL,
            stdout=sys.stderr.fileno(),  # standard output is for the lines that scripts read
            pass_fds=self._inherits,
            start_new_session=True,
            umask=file_modes.usual_umask(),  # it closes its own, and hands this one on to steps
        )
        self._started_at = time.monotonic()
        self.session = self._process.pid
        if self._pulse:
            self._pulse.watch(self.session)

    def ask_to_end(self) -> None:
        if self._process:
            self._process.terminate()

    def bury(self) -> float:
        """Forget the process; how long it will be before the next one may start."""
        if self._process:
            self._process.kill()
            self._process.wait()
        self._process = None
        self.session = 0
        lived = time.monotonic() - self._started_at
        self._deaths = 0 if lived > SETTLED else self._deaths + 1
        pause = min(LONGEST_PAUSE, 2.0 ** (self._deaths - 1)) if self._deaths > 1 else 0.0
        self._start_at = time.monotonic() + pause
        return pause


def site(listener: int) -> Child:
    """On a socket that outlives it: while it is replaced, visitors wait a moment."""
    return Child("the site", "faber_site.runtime.web", (str(listener),), inherits=(listener,))


def cluster(pulse: Pulse, known: str) -> Child:
    """Its workers take steps until there is an order to drain that is not known yet."""
    return Child("the cluster", "faber_site.runtime.cluster", (known,), pulse=pulse)
