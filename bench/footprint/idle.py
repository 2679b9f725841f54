"""What an idle site with twelve workers takes: memory that is its own, and a core."""

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

from bench.ground.scratch_site import free_port, running

WORKERS = 12
SETTLED = 45  # seconds until whatever the start left behind is gone
WATCHED = 60
_TICK = os.sysconf("SC_CLK_TCK")


def main() -> None:
    environment = {**os.environ, "FABER_WORKERS": str(WORKERS), "FABER_PORT": str(free_port())}
    with running(environment) as site:
        time.sleep(SETTLED)
        before = _core_seconds(site.pid)
        time.sleep(WATCHED)
        after, family = _core_seconds(site.pid), _family(site.pid)
        memory = sum(map(_proportional_kilobytes, family))
    print(
        json.dumps(
            {
                "processes": len(family),
                "megabytes": round(memory / 1024),
                "core_percent": round(100 * (after - before) / WATCHED, 2),
            }
        )
    )


def _family(pid: int) -> list[int]:
    parents = dict(_parents())
    found, young = [pid], [pid]
    while young := [child for child, parent in parents.items() if parent in young]:
        found += young
    return found


def _parents() -> Iterator[tuple[int, int]]:
    for entry in Path("/proc").glob("[0-9]*"):
        if fields := _stat(int(entry.name)):
            yield int(entry.name), int(fields[1])


def _core_seconds(pid: int) -> float:
    """What all of them have computed so far, with those that have ended and were waited for."""
    stats = filter(None, map(_stat, _family(pid)))
    return sum(sum(map(int, fields[11:15])) for fields in stats) / _TICK


def _stat(pid: int) -> list[str]:
    """What stands behind the name; nothing of a process that has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _proportional_kilobytes(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))


if __name__ == "__main__":
    main()
