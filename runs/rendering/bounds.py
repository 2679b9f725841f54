"""How much is too much to render; beyond it a document is shown as plain text.

No document may keep a page waiting for more than about a second, whatever it was made for.
Work is estimated, not timed, so the same text is always shown the same way.
"""

import itertools
import re

from markdown_it.token import Token

MAX_BYTES = 512 * 1024
MAX_NESTING = 32
MAX_TAGS = 4_000
MAX_WORK = 650_000

# Measured with the parsers in use, in microseconds.
_TOKEN = 15
_TOKENS = {"heading_open": 45, "fence": 90, "html_block": 90}
_LINE = 14
_DEFINITION = 60
_TEXT = 50
_MARKS = {
    "\\": 15,
    "`": 15,
    "[": 60,
    "<": 20,
    "&": 15,
    "*": 20,
    "_": 20,
    "~": 30,
    "@": 45,
    "://": 40,
    "www.": 45,
    "\n": 10,
}

_ENDS = re.compile(r"\[|\]\(?|`+")


class CannotRenderError(Exception):
    """The document is shown as plain text; the message says why."""


class Work:
    """The work one document may take."""

    def __init__(self) -> None:
        self._left = MAX_WORK

    def spend(self, amount: int) -> None:
        self._left -= amount
        if self._left < 0:
            raise CannotRenderError("This document has too much markup to be laid out.")

    def spend_on_lines(self, text: str) -> None:
        if len(text.encode()) > MAX_BYTES:
            raise CannotRenderError(f"This document is larger than {MAX_BYTES // 1024} KB.")
        self.spend(_LINE * (text.count("\n") - text.count("\n\n")))
        self.spend(_DEFINITION * text.count("]:"))

    def spend_on_text(self, text: str) -> None:
        counts = {mark: text.count(mark) for mark in _MARKS}
        marks = sum(counts.values())
        emphasis = counts["*"] + counts["_"] + counts["~"]
        self.spend(_TEXT + sum(_MARKS[mark] * count for mark, count in counts.items()))
        # For every mark the text is copied, on the way to the end of a bracket or a code span
        # each character is looked at, and emphasis may be nested as deep as there are marks.
        self.spend(marks * len(text) // 2_000 + _distance_to_ends(text) // 2 + emphasis**2 // 60)


class Tokens(list[Token]):
    """Block tokens that stop the parser when they become too many or too deep."""

    def __init__(self, work: Work) -> None:
        super().__init__()
        self._work = work

    def append(self, token: Token) -> None:
        self._work.spend(_TOKENS.get(token.type, _TOKEN))
        # At its own limit markdown-it drops the rest without a word.
        if token.nesting == 1 and token.level >= MAX_NESTING - 1:
            raise CannotRenderError("This document is nested too deeply to be laid out.")
        super().append(token)


def _distance_to_ends(text: str) -> int:
    length = len(text)
    total = 0
    brackets: list[int] = []
    runs: list[tuple[int, int]] = []
    for match in _ENDS.finditer(text):
        position, mark = match.start(), match[0]
        if mark == "[":
            brackets.append(position)
        elif mark[0] == "`":
            runs.append((position, len(mark)))
        else:
            total += position - brackets.pop() if brackets else 0
            total += length - position if mark == "](" else 0
    total += sum(length - position for position in brackets)
    return total + _distance_to_backticks(runs, length)


def _distance_to_backticks(runs: list[tuple[int, int]], length: int) -> int:
    """One run without an equal makes Python-Markdown search the rest for every later one."""
    sizes = [size for _, size in runs]
    if any(sizes.count(size) % 2 for size in set(sizes)):
        return sum(length - position for position, _ in runs)
    return sum(after - before for (before, _), (after, _) in itertools.pairwise(runs))
