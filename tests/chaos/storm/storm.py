"""One storm from its first fault to the judge's word."""

import json
import random
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import psycopg

from tests.chaos.scratch import eventually
from tests.chaos.storm import database as looking
from tests.chaos.storm import history as histories
from tests.chaos.storm import judge, witness
from tests.chaos.storm.client import Api, Crowd, marks_on
from tests.chaos.storm.faults import Fault, Weather
from tests.chaos.storm.history import History
from tests.chaos.storm.judge import Violation
from tests.chaos.storm.scenes import Scene

# After this nothing that has not come to rest ever will.
GIVE_UP = 120.0
SAMPLE_PAUSE = 0.5

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How hard it blows, and for how long."""

    seed: int
    faults: Sequence[Fault]
    seconds: float  # of faults; each strikes once at least
    longest_lock: float  # of SQLite, in seconds
    runs: int = 1_000_000
    at_once: int = 6
    calm: float = 1.5  # between two faults, at most


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    history: History
    violations: Sequence[Violation]
    struck: Counter[str]

    def lines(self) -> list[str]:
        seen, tables = self.history, self.history.tables
        answers = Counter(answer.outcome for answer in seen.answers)
        begun = sum(sign.what == "begin" for sign in seen.signs)
        lost = sum(row.status == "lost" for row in tables.attempts)
        states = Counter(row.status for row in tables.runs)
        rest = "never" if seen.rest is None else f"after {seen.rest:.0f} s"
        return [
            *(f"{count:5} × {name}" for name, count in sorted(self.struck.items())),
            f"{len(tables.runs)} runs ({_told(states)})",
            f"{len(seen.answers)} answers ({_told(answers)}), {len(seen.spoken)} on GitHub, "
            f"{len(tables.requests)} requests, {len(seen.marks)} comments",
            f"{begun} executions of {len(tables.attempts)} attempts, {lost} of them lost; "
            f"{len(tables.events)} events",
            f"at rest {rest}",
            f"{len(self.violations)} violations",
            *(f"  {violation}" for violation in self.violations),
        ]


def _told(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))


def blow(scene: Scene, plan: Plan, say: Say) -> Report:
    """Let it blow over a site that is ready."""
    crowd = Crowd(
        Api([host.scratch.port for host in scene.hosts], scene.token),
        scene.github,
        seed=plan.seed,
        folder=scene.work,
        signs=scene.signs,
        at_once=plan.at_once,
        most=plan.runs,
        longest=2.5 * scene.lease,
    )
    weather = Weather(
        rng=random.Random(plan.seed),  # noqa: S311
        hosts=scene.hosts,
        lease=scene.lease,
        database=scene.database,
        longest_lock=plan.longest_lock,
    )
    sampler = Sampler(scene)
    crowd.begin()
    sampler.start()
    # A full disk at the very first start would leave nothing to do but wait for its key.
    assert eventually(lambda: crowd.starts, within=GIVE_UP)
    struck = _strike(weather, plan, say)
    calm_since = time.monotonic()
    crowd.start_no_more()
    eventually(lambda: crowd.troubles or not _unrest(scene, crowd), within=GIVE_UP)
    rest, unrest = time.monotonic() - calm_since, _unrest(scene, crowd)
    crowd.leave()
    sampler.stop()
    seen = History(
        signs=witness.signs(scene.signs),
        starts=tuple(crowd.starts),
        answers=tuple(crowd.answers),
        spoken=tuple(crowd.spoken),
        marks=tuple(marks_on(scene.github)),
        looks=tuple(crowd.looks),
        wakings=tuple(weather.wakings),
        askew=tuple(sampler.askew),
        tables=looking.tables(scene.database),
        rest=None if unrest else rest,
        unrest=unrest,
        troubles=(*crowd.troubles, *_troubles(scene)),
    )
    histories.write(seen, scene.folder / "history.json")
    return Report(history=seen, violations=judge.violations(seen), struck=struck)


def _strike(weather: Weather, plan: Plan, say: Say) -> Counter[str]:
    """Every fault once, in any order, and again until the time is over."""
    struck: Counter[str] = Counter()
    until = time.monotonic() + plan.seconds
    began = time.monotonic()
    while True:
        for fault in weather.rng.sample(plan.faults, len(plan.faults)):
            if time.monotonic() > until and len(struck) == len(plan.faults):
                return struck
            time.sleep(weather.rng.uniform(0, plan.calm))
            told = fault.strike(weather)
            struck[fault.name] += 1
            say(f"{time.monotonic() - began:6.1f} s  {fault.name}: {told}")


def _unrest(scene: Scene, crowd: Crowd) -> str:
    spools = [host.scratch.folder / "spool" for host in scene.hosts]
    files = [file for spool in spools if spool.is_dir() for file in spool.iterdir()]
    kept = [file.name for file in files if _holds_something(file)]
    try:
        left = looking.unrest(scene.database)
    except (psycopg.Error, sqlite3.Error) as error:
        left = str(error)
    under_way = "calls are under way" if crowd.is_calling else ""
    return "; ".join(filter(None, [left, f"spool {kept}" if kept else "", under_way]))


def _holds_something(file: Path) -> bool:
    try:
        return file.stat().st_size > 0
    except FileNotFoundError:
        return False


def _troubles(scene: Scene) -> list[str]:
    found = [f"{host.name} has ended by itself" for host in scene.hosts if not host.lives]
    asked = scene.hosts[0].scratch.run("audit", "verify", "--json")
    printed, _ = asked.communicate(timeout=GIVE_UP)
    if not (printed and json.loads(printed).get("valid")):
        found.append(f"the record is not whole: {printed}")
    return found


class Sampler:
    """Looks at the database again and again, each time at one moment of it."""

    def __init__(self, scene: Scene) -> None:
        self.askew: list[str] = []
        self._database = scene.database
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._done.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._done.wait(SAMPLE_PAUSE):
            try:
                found = looking.askew(self._database)
            except (psycopg.Error, sqlite3.Error):  # that is what a storm is
                continue
            self.askew += [each for each in found if each not in self.askew]
