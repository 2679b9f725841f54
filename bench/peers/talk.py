"""How a contender is driven: a line in, a line of JSON out. Runs in every environment."""

import json
import sys
import time
from collections.abc import Callable
from importlib import metadata
from typing import Protocol


class Contender(Protocol):
    def pause(self, count: int) -> None:
        """Start so many runs, and come back when all of them wait for their answer."""

    def finish(self) -> None:
        """Answer every run that waits, and come back when all of them are completed."""

    def delay(self) -> float:
        """Seconds from issuing the answer of one run to the first resumed step's code."""


def serve(contender: Contender, *packages: str) -> None:
    """Do what the lines ask for until there are none."""
    orders: dict[str, Callable[[int], object]] = {
        "pause": lambda count: timed(lambda: contender.pause(count)),
        "finish": lambda _: timed(contender.finish),
        "delays": lambda count: [contender.delay() for _ in range(count)],
    }
    say({name: metadata.version(name) for name in packages})
    for line in sys.stdin:
        order, _, number = line.strip().partition(" ")
        say(orders[order](int(number or 0)))


def timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def say(told: object) -> None:
    print(json.dumps(told), flush=True)
