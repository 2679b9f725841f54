"""What happens around a host: its database, its disk, the network between them."""

import contextlib
import errno

from tests.chaos.storm.database import PostgresServer, SqliteFile
from tests.chaos.storm.faults import Fault, Weather
from tests.chaos.storm.hosts import Host, chosen, wait

_CHUNK = bytes(1 << 16)


class Restart(Fault):
    name = "database restarted"

    def strike(self, weather: Weather) -> str:
        server, kindly = _server(weather), weather.rng.random() < 0.5
        server.stop(kindly=kindly)
        wait(weather.rng.uniform(0, 2) * weather.lease)
        server.start()
        return "every connection was ended" if kindly else "it crashed"


class Freeze(Fault):
    """The database answers nobody for a while, then goes on, or every connection breaks."""

    name = "database frozen"

    def strike(self, weather: Weather) -> str:
        return _severed(weather, list(weather.hosts), freezes=True)


class Partition(Fault):
    """One host is alone; the other goes on."""

    name = "host cut from the database"

    def strike(self, weather: Weather) -> str:
        host = chosen(weather.rng, weather.hosts)
        return _severed(weather, [host], freezes=weather.rng.random() < 0.5)


class Lock(Fault):
    """Somebody else writes to SQLite, and takes their time."""

    name = "SQLite locked"

    def strike(self, weather: Weather) -> str:
        if not isinstance(weather.database, SqliteFile):
            raise TypeError("only SQLite can be locked")
        with contextlib.closing(weather.database.locked()):
            seconds = weather.rng.uniform(weather.lease, weather.longest_lock)
            wait(seconds)
        return f"for {seconds:.0f} s"


class FullDisk(Fault):
    """The disk of a host's data directory has no room left."""

    name = "disk full"

    def strike(self, weather: Weather) -> str:
        host = chosen(weather.rng, weather.hosts)
        ballast = host.scratch.folder / "ballast"
        try:
            written = _fill(host)
            wait(weather.lease * weather.rng.uniform(0.5, 2))
        finally:
            ballast.unlink(missing_ok=True)
        return f"{host.name}, {written >> 20} MB"


def _fill(host: Host) -> int:
    written = 0
    with (host.scratch.folder / "ballast").open("wb", buffering=0) as ballast:
        while True:
            try:
                written += ballast.write(_CHUNK)
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
                return written


def _server(weather: Weather) -> PostgresServer:
    if not isinstance(weather.database, PostgresServer):
        raise TypeError("only a server can be restarted")
    return weather.database


def _severed(weather: Weather, hosts: list[Host], *, freezes: bool) -> str:
    proxies = [host.proxy for host in hosts if host.proxy]
    breaks = not freezes or weather.rng.random() < 0.5
    for proxy in proxies:
        if freezes:
            proxy.freeze()
        else:
            proxy.cut()
    wait(weather.lease * weather.rng.uniform(0.5, 3))
    for proxy in proxies:
        if freezes and breaks:
            proxy.cut()
        proxy.heal()
    how = "frozen" if freezes else "refused"
    return f"{', '.join(host.name for host in hosts)}, {how}{', then broken' * breaks}"
