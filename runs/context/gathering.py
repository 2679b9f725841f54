"""Reads sources outside the database side by side, each for as long as it may take."""

import hashlib
import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from runs.domain.values.numbers import seconds_of

logger = logging.getLogger(__name__)

WHOLE_SECONDS = 10.0

Json = dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRead:
    """What a source gave: its value, how it went, and the hash and size of what was read."""

    value: object = None
    status: str = "ok"  # ok, missing, off, timeout, error
    size: int = 0
    sha256: str | None = None
    duration_ms: int = 0
    notes: tuple[Json, ...] = field(default=())
    left_out: tuple[Json, ...] = field(default=())


def found(
    value: object,
    raw: bytes,
    *,
    status: str = "ok",
    notes: tuple[Json, ...] = (),
    left_out: tuple[Json, ...] = (),
) -> SourceRead:
    """A value with the hash and size of what it was made of."""
    return SourceRead(
        value=value,
        status=status,
        size=len(raw),
        sha256=hashlib.sha256(raw).hexdigest(),
        notes=notes,
        left_out=left_out,
    )


def nothing(source: str, status: str, level: str, message: str) -> SourceRead:
    return SourceRead(status=status, notes=(note(source, level, message),))


def note(source: str, level: str, message: str) -> Json:
    return {"source": source, "level": level, "message": message}


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """Something to read, which must touch neither the database nor the run."""

    read: Callable[[], SourceRead]
    seconds: float


class Gathering:
    """Reads from the moment it is made; a source that hangs is left behind, not waited for."""

    def __init__(self, tasks: Mapping[str, Task]) -> None:
        self._began = time.monotonic()
        self._readers = {name: _Reader(name, task) for name, task in tasks.items()}
        for reader in self._readers.values():
            reader.start()

    def results(self) -> dict[str, SourceRead]:
        return {name: self._result(reader) for name, reader in self._readers.items()}

    def _result(self, reader: "_Reader") -> SourceRead:
        seconds = min(reader.task.seconds, WHOLE_SECONDS)
        reader.join(max(0.0, self._began + seconds - time.monotonic()))
        if reader.result is not None:
            return reader.result
        late = f"Reading the {reader.name} took longer than {seconds_of(seconds)}."
        return replace(
            nothing(reader.name, "timeout", "warning", late), duration_ms=round(seconds * 1000)
        )


class _Reader(threading.Thread):
    """A daemon: a process that ends does not wait for a source that hangs."""

    def __init__(self, name: str, task: Task) -> None:
        super().__init__(name=name, daemon=True)
        self.task = task
        self.result: SourceRead | None = None

    def run(self) -> None:
        began = time.perf_counter()
        try:
            result = self.task.read()
        except Exception:  # a source never fails the step
            logger.exception("the %s could not be read", self.name)
            broken = f"Could not read the {self.name}. See the log."
            result = nothing(self.name, "error", "warning", broken)
        self.result = replace(result, duration_ms=milliseconds_since(began))


def milliseconds_since(began: float) -> int:
    return round((time.perf_counter() - began) * 1000)
