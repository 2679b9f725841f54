"""What happens to the processes of a host: killed, stopped, given another time."""

import random
import signal
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from faber_site.runtime import processes
from tests.chaos.scratch import Process, eventually
from tests.chaos.storm.database import PostgresServer, SqliteFile
from tests.chaos.storm.hosts import Host, chosen, continue_all, uptime, wait

PATIENCE = 30.0
FURTHEST_JUMP = 600  # seconds, either way


@dataclass(slots=True, kw_only=True)
class Weather:
    """What faults are done to, and what of them matters to the judge."""

    rng: random.Random
    hosts: Sequence[Host]
    lease: int
    database: SqliteFile | PostgresServer
    longest_lock: float  # seconds
    wakings: list[float] = field(default_factory=list)


class Fault(ABC):
    """Strikes, lasts for a while, and is over when `strike` returns."""

    name: str

    @abstractmethod
    def strike(self, weather: Weather) -> str:
        """Do it; what was done, in a few words."""


def _as_soon_as_there(host: Host, victims: Callable[[Host], list[Process]]) -> list[Process]:
    """The fault before may have left none; they come back, or the judge hears of it."""
    found: list[Process] = []

    def is_there() -> bool:
        found[:] = victims(host)
        return bool(found)

    eventually(is_there, within=PATIENCE)
    return found


class Kill(Fault):
    def __init__(self, what: str, victims: Callable[[Host], list[Process]]) -> None:
        self.name = f"kill -9 of {what}"
        self._victims = victims

    def strike(self, weather: Weather) -> str:
        host = chosen(weather.rng, weather.hosts)
        there = _as_soon_as_there(host, self._victims)
        killed = weather.rng.sample(there, min(len(there), weather.rng.choice((1, 1, 2))))
        for victim in killed:
            victim.kill()
        return f"{host.name} {[victim.pid for victim in killed]}"


class PowerCut(Fault):
    """Everything of a host at once, with its supervisor; then it is started again."""

    name = "kill -9 of a whole host"

    def strike(self, weather: Weather) -> str:
        host = chosen(weather.rng, weather.hosts)
        host.kill_all()
        host.start()
        return host.name


class Pause(Fault):
    """A worker stands still and its step does not, until its lease is somebody else's."""

    name = "worker stopped for longer than its lease"

    def strike(self, weather: Weather) -> str:
        host = chosen(weather.rng, weather.hosts)
        there = _as_soon_as_there(host, Host.workers)
        busy = [worker for worker in there if worker.name == processes.BUSY]
        stopped = weather.rng.sample(busy or there, min(len(there), 1))
        for worker in stopped:
            worker.kill(signal.SIGSTOP)
        wait(weather.lease * weather.rng.uniform(1.5, 2.5))
        continue_all(stopped)
        return f"{host.name} {[worker.pid for worker in stopped]}"


class Suspend(Fault):
    """Everything of a host stands still, steps too, and goes on as if nothing had been."""

    name = "process tree stopped and continued"

    def strike(self, weather: Weather) -> str:
        host = chosen(weather.rng, weather.hosts)
        stopped = host.stop_all()
        wait(weather.lease * weather.rng.uniform(0.5, 2.5))
        weather.wakings.append(uptime())
        continue_all(stopped)
        return f"{host.name}, {len(stopped)} processes"


class Jump(Fault):
    """The wall clock of one host goes wrong one way, then the other, then right."""

    name = "wall clock jumped"

    def strike(self, weather: Weather) -> str:
        host = chosen(weather.rng, weather.hosts)
        furthest = weather.rng.choice((8 * weather.lease, FURTHEST_JUMP))
        off = weather.rng.randint(4 * weather.lease, furthest) * weather.rng.choice((1, -1))
        for seconds in (off, -off, host.skew):
            if host.clock:
                host.clock.set_off(seconds)
            wait(weather.rng.uniform(0.5, 1) * weather.lease)
        return f"{host.name} by {off:+d} s and {-off:+d} s"


KILLS: tuple[Fault, ...] = (
    Kill("workers", Host.workers),
    Kill("a cluster", Host.clusters),
    Kill("the site", Host.sites),
    PowerCut(),
)
