"""The first error in what a failed attempt printed."""

from collections.abc import Mapping
from dataclasses import dataclass

from runs.domain.responses.results import ResultStatus
from runs.domain.values.first_error import FirstError, first_error
from runs.models import StepAttempt, StepOutput
from runs.rendering.terminal_colours import bare

SEARCHED_CHARACTERS = 2_000_000
STREAMS: Mapping[str, str] = {"stdout": "Standard output", "stderr": "Standard error"}


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintedError:
    stream: str
    error: FirstError

    @property
    def where(self) -> str:
        return f"{STREAMS[self.stream].lower()}, line {self.error.line}"


def error_of(attempt: StepAttempt) -> PrintedError | None:
    """One that is known by its tool before one that only looks like an error."""
    if attempt.result != ResultStatus.FAILURE:
        return None
    kept = StepOutput.of(attempt)
    found = [
        PrintedError(stream=name, error=error)
        for name in STREAMS
        if kept and (error := first_error(bare(kept.text(name)[:SEARCHED_CHARACTERS])))
    ]
    return min(found, key=lambda each: not each.error.tool, default=None)
