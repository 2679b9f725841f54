"""Runs one command to its end, whatever it does."""

import math
import os
import selectors
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from runs.domain.values.secrets.redaction import LineRedaction, redact
from runs.executors.guarding import Guarded
from runs.executors.orders import Hold, Watcher
from runs.executors.output import Capture, Lines, Printed, Throttle
from runs.isolation.door import Door

GRACE = 2.0  # between asking a command to end and killing it
LEFTOVERS = 0.5  # what the command left running may still finish by itself
GIVE_UP = 5.0  # after the kill: something hangs in the kernel
STOPPED = 5.0  # who was not heard of for so long was not slow but stopped, as laptops are
POLL = 0.4
CHUNK = 1 << 16

Conceal = Callable[[str], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """How a command ended, and what it printed."""

    stdout: Printed = field(default_factory=Printed)
    stderr: Printed = field(default_factory=Printed)
    exit_code: int | None = None
    ended: str = ""  # see Outcome
    problem: str = ""  # why it was never started


def run(
    argv: Sequence[str],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    feed: bytes,
    timeout: float,
    watcher: Watcher,
    conceal: Conceal = redact,
    shelter: Sequence[str] = (),
    door: Door | None = None,
) -> Finished:
    """Execute argv without a shell; come back when it and everything it started is gone."""
    try:
        if not cwd.is_dir():
            return Finished(problem=f"The workspace {cwd} does not exist or is not a folder.")
        guarded = Guarded(argv, cwd=cwd, environment=environment, shelter=shelter)
    except (OSError, ValueError) as error:  # too long, or with a character no argument may hold
        return Finished(problem=f"The command {argv[0][:200]!r} could not start: {error}.")
    with guarded:
        ending = _Ending(guarded, timeout, watcher)
        return _to_the_end(guarded, feed, ending, _shown(watcher, conceal), door)


def _to_the_end(
    guarded: Guarded,
    feed: bytes,
    ending: "_Ending",
    show: Callable[[str], Lines],
    door: Door | None,
) -> Finished:
    stdout = _Stream(guarded.stdout, show("stdout"))
    stderr = _Stream(guarded.stderr, show("stderr"))
    with selectors.DefaultSelector() as selector:
        _register(selector, guarded.stdin, selectors.EVENT_WRITE, _Feed(guarded.stdin, feed).write)
        _register(selector, guarded.stdout, selectors.EVENT_READ, stdout.read)
        _register(selector, guarded.stderr, selectors.EVENT_READ, stderr.read)
        selector.register(guarded, selectors.EVENT_READ, guarded.hear)
        if door:
            selector.register(door, selectors.EVENT_READ, door.answer)
        while not guarded.gone:
            _serve(selector, ending.pause())
            ending.look()
        ending.check_warden()
        # Whoever still holds the pipes got them from elsewhere, and is not waited for.
        until = time.monotonic() + 1
        while _serve(selector, 0) and time.monotonic() < until:
            pass
    return Finished(
        stdout=stdout.finish(),
        stderr=stderr.finish(),
        exit_code=guarded.exit_code,
        ended=ending.reason,
        problem=guarded.problem if ending.reason in ("", "lost") else "",
    )


def _register(
    selector: selectors.BaseSelector, pipe: IO[bytes], event: int, serve: Callable[[], bool]
) -> None:
    os.set_blocking(pipe.fileno(), False)
    selector.register(pipe, event, serve)


def _serve(selector: selectors.BaseSelector, patience: float) -> bool:
    """Do what can be done now; false when there was nothing."""
    ready = selector.select(patience)
    for key, _ in ready:
        if not key.data():
            selector.unregister(key.fileobj)
    return bool(ready)


class _Feed:
    def __init__(self, pipe: IO[bytes], data: bytes) -> None:
        self._pipe = pipe
        self._left = memoryview(data)

    def write(self) -> bool:
        """False when all is written, or nobody reads it."""
        try:
            self._left = self._left[os.write(self._pipe.fileno(), self._left[:CHUNK]) :]
        except BlockingIOError:
            return True
        except BrokenPipeError:
            self._left = self._left[:0]
        if not self._left:
            self._pipe.close()
        return bool(self._left)


def _shown(watcher: Watcher, conceal: Conceal) -> Callable[[str], Lines]:
    """How the lines of a stream reach the watcher; together they are not too many."""
    throttle = Throttle()
    return lambda name: Lines(
        lambda text: watcher.line(name, text), throttle, LineRedaction(conceal)
    )


class _Stream:
    def __init__(self, pipe: IO[bytes], lines: Lines) -> None:
        self._pipe = pipe
        self._capture = Capture()
        self._lines = lines

    def read(self) -> bool:
        """False when nobody can write any more."""
        try:
            chunk = os.read(self._pipe.fileno(), CHUNK)
        except BlockingIOError:
            return True
        self._capture.feed(chunk)
        self._lines.feed(chunk)
        return bool(chunk)

    def finish(self) -> Printed:
        self._lines.finish()
        return self._capture.printed()


class _Ending:
    """When a command is ended from outside, in steps that are each less friendly."""

    def __init__(self, guarded: Guarded, timeout: float, watcher: Watcher) -> None:
        self.reason = ""
        self._guarded = guarded
        self._watcher = watcher
        self._looked_at = self._poll_at = time.monotonic()
        self._next_at = time.monotonic() + timeout
        self._held: Hold | None = None
        self._exit_seen = False
        self._steps = [
            (guarded.ask_to_end, GRACE),
            (guarded.kill, GIVE_UP),
            (guarded.give_up, math.inf),
        ]

    def pause(self) -> float:
        return max(0.0, min(self._poll_at, self._next_at) - time.monotonic())

    def look(self) -> None:
        now = time.monotonic()
        if now - self._looked_at > STOPPED:  # nor did the command have this time
            self._next_at += now - self._looked_at
        self._looked_at = now
        self._pass_on_hold()
        if self._guarded.exit_code is not None and not self._exit_seen:
            self._exit_seen = True
            self._next_at = min(self._next_at, now + LEFTOVERS)
        if now >= self._poll_at:
            self._poll_at = now + POLL
            if self._watcher.should_stop():
                self._stop(now)
        if now >= self._next_at:
            self._take_step(now)

    def _pass_on_hold(self) -> None:
        held = self._watcher.hold()
        if held and held != self._held:
            self._held = held
            self._guarded.hold(held.until, held.patience)

    def _stop(self, now: float) -> None:
        self.reason = self.reason or "stopped"
        if len(self._steps) > 1:
            self._steps = self._steps[-2:]
            self._next_at = now

    def _take_step(self, now: float) -> None:
        if not self._exit_seen:
            self.reason = self.reason or "timeout"
        act, patience = self._steps.pop(0)
        act()
        self._next_at = now + patience

    def check_warden(self) -> None:
        if self._guarded.is_fenced:
            self.reason = "stopped"
        elif self._guarded.exit_code is None:
            self.reason = self.reason or "lost"
            self._guarded.kill_group()
