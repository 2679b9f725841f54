"""A step goes on only as long as its worker says that nobody else may have it."""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from runs.domain.workflow.definition import Step
from runs.executors import Order, Outcome, Rules, execute
from runs.executors.orders import Hold
from tests.runs.executors.test_executors import is_gone, pids_in, until

# Writes a line every few milliseconds, and starts somebody who leaves its group and does the same.
WRITING = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
with open("pids", "a") as pids:
    pids.write(f"{os.getpid()}\\n")
while not os.path.exists("enough"):
    with open("lines", "a") as lines:
        lines.write("x\\n")
    time.sleep(0.005)
"""
PATIENCE = 0.5


@dataclass
class Holder:
    """Whoever has a step, and holds it until the moment that a test gives."""

    until: float = field(default_factory=lambda: time.monotonic() + 60)
    patience: float = PATIENCE

    def line(self, stream: str, text: str) -> None: ...

    def should_stop(self) -> bool:
        return False

    def hold(self) -> Hold:
        return Hold(until=self.until, patience=self.patience)


class Executed:
    """A step under way in a thread, as in a worker."""

    def __init__(self, folder: Path, holder: Holder) -> None:
        self.outcome: Outcome | None = None
        order = Order(
            step=Step(id="try", run=(sys.executable, "-c", WRITING)),
            key="build:try",
            briefing={},
            workspace=folder,
            environment={},
            timeout=60,
        )

        def work() -> None:
            self.outcome = execute(order, Rules(), holder)

        self._folder = folder
        self._thread = threading.Thread(target=work)
        self._thread.start()
        until(lambda: len(pids_in(folder / "pids")) == 2 and self.lines() > 5)

    @property
    def pids(self) -> list[int]:
        return pids_in(self._folder / "pids")

    @property
    def warden(self) -> int:
        """Who stands between this process and the step."""
        return int(Path(f"/proc/{self.pids[0]}/stat").read_text().rpartition(")")[2].split()[1])

    def lines(self) -> int:
        file = self._folder / "lines"
        return len(file.read_text()) if file.exists() else 0

    def stands_still(self) -> bool:
        return all(state(pid) == "T" for pid in self.pids)

    def goes_on(self) -> Callable[[], bool]:
        before = self.lines()
        return lambda: self.lines() > before

    def end(self) -> Outcome:
        (self._folder / "enough").touch()
        self._thread.join(30)
        assert self.outcome
        return self.outcome


def state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_a_step_whose_hold_ends_stands_still_and_then_is_ended(tmp_path: Path) -> None:
    holder = Holder(patience=1.5)
    step = Executed(tmp_path, holder)
    pids = step.pids

    holder.until = time.monotonic() + 0.2

    until(step.stands_still)
    assert time.monotonic() >= holder.until
    until(lambda: all(is_gone(pid) for pid in pids))
    outcome = step.end()
    assert (outcome.ended, outcome.result.status.value) == ("stopped", "failure")


def test_a_step_whose_hold_is_renewed_in_the_last_moment_goes_on(tmp_path: Path) -> None:
    holder = Holder(patience=30)
    step = Executed(tmp_path, holder)
    holder.until = time.monotonic()
    until(step.stands_still)

    holder.until = time.monotonic() + 60

    until(step.goes_on())
    outcome = step.end()
    assert (outcome.ended, outcome.exit_code) == ("", 0)


def test_a_worker_that_is_stopped_cannot_keep_its_step(tmp_path: Path) -> None:
    """The worker says nothing any more; its warden knows the moment."""
    holder = Holder()
    step = Executed(tmp_path, holder)
    pids = step.pids
    told = time.monotonic() + 0.6
    holder.until = told
    until(step.goes_on())
    holder.hold = _silent(told)  # type: ignore[method-assign]

    until(lambda: all(is_gone(pid) for pid in pids))

    assert time.monotonic() >= told + PATIENCE
    assert step.end().ended == "stopped"


def test_a_worker_that_cannot_know_lets_its_step_stand_still(tmp_path: Path) -> None:
    holder = Holder(patience=3)
    step = Executed(tmp_path, holder)
    holder.until = time.monotonic()
    until(step.stands_still)

    holder.patience = 60  # the database is out of reach
    until(lambda: time.monotonic() > holder.until + 4)

    assert step.stands_still()
    holder.until = time.monotonic() + 60
    until(step.goes_on())
    assert step.end().exit_code == 0


def test_a_machine_that_was_stopped_costs_nothing(tmp_path: Path) -> None:
    """Everything stood still for longer than the hold; then the worker had its chance first."""
    holder = Holder(patience=2)
    step = Executed(tmp_path, holder)
    everything = [step.warden, *step.pids]
    for pid in everything:
        os.kill(pid, signal.SIGSTOP)
    holder.until = time.monotonic() - 30  # what the warden finds when it wakes up

    for pid in reversed(everything):
        os.kill(pid, signal.SIGCONT)
    until(step.stands_still)
    holder.until = time.monotonic() + 60

    until(step.goes_on())
    assert step.end().exit_code == 0


def test_a_worker_that_was_stopped_with_its_step_has_time_to_wake_up(tmp_path: Path) -> None:
    """A machine that wakes is busy, and the database is as sleepy as everybody else."""
    holder = Holder(until=time.monotonic() + 3, patience=0.1)
    step = Executed(tmp_path, holder)
    everything = [step.warden, *step.pids]
    for pid in everything:
        os.kill(pid, signal.SIGSTOP)
    until(lambda: time.monotonic() > holder.until + 1.5)

    for pid in reversed(everything):
        os.kill(pid, signal.SIGCONT)
    woken = time.monotonic()
    until(lambda: time.monotonic() > woken + 1)
    assert step.stands_still()
    holder.until = time.monotonic() + 60

    until(step.goes_on())
    assert step.end().exit_code == 0


def test_a_word_that_was_sent_before_a_sleep_ends_nothing_after_it(tmp_path: Path) -> None:
    holder = Holder(patience=0.1)
    step = Executed(tmp_path, holder)

    holder.until = time.monotonic() - 2  # it was in the future when it was said

    until(step.stands_still)
    heard = time.monotonic()
    until(lambda: time.monotonic() > heard + 1)
    assert step.stands_still()
    holder.until = time.monotonic() + 60
    until(step.goes_on())
    assert step.end().exit_code == 0


def test_a_function_is_given_up_when_its_hold_is_over(tmp_path: Path) -> None:
    order = Order(
        step=Step(id="wait", python="tests.runs.executors.test_holds:wait_long"),
        key="build:wait",
        briefing={},
        workspace=tmp_path,
        environment={},
        timeout=60,
    )
    holder = Holder(until=time.monotonic() + 0.1, patience=0.1)

    outcome = execute(order, Rules(python_prefixes=("tests",)), holder)

    assert outcome.ended == "stopped"


def wait_long(_briefing: dict[str, object]) -> dict[str, object]:
    ends = time.monotonic() + 50
    while time.monotonic() < ends:
        time.sleep(0.05)
    return {"status": "success", "message": "waited"}


def _silent(told: float) -> Callable[[], Hold]:
    return lambda: Hold(until=told, patience=PATIENCE)


pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
