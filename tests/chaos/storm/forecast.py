"""Which faults can be had here, for a site on either database."""

from collections.abc import Sequence

from tests.chaos.storm import clocks, outages
from tests.chaos.storm.database import PostgresServer
from tests.chaos.storm.faults import KILLS, Fault, Jump, Pause, Suspend
from tests.chaos.storm.scenes import Scene

_NO_DISK = "no disk of its own can be mounted here, which needs root: it is not filled"


def faults_for(scene: Scene) -> tuple[Sequence[Fault], list[str]]:
    """The faults, and why the others cannot be had."""
    found: list[Fault] = [*KILLS, Pause(), Suspend()]
    missing: list[str] = []
    if isinstance(scene.database, PostgresServer):
        found += [outages.Restart(), outages.Freeze(), outages.Partition()]
    else:
        found.append(outages.Lock())
    if scene.has_own_disk:
        found.append(outages.FullDisk())
    else:
        missing.append(_NO_DISK)
    if clocks.library():
        found.append(Jump())
    else:
        missing.append(clocks.MISSING)
    return found, missing
