"""What a document holds and its reader cannot see."""

import re
import unicodedata
from functools import cache

_EMOJI = "\u2190-\u2bff\ufe0f\U0001f000-\U0001faff"
# Joiners inside an emoji and one variation selector after a character are how they are
# written; anything more is not there for the reader.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0"
    "\ufff0-\ufffb\U000e0000-\U000e0fff]"
    f"|(?<![{_EMOJI}])\u200d|(?<=[\ufe00-\ufe0f])[\ufe0e\ufe0f]"
)
_SHOWN_KINDS = 20
_SHOWN_RANGES = 12


class Hidden:
    """Collects what is hidden, by its lines."""

    def __init__(self) -> None:
        self._ranges: dict[str, list[tuple[int, int]]] = {}

    def note(self, what: str, first: int, last: int) -> None:
        self._ranges.setdefault(what, []).append((first, last))

    def note_characters(self, text: str, first_line: int = 1) -> None:
        if not _INVISIBLE.search(text):
            return
        for number, line in enumerate(text.split("\n"), first_line):
            for character in set(_INVISIBLE.findall(line)):
                self.note(_described(character), number, number)

    def sentences(self) -> tuple[str, ...]:
        order = sorted(self._ranges.items(), key=lambda item: min(item[1]))
        said = [f"{what} is hidden on {_spoken(lines)}." for what, lines in order[:_SHOWN_KINDS]]
        if len(order) > _SHOWN_KINDS:
            said.append(f"{len(order) - _SHOWN_KINDS} more kinds of content are hidden.")
        return tuple(said)


@cache
def _described(character: str) -> str:
    name = unicodedata.name(character, "control character").lower()
    return f"The character U+{ord(character):04X} ({name})"


def _spoken(ranges: list[tuple[int, int]]) -> str:
    joined = _joined(ranges)
    words = [str(first) if first == last else f"{first} to {last}" for first, last in joined]
    if len(words) > _SHOWN_RANGES:
        words[_SHOWN_RANGES - 1 :] = ["more"]
    if len(words) == 1:
        return f"{'lines' if 'to' in words[0] else 'line'} {words[0]}"
    return f"lines {', '.join(words[:-1])} and {words[-1]}"


def _joined(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(last, joined[-1][1]))
        else:
            joined.append((first, last))
    return joined
