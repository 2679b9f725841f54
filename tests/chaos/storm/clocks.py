"""A wall clock of its own for everything a host consists of, which can be set."""

import shutil
import struct
import subprocess
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

_KEPT = TemporaryDirectory(prefix="faber-storm-clock-")  # as long as this process
_SOURCE = Path(__file__).with_name("wall_clock.c")
MISSING = "no C compiler (`apt-get install gcc libc6-dev`), so no clock is moved"


@cache
def library() -> Path | None:
    """What is put before every program of a host; nothing where it cannot be compiled."""
    compiler = shutil.which("cc")
    if compiler is None:
        return None
    made = Path(_KEPT.name) / "wall_clock.so"
    command = [compiler, "-shared", "-fPIC", "-O2", "-o", str(made), str(_SOURCE)]
    done = subprocess.run(command, capture_output=True, check=False)
    return made if done.returncode == 0 else None


class WallClock:
    """Off by as many seconds as its file says, from that moment on and for all who read it."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._file.write_bytes(struct.pack("l", 0))

    def environment(self) -> dict[str, str]:
        return {"LD_PRELOAD": str(library()), "STORM_WALL_CLOCK": str(self._file)}

    def set_off(self, seconds: int) -> None:
        with self._file.open("r+b") as file:  # the same file: it is mapped by everybody
            file.write(struct.pack("l", seconds))
