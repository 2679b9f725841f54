"""What a document holds and its reader cannot see."""

import html
import re
import unicodedata
from functools import cache
from itertools import groupby

_EMOJI = "\u2190-\u2bff\ufe0f\U0001f000-\U0001faff"
# Joiners inside an emoji and one variation selector after a character are how they are
# written; anything more is not there for the reader.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0"
    "\ufff0-\ufffb\U000e0000-\U000e0fff]"
    f"|(?<![{_EMOJI}])\u200d|(?<=[\ufe00-\ufe0f])[\ufe0e\ufe0f]"
)
_SHOWN_RANGES = 12


class Hidden:
    """Collects what is hidden by its lines."""

    def __init__(self) -> None:
        self._lines: dict[str, set[int]] = {}

    def note(self, what: str, first: int, last: int) -> None:
        self._lines.setdefault(what, set()).update(range(first, last + 1))

    def note_characters(self, text: str, first_line: int = 1) -> None:
        if not _INVISIBLE.search(text):
            return
        for number, line in enumerate(text.split("\n"), first_line):
            for character in set(_INVISIBLE.findall(line)):
                self.note(_described(character), number, number)

    def note_entities(self, text: str, first_line: int) -> None:
        """Characters written as `&#8203;`, which only the finished page has."""
        if "&" in text:
            self.note_characters(html.unescape(text), first_line)

    def sentences(self) -> tuple[str, ...]:
        order = sorted(self._lines.items(), key=lambda item: min(item[1]))
        return tuple(f"{what} is hidden on {_spoken(lines)}." for what, lines in order)


@cache
def _described(character: str) -> str:
    name = unicodedata.name(character, "control character").lower()
    return f"The character U+{ord(character):04X} ({name})"


def _spoken(lines: set[int]) -> str:
    runs = groupby(enumerate(sorted(lines)), key=lambda pair: pair[1] - pair[0])
    ranges = [[line for _, line in run] for _, run in runs]
    words = [f"{run[0]} to {run[-1]}" if len(run) > 1 else str(run[0]) for run in ranges]
    if len(words) > _SHOWN_RANGES:
        words[_SHOWN_RANGES - 1 :] = ["more"]
    said = " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else words[0]
    return f"{'line' if len(lines) == 1 else 'lines'} {said}"
