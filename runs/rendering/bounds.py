"""How much is too much to render; beyond it a document is shown as plain text.

No document may keep a page waiting for more than about a second, whatever it was made for.
Work is estimated, not timed, so the same text is always shown the same way.
"""

from markdown_it.token import Token

MAX_BYTES = 512 * 1024
MAX_SHOWN = 1_000_000
MAX_NESTING = 32
MAX_TAGS = 4_000
MAX_WORK = 550_000

# Measured with the parsers in use, in microseconds.
_LINE = 14
_DEFINITION = 60
_TOKEN = 15
_TOKENS = {"heading_open": 45, "fence": 90, "html_block": 90}
_TEXT = 20
_MARKS = {
    "\\": 10,
    "`": 15,
    "[": 50,
    "<": 25,
    "]": 3,
    "!": 3,
    "&": 15,
    "*": 20,
    "_": 20,
    "~": 20,
    "@": 45,
    "://": 45,
    "www.": 45,
    "\n": 8,
}


class CannotRenderError(Exception):
    """The document is shown as plain text; the message says why."""


class Work:
    """The work one document may take."""

    def __init__(self) -> None:
        self._left = MAX_WORK

    def spend(self, amount: int) -> None:
        self._left -= amount
        if self._left < 0:
            raise CannotRenderError("This document has too many lines or marks to render.")

    def spend_on_lines(self, text: str) -> None:
        if len(text.encode()) > MAX_BYTES:
            raise CannotRenderError(f"This document is larger than {MAX_BYTES // 1024} KB.")
        self.spend(_LINE * (text.count("\n") - text.count("\n\n")))
        self.spend(_DEFINITION * text.count("]:"))

    def spend_on_text(self, text: str) -> None:
        counts = {mark: text.count(mark) for mark in _MARKS}
        self.spend(_TEXT + sum(_MARKS[mark] * count for mark, count in counts.items()))
        # Python-Markdown searches all elements of a block for the place of each.
        self.spend(sum(counts.values()) ** 2 // 50)


class Tokens(list[Token]):
    """Block tokens that stop the parser when they become too many or too deep."""

    def __init__(self, work: Work) -> None:
        super().__init__()
        self._work = work

    def append(self, token: Token) -> None:
        self._work.spend(_TOKENS.get(token.type, _TOKEN))
        # At its own limit markdown-it drops the rest without a word.
        if token.nesting == 1 and token.level >= MAX_NESTING - 1:
            raise CannotRenderError("This document is nested too deeply to render.")
        super().append(token)
