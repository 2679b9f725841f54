"""A run is a trace: its spans are named by what they are about, so every process knows them."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanName:
    """Of a run, of one attempt of a step, or of the agent that executed it."""

    run_id: str
    attempt: str = ""
    is_agent: bool = False

    @property
    def trace_id(self) -> int:
        """A run's id ends in a random uuid, and so is this."""
        return _number(16, "trace", self.run_id)

    @property
    def span_id(self) -> int:
        return _number(8, "span", self.run_id, self.attempt, "agent" if self.is_agent else "")

    @property
    def parent(self) -> "SpanName | None":
        if not self.attempt:
            return None
        return SpanName(run_id=self.run_id, attempt=self.attempt if self.is_agent else "")

    @property
    def traceparent(self) -> str:
        """As W3C's Trace Context writes it."""
        return f"00-{self.trace_id:032x}-{self.span_id:016x}-01"


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedSpan:
    name: SpanName
    title: str
    began: datetime
    ended: datetime
    has_failed: bool = False
    attributes: Mapping[str, str | int | float] = field(default_factory=dict)


def _number(size: int, *parts: str) -> int:
    digest = hashlib.sha256("\0".join(("faber", *parts)).encode()).digest()
    return int.from_bytes(digest[:size]) or 1  # zero is no id
