"""Steps that tell when they begin, live and end, in a file that no fault reaches."""

import shlex
from pathlib import Path

from tests.chaos.storm.history import Sign

PAUSE = 0.2
# A short line that is appended is whole, and its place in the file is when it was written.
_SCRIPT = """
tell() {{
    read -r up _ < /proc/uptime
    echo "$1 $FABER_RUN_ID $FABER_STEP $FABER_ATTEMPT $$ $up" >> {file}
}}
tell begin
for _ in $(seq {times}); do sleep {pause}; tell alive; done
tell end
"""


def script(file: Path, *, seconds: float) -> list[str]:
    """A step's command that lasts about so long, and tells so."""
    times = max(1, round(seconds / PAUSE))
    return ["sh", "-c", _SCRIPT.format(file=shlex.quote(str(file)), times=times, pause=PAUSE)]


def signs(file: Path) -> tuple[Sign, ...]:
    lines = file.read_text().splitlines() if file.exists() else []
    return tuple(_sign(line) for line in lines)


def _sign(line: str) -> Sign:
    what, run, step, attempt, pid, at = line.split()
    return Sign(what=what, run=run, step=step, attempt=int(attempt), pid=int(pid), at=float(at))
