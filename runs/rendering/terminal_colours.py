"""What a program printed for a terminal, as HTML: its colours are classes, its commands are gone.

A page cannot know colours beforehand, and its policy allows no styles in markup. So true colours
are brought to the nearest of the 256 of a terminal, which `static/css/ansi.css` has for both
themes; `docs/make_ansi.py` makes that file.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from runs.domain.values.printed.terminal_codes import COMMAND, LINE_END, UNSEEN

_STEPS = (0, 95, 135, 175, 215, 255)  # of the colours 16 to 231


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """How the text is shown from here on."""

    ink: int | None = None  # of the 256 colours
    ground: int | None = None
    marks: frozenset[str] = frozenset()

    @property
    def classes(self) -> str:
        ink, ground = (self.ink, self.ground)
        if "reverse" in self.marks:
            ink, ground = ground, ink
        names = sorted(self.marks - ({"reverse"} if ground is not None else set()))
        # A ground has the ink that can be read on it; another might not be.
        if ground is not None:
            names.append(f"on-{ground}")
        elif ink is not None and "reverse" not in self.marks:
            names.append(f"ink-{ink}")
        return " ".join(f"ansi-{name}" for name in names)


_PLAIN = Look()
_MARKS = {
    1: "bold",
    2: "dim",
    3: "italic",
    4: "underline",
    7: "reverse",
    9: "strike",
    21: "underline",
}
_ENDS = {22: {"bold", "dim"}, 23: {"italic"}, 24: {"underline"}, 27: {"reverse"}, 29: {"strike"}}
_COLOURS = ((30, "ink", 0), (40, "ground", 0), (90, "ink", 8), (100, "ground", 8))
_DEFAULTS = {39: "ink", 49: "ground"}


def coloured(text: str, *, marked: range = range(0)) -> SafeString:
    """The text as HTML, line by line; the lines with these numbers are marked."""
    rows = enumerate(_rows(text), start=1)
    return format_html_join("\n", "{}", ((_marked(row, at, marked),) for at, row in rows))


def _marked(row: SafeString, number: int, marked: range) -> SafeString:
    if number not in marked:
        return row
    first = '<mark id="first-error">{}</mark>'
    return format_html(first if number == marked[0] else "<mark>{}</mark>", row)


def _rows(text: str) -> Iterator[SafeString]:
    look = _PLAIN
    for line in LINE_END.sub("\n", text).split("\n"):
        row = []
        at = 0
        for command in COMMAND.finditer(line):
            row.append(_piece(line[at : command.start()], look))
            at = command.end()
            if (command[2] or command[4]) == "m":
                look = _after(look, command[1] or command[3] or "")
        row.append(_piece(line[at:], look))
        yield format_html_join("", "{}", ((piece,) for piece in row))


def _piece(text: str, look: Look) -> str:
    shown = UNSEEN.sub("", text)
    classes = look.classes
    return format_html('<span class="{}">{}</span>', classes, shown) if shown and classes else shown


def _after(look: Look, parameters: str) -> Look:
    if parameters.startswith(("<", "=", ">", "?")):
        return look
    # Both ways of writing: 38;2;r;g;b, and 38:2::r:g:b as the standard has it.
    flat = re.sub(r"(?<=[34]8:2:):|(?<=[34]8:2:)\d*:(?=\d+:\d+:\d)", "", parameters)
    codes = [int(part[:4] or 0) for part in re.split("[:;]", flat)[:64]]
    at = 0
    while at < len(codes):
        code = codes[at]
        if code in (38, 48):
            colour, used = _extended(codes[at + 1 :])
            look = _dyed(look, "ink" if code == 38 else "ground", colour)
            at += used
        else:
            look = _changed(look, code)
        at += 1
    return look


def _changed(look: Look, code: int) -> Look:
    if code == 0:
        return _PLAIN
    if code in _MARKS:
        return replace(look, marks=look.marks | {_MARKS[code]})
    if code in _ENDS:
        return replace(look, marks=look.marks - _ENDS[code])
    for first, name, colour in _COLOURS:
        if first <= code < first + 8:
            return _dyed(look, name, colour + code - first)
    return _dyed(look, _DEFAULTS[code], None) if code in _DEFAULTS else look


def _dyed(look: Look, name: str, colour: int | None) -> Look:
    return replace(look, ink=colour) if name == "ink" else replace(look, ground=colour)


def _extended(codes: Sequence[int]) -> tuple[int | None, int]:
    """A colour by its number or by its red, green and blue, and how many codes that took."""
    match codes:
        case [5, number, *_]:
            return min(number, 255), 2
        case [2, red, green, blue, *_]:
            return nearest(red, green, blue), 4
        case _:
            return None, len(codes)


def nearest(red: int, green: int, blue: int) -> int:
    """The colour of the 256 that looks most like it."""
    wanted = [min(part, 255) for part in (red, green, blue)]
    places = [min(range(6), key=lambda at: abs(_STEPS[at] - part)) for part in wanted]
    cube = 16 + 36 * places[0] + 6 * places[1] + places[2]
    grey = 232 + min(23, max(0, round((sum(wanted) / 3 - 8) / 10)))
    return min((cube, grey), key=lambda number: _distance(rgb(number), wanted))


def rgb(number: int) -> tuple[int, int, int]:
    """A colour from 16 to 255; the first 16 are the theme's own."""
    if number >= 232:
        level = 8 + 10 * (number - 232)
        return level, level, level
    place = number - 16
    return _STEPS[place // 36], _STEPS[place // 6 % 6], _STEPS[place % 6]


def _distance(one: Sequence[int], other: Sequence[int]) -> int:
    return sum((a - b) ** 2 for a, b in zip(one, other, strict=True))
