"""What one execution of a step printed, as much of it as a page can hold."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.safestring import SafeString

from runs.domain.responses import usage
from runs.domain.values.errors import NotFound
from runs.domain.values.printed.first_error import STREAMS, PrintedError
from runs.models import Run, StepAttempt, StepOutput, live_output
from runs.pages.run.failures import error_of
from runs.rendering import terminal_colours

SHOWN_CHARACTERS = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    name: str
    title: str
    text: str  # its end, when it is longer than a page can hold
    length: int
    error: range = range(0)  # the lines of the first error, when they are among those shown

    @property
    def is_cut(self) -> bool:
        return self.length > len(self.text)

    @property
    def html(self) -> SafeString:
        return terminal_colours.coloured(self.text, marked=self.error)


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputShown:
    run: Run
    attempt: StepAttempt
    title: str
    streams: Sequence[Stream]
    first: PrintedError | None = None

    @property
    def shows_first(self) -> bool:
        return any(stream.error for stream in self.streams)

    @property
    def goes_on(self) -> bool:
        return self.attempt.status in StepAttempt.OPEN

    @property
    def cost(self) -> str:
        return usage.spoken(self.attempt.usage)

    @property
    def version(self) -> str:
        return f"{self.attempt.status}-{sum(stream.length for stream in self.streams)}"


def output_of(run: Run, attempt_pk: int) -> OutputShown:
    attempt = _attempt(run, attempt_pk)
    first = error_of(attempt)
    keys = {unit.key: unit.step.title for unit in run.frozen_plan.units}
    return OutputShown(
        run=run,
        attempt=attempt,
        title=keys.get(attempt.key, attempt.step),
        streams=_streams(attempt, first),
        first=first,
    )


def whole(run: Run, attempt_pk: int, stream: str) -> tuple[str, str]:
    """Everything that was kept of one stream, and what to call the file."""
    attempt = _attempt(run, attempt_pk)
    kept = StepOutput.of(attempt)
    if kept is None:
        raise NotFound(f"No output of {attempt} was kept.")
    return kept.text(stream), f"{attempt.phase}-{attempt.step}-{attempt.number}-{stream}.txt"


def _attempt(run: Run, attempt_pk: int) -> StepAttempt:
    attempt = run.attempts.filter(pk=attempt_pk).first()
    if attempt is None:
        raise NotFound(f"The run {run.run_id} has no such attempt.")
    run.check_kept()
    return attempt


def _streams(attempt: StepAttempt, first: PrintedError | None) -> list[Stream]:
    if text := live_output.tail(attempt):
        return [Stream(name="", title="Latest lines", text=text, length=len(text))]
    kept = StepOutput.of(attempt)
    return [
        Stream(
            name=name,
            title=title,
            text=text[-SHOWN_CHARACTERS:],
            length=len(text),
            error=_place(first, name, len(text)),
        )
        for name, title in STREAMS.items()
        if kept and (text := kept.text(name))
    ]


def _place(first: PrintedError | None, stream: str, length: int) -> range:
    if first is None or first.stream != stream or length > SHOWN_CHARACTERS:
        return range(0)
    return range(first.error.line, first.error.last_line + 1)
