"""What a command printed: kept within bounds, and shown line by line as it comes."""

import codecs
import time
from collections.abc import Callable
from dataclasses import dataclass

from runs.domain.values.secrets.redaction import TOKEN_LETTERS, LineRedaction

HEAD = 2 * 1024 * 1024
TAIL = 8 * 1024 * 1024  # the larger part: a response stands at the end
LINE = 2_000
_READ = 4 * LINE + 4  # bytes of a line: four a character at most
_LONGEST_WORD = 4_096  # what is longer is no token
LINES_A_SECOND = 50
_TOKEN_BYTES = TOKEN_LETTERS.encode()
REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Printed:
    text: str = ""
    unreadable: int = 0  # how often bytes had to be replaced
    left_out: int = 0


class Capture:
    """The first and the last part of a stream; memory stays the same however much comes."""

    def __init__(self) -> None:
        self._head = bytearray()
        self._tail = bytearray()
        self._left_out = 0

    def feed(self, chunk: bytes) -> None:
        room = HEAD - len(self._head)
        self._head += chunk[:room]
        self._tail += chunk[room:]
        # Cutting at twice the size, not at each chunk, keeps the copying in proportion.
        if len(self._tail) > 2 * TAIL:
            self._drop(len(self._tail) - TAIL)

    def printed(self) -> Printed:
        self._drop(len(self._tail) - TAIL)
        if not self._left_out:
            text, unreadable = _decoded(bytes(self._head + self._tail))
            return Printed(text=text, unreadable=unreadable)
        self._cut_between_characters()
        self._cut_between_words()
        head, unreadable = _decoded(bytes(self._head))
        tail, more = _decoded(bytes(self._tail))
        return Printed(
            text=f"{head}\n[… {self._left_out} bytes left out …]\n{tail}",
            unreadable=unreadable + more,
            left_out=self._left_out,
        )

    def _drop(self, count: int) -> None:
        if count > 0:
            del self._tail[:count]
            self._left_out += count

    def _cut_between_characters(self) -> None:
        """Half a character at the cut is our doing, so it must not count as unreadable."""
        decoder = codecs.getincrementaldecoder("utf-8")("ignore")
        decoder.decode(bytes(self._head[-4:]))
        if begun := len(decoder.getstate()[0]):
            del self._head[-begun:]
            self._left_out += begun
        self._drop(next((n for n in range(4) if self._tail[n] & 0xC0 != 0x80), 0))

    def _cut_between_words(self) -> None:
        """Nobody would recognise the half of a token that is left at the cut."""
        end = bytes(self._head[-_LONGEST_WORD:])
        begin = bytes(self._tail[:_LONGEST_WORD])
        if 0 < (begun := len(end) - len(end.rstrip(_TOKEN_BYTES))) < _LONGEST_WORD:
            del self._head[-begun:]
            self._left_out += begun
        if (rest := len(begin) - len(begin.lstrip(_TOKEN_BYTES))) < _LONGEST_WORD:
            self._drop(rest)


class Lines:
    """Passes a stream's lines on; `may_pass` says for each whether there is room for it now."""

    def __init__(
        self,
        pass_on: Callable[[str], None],
        may_pass: Callable[[], bool],
        conceal: LineRedaction | None = None,
    ) -> None:
        self._pass_on = pass_on
        self._may_pass = may_pass
        self._conceal = conceal or LineRedaction()
        self._rest = b""
        self._skipped = 0

    def feed(self, chunk: bytes) -> None:
        data, start = self._rest + chunk, 0
        while (end := data.find(b"\n", start)) >= 0 and self._may_pass():
            self._pass(data[start:end])
            start = end + 1
        # In a flood the lines are counted, not split: there may be millions.
        if skipped := data.count(b"\n", start):
            self._skipped += skipped
            self._pass_over(data[start : data.rfind(b"\n")])
        # What lies behind is cut from the line anyway.
        self._rest = data[max(start, data.rfind(b"\n") + 1) :][:_READ]

    def _pass_over(self, lines: bytes) -> None:
        if b"PRIVATE KEY" in lines:
            self._conceal.pass_over(lines.decode(errors="replace"))

    def finish(self) -> None:
        if self._rest:
            self._pass(self._rest)
        self._say_skipped()

    def _pass(self, line: bytes) -> None:
        self._say_skipped()
        text, _ = _decoded(line[:_READ].removesuffix(b"\r"))
        is_cut = len(line) >= _READ
        # Whole tokens only are recognised, so first they are taken out, then the line is cut.
        text = self._conceal(text.rstrip(TOKEN_LETTERS) if is_cut else text)
        self._pass_on(f"{text[:LINE]}…" if is_cut or len(text) > LINE else text)

    def _say_skipped(self) -> None:
        if self._skipped:
            self._pass_on(f"[… {self._skipped} lines not shown …]")
            self._skipped = 0


class Throttle:
    """Says yes at most so many times a second."""

    def __init__(self, a_second: int = LINES_A_SECOND) -> None:
        self._a_second = a_second
        self._second = 0.0
        self._used = 0

    def __call__(self) -> bool:
        now = time.monotonic()
        if now - self._second >= 1:
            self._second, self._used = now, 0
        self._used += 1
        return self._used <= self._a_second


def last_lines(text: str, count: int, *, characters: int = 8_000) -> list[str]:
    """The last lines that say something, within so many characters."""
    lines = [line.rstrip() for line in text[-characters:].split("\n")]
    return [line for line in lines if line][-count:]


def _decoded(data: bytes) -> tuple[str, int]:
    text = data.decode(errors="replace")
    replaced = text.count(REPLACEMENT) - data.count(REPLACEMENT.encode())
    # PostgreSQL keeps no NUL in a text.
    return text.replace("\0", REPLACEMENT), replaced + text.count("\0")
