"""One contender in one round: started, warmed, measured, ended."""

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from bench.ground.scratch_site import ROOT
from bench.peers import environments
from bench.peers.contender_table import Contender, Store
from bench.peers.stores import Place
from bench.work.workload import loop


class ContenderFailed(Exception):
    """It ended without an answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """What one contender did in one round."""

    started_per_second: float
    completed_per_second: float
    delays_ms: list[float]
    bytes_per_run: int | None  # of the first round alone
    loop_ms: int
    load: float
    versions: dict[str, str]


class Driver:
    def __init__(self, process: "subprocess.Popen[str]", log: IO[bytes]) -> None:
        self._process = process
        self._log = log

    def ask(self, order: str) -> Any:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{order}\n")
        self._process.stdin.flush()
        return self.hear()

    def hear(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._log.seek(0)
            raise ContenderFailed(self._log.read().decode(errors="replace")[-2000:])
        return json.loads(line)


def measure(contender: Contender, place: Place, *, weigh: bool) -> Round:
    with _running(contender, place) as driver:
        versions = driver.hear()
        for _ in range(2):  # warm: imports, connections, the database's first look at its tables
            driver.ask(f"pause {min(contender.burst, 10)}")
            driver.ask("finish")
        weight = _weighed(driver, contender, place) if weigh else None
        load, speed = os.getloadavg()[0], loop()
        return Round(
            started_per_second=contender.burst / driver.ask(f"pause {contender.burst}"),
            completed_per_second=contender.burst / driver.ask("finish"),
            delays_ms=[each * 1000 for each in driver.ask(f"delays {contender.delays}")],
            bytes_per_run=weight,
            loop_ms=round(speed * 1000),
            load=round(load, 1),
            versions=versions,
        )


def _weighed(driver: Driver, contender: Contender, place: Place) -> int:
    before = place.size()
    driver.ask(f"pause {contender.weighed}")
    after = place.size()
    driver.ask("finish")
    return (after - before) // contender.weighed


@contextmanager
def _running(contender: Contender, place: Place) -> Iterator[Driver]:
    with tempfile.TemporaryDirectory(prefix="faber-peer-") as folder, _log(folder) as log:
        process = subprocess.Popen(
            [
                environments.python_with(contender.needs),
                "-m",
                f"bench.peers.contenders.{contender.name}",
                place.told(contender),
                folder,
            ],
            cwd=ROOT,
            env={**os.environ, **_of_ours(contender, place, folder)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
        with process:
            yield Driver(process, log)
            assert process.stdin is not None
            process.stdin.close()
            process.wait(60)


def _log(folder: str) -> IO[bytes]:
    return (Path(folder) / "stderr.log").open("w+b")


def _of_ours(contender: Contender, place: Place, folder: str) -> dict[str, str]:
    """What FABER is told by its environment: two workers, all else as it comes."""
    if contender.needs:
        return {}
    at = f"sqlite:///{place.address}" if place.store is Store.SQLITE else place.address
    return {
        "DJANGO_SETTINGS_MODULE": "faber_site.settings",
        "FABER_DATA_DIR": folder,
        "FABER_DATABASE_URL": at,
        "FABER_PYTHON_STEPS": "bench.ground.steps",
        "FABER_WORKERS": "2",
    }
