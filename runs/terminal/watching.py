"""Shows a run going on, on a screen or line by line."""

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol

from runs.domain.responses.results import ResultStatus
from runs.engine import Claim
from runs.terminal.layout import clean, duration, event_line, one_line
from runs.worker.advance import Observer

_WORDS: Mapping[str, str] = {
    ResultStatus.SUCCESS: "ok",
    ResultStatus.WARNING: "warning",
    ResultStatus.FAILURE: "failed",
    ResultStatus.PENDING_INPUT: "asks",
}


class TerminalView(Observer, Protocol):
    """An observer that can also be told things, and leaves the screen tidy."""

    def say(self, line: str) -> None: ...

    def event(self, document: Mapping[str, object]) -> None: ...

    def close(self) -> None: ...


def view_for(say: Callable[[str], None]) -> TerminalView:
    """What suits standard error: a screen, or somebody's log."""
    if not sys.stderr.isatty():
        return PlainView(say)
    from runs.terminal.screen import ScreenView  # noqa: PLC0415  pipes need not pay for rich

    return ScreenView()


@contextmanager
def following_for(say: Callable[[str], None]) -> Iterator[Callable[[list[str]], None]]:
    """Shows lines that change: drawn anew on a screen, else each line once when it is new."""
    if sys.stderr.isatty():
        from runs.terminal.screen import redrawing  # noqa: PLC0415  pipes need not pay for rich

        with redrawing() as draw:
            yield draw
        return
    told: set[str] = set()

    def tell(lines: list[str]) -> None:
        nonlocal told
        for line in lines:
            if line not in told:
                say(line)
        told = set(lines)

    yield tell


class PlainView:
    """One line for everything that happens, and for every line a step prints."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._began = 0.0

    def say(self, line: str) -> None:
        self._say(line)

    def event(self, document: Mapping[str, object]) -> None:
        self._say(event_line(document))

    def step_begins(self, claim: Claim) -> None:
        self._began = time.monotonic()
        self._say(f"start    {name_of(claim)}")

    def line(self, stream: str, text: str) -> None:
        self._say(f"  | {clean(text)}")

    def step_ends(self, claim: Claim) -> None:
        took = duration(time.monotonic() - self._began)
        word = _WORDS.get(claim.attempt.result, "lost")  # another worker has it by now
        said = one_line(claim.attempt.message)
        self._say(f"{word:<8} {name_of(claim)} {took} {said}")
        whole = clean(claim.attempt.message).strip()
        if said != " ".join(whole.split()):
            for line in whole.split("\n"):
                self._say(f"  > {line}")

    def close(self) -> None: ...


def name_of(claim: Claim) -> str:
    number = claim.attempt.number
    return f"{claim.unit.key} (attempt {number})" if number > 1 else claim.unit.key
