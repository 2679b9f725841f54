"""The known word that somebody most likely meant: a swapped pair of letters is one mistake."""

from collections.abc import Iterable
from itertools import pairwise

_ALIKE = 0.6  # of all letters of both words


def nearest(word: str, known: Iterable[str]) -> str:
    """The first of those that are nearest, or nothing when none is near."""
    alike = {name: likeness(word, name) for name in known if _may_be_alike(word, name)}
    near = [name for name, degree in alike.items() if degree >= _ALIKE]
    return max(near, key=alike.__getitem__, default="")


def likeness(one: str, other: str) -> float:
    """The part of both words that is left when what differs is taken away: 1 for equal ones."""
    letters = len(one) + len(other)
    return 1 - _mistakes(one.casefold(), other.casefold()) / letters if letters else 1.0


def _may_be_alike(one: str, other: str) -> bool:
    """By their lengths alone: to compare a whole document with a word would take minutes."""
    shorter, longer = sorted(map(len, (one, other)))
    return 2 * shorter >= _ALIKE * (shorter + longer)


def _mistakes(one: str, other: str) -> int:
    """How many letters were left out, added or swapped with their neighbour; another one is two."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    pairs = [("", ""), *pairwise(other)]
    for down, letter in enumerate(one, start=1):
        above, row = row, [down]
        swapped = (letter, one[down - 2]) if down > 1 else None
        for across, match in enumerate(other):
            least = above[across] if letter == match else min(row[across], above[across + 1]) + 1
            if across and pairs[across] == swapped:
                least = min(least, before[across - 1] + 1)
            row.append(least)
        before = above
    return row[-1]
