"""Finds the first error in what a tool printed; what comes after it is mostly its consequence."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from runs.domain.values.printed.terminal_codes import bare

LONGEST_LINE = 500
MOST_LINES = 8
SEARCHED_CHARACTERS = 2_000_000
STREAMS: Mapping[str, str] = {"stdout": "Standard output", "stderr": "Standard error"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorPattern:
    """How one tool begins to tell of an error, and what of the lines behind belongs to it."""

    tool: str
    begins: re.Pattern[str]
    goes_on: re.Pattern[str] | None = None
    with_next: bool = False  # the first line that does not belong says what it is about
    from_end: bool = False  # the last lines tell more than the first


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstError:
    tool: str  # empty when nothing tells which
    line: int  # counted from 1
    last_line: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintedError:
    stream: str
    error: FirstError

    @property
    def where(self) -> str:
        return f"{STREAMS[self.stream].lower()}, line {self.error.line}"


_INDENTED = re.compile(r"\s+\S")
_NOT_BLANK = re.compile(r"\s*\S")

_PATTERNS = (
    ErrorPattern(tool="pytest", begins=re.compile(r"E {2,}\S"), goes_on=re.compile(r"E(?: |$)")),
    ErrorPattern(tool="pytest", begins=re.compile(r"(?:FAILED|ERROR) \S+\.py(?:::\S|$| - )")),
    ErrorPattern(
        tool="Python",
        begins=re.compile(r"\s*Traceback \(most recent call last\):"),
        goes_on=_INDENTED,
        with_next=True,
        from_end=True,
    ),
    ErrorPattern(
        tool="npm",
        begins=re.compile(r"npm (?:ERR!|error)(?: |$)"),
        goes_on=re.compile(r"npm (?:ERR!|error)(?: |$)"),
    ),
    ErrorPattern(
        tool="cargo",
        begins=re.compile(r"error(?:\[E\d+\]: |: (?=could not compile|aborting due|linking with))"),
        goes_on=_NOT_BLANK,
    ),
    ErrorPattern(
        tool="go",
        begins=re.compile(r"(?:\S+\.go:\d+(?::\d+)?: \S|panic: |\s*--- FAIL: )"),
        goes_on=_INDENTED,
    ),
    ErrorPattern(
        tool="gcc",
        begins=re.compile(r"[^\s:]+:\d+(?::\d+)?: (?:fatal )?error: "),
        goes_on=re.compile(r"\s*\d* \|"),
    ),
    ErrorPattern(tool="make", begins=re.compile(r"g?make(?:\[\d+\])?: \*\*\* ")),
)
# Any tool may print such a line, also about what it got over: only when nothing above is found.
_ANY = ErrorPattern(
    tool="",
    begins=re.compile(
        r"FAIL(?:ED)?:?\s+\S"
        r"|(?:.{0,80}?[\s\]:])??(?:\w*(?:Error|Exception)|error|ERROR|fatal|FATAL|Fatal):? \S"
    ),
    goes_on=_INDENTED,
)


def first_error(text: str) -> FirstError | None:
    """The first error in plain text, by the tool that is recognised."""
    lines = [line[:LONGEST_LINE] for line in text.split("\n")]
    return _first(lines, _PATTERNS) or _first(lines, (_ANY,))


def error_in(streams: Mapping[str, str]) -> PrintedError | None:
    """Of both streams: one that is known by its tool before one that only looks like an error."""
    found = [
        PrintedError(stream=name, error=error)
        for name in STREAMS
        if (error := first_error(bare(streams[name][:SEARCHED_CHARACTERS])))
    ]
    return min(found, key=lambda each: not each.error.tool, default=None)


def _first(lines: Sequence[str], patterns: Sequence[ErrorPattern]) -> FirstError | None:
    for at, line in enumerate(lines):
        for pattern in patterns:
            if pattern.begins.match(line):
                return _found(lines, at, pattern)
    return None


def _found(lines: Sequence[str], start: int, pattern: ErrorPattern) -> FirstError:
    end = start + 1
    while pattern.goes_on and end < len(lines) and pattern.goes_on.match(lines[end]):
        end += 1
    if pattern.with_next and end < len(lines) and lines[end].strip():
        end += 1
    if end - start > MOST_LINES:
        start, end = (end - MOST_LINES, end) if pattern.from_end else (start, start + MOST_LINES)
    return FirstError(
        tool=pattern.tool,
        line=start + 1,
        last_line=end,
        text="\n".join(line.rstrip() for line in lines[start:end]),
    )
