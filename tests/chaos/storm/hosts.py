"""One machine of a site: its data directory, its processes, its clock, its way to the database."""

import contextlib
import os
import random
import signal
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.chaos.scratch import Process, Scratch, _all, eventually
from tests.chaos.storm.clocks import WallClock
from tests.chaos.storm.proxy import Proxy

READY = 120.0


@dataclass(slots=True, kw_only=True)
class Host:
    name: str
    scratch: Scratch
    clock: WallClock | None = None
    skew: int = 0  # by which its clock is off when nothing happens to it
    proxy: Proxy | None = None

    def start(self) -> None:
        if self.clock:
            self.clock.set_off(self.skew)
        ready = self.scratch.start("up")
        if not ready[0].startswith("FABER is ready"):
            raise RuntimeError(f"{self.name} did not start: {self.scratch.log.read_text()[-2000:]}")

    @property
    def lives(self) -> bool:
        faber = self.scratch.faber
        return faber is not None and faber.poll() is None

    # What it consists of

    def workers(self) -> list[Process]:
        return self.scratch.workers()

    def clusters(self) -> list[Process]:
        return self._children("cluster")

    def sites(self) -> list[Process]:
        return self._children("web")

    def lanes(self) -> list[Process]:
        """What Celery has below its clusters."""
        return self._below(self.clusters())

    def everything(self) -> list[Process]:
        """With what its steps started, whatever environment that has."""
        there = _all()
        found = {process.pid for process in self.scratch.processes()}
        while young := {p.pid for p in there if p.parent in found} - found:
            found |= young
        return [process for process in there if process.pid in found]

    def _children(self, part: str) -> list[Process]:
        faber = self.scratch.faber
        mine = [p for p in self.scratch.processes() if faber and p.parent == faber.pid]
        return [process for process in mine if process.name == f"faber-{part}"]

    def _below(self, parents: Iterable[Process]) -> list[Process]:
        pids = {parent.pid for parent in parents}
        return [process for process in self.scratch.processes() if process.parent in pids]

    # What is done to it

    def kill_all(self) -> None:
        """Like a power cut; nothing of it is left."""
        self.stop_all()  # else a worker would see its step die, and say so

        def is_gone() -> bool:
            left = self.everything()
            for process in left:
                process.kill()
            return not left

        eventually(is_gone, within=READY)
        if faber := self.scratch.faber:
            faber.communicate()

    def stop_all(self) -> list[Process]:
        """Stop everything, also what is being started meanwhile; who was stopped."""
        stopped: dict[int, Process] = {}
        while young := [p for p in self.everything() if p.pid not in stopped]:
            for process in young:
                process.kill(signal.SIGSTOP)
                stopped[process.pid] = process
        return list(stopped.values())

    def close(self) -> None:
        with contextlib.suppress(AssertionError):
            self.scratch.close()
        if self.proxy:
            self.proxy.close()


def chosen(rng: random.Random, hosts: Sequence[Host]) -> Host:
    return rng.choice(list(hosts))


def uptime() -> float:
    """The clock of the witnesses."""
    return float(Path("/proc/uptime").read_text().split()[0])


def wait(seconds: float) -> None:
    """Let a fault last; nothing is concluded from how long that was."""
    time.sleep(seconds)


def continue_all(stopped: Iterable[Process]) -> None:
    for process in stopped:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGCONT)
