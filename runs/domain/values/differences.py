"""What changed between two revisions of a text: lines, and the words inside them.

Work is estimated, not timed, so the same texts always look the same. Where it would be too
much, a longer stretch than necessary counts as changed.
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, takewhile, zip_longest
from typing import Literal, NamedTuple

from diff_match_patch import diff_match_patch

_CONTEXT = 3
_MAX_AT_ONCE = 1_500
ALIKE = 0.5

Items = Sequence[Hashable]
_Place = tuple[int, int]  # in the old, in the new

# Above U+0300 all but punctuation, because \w alone would cut off accents and vowel signs.
LETTER = r"[\w\u0300-\u1fff\u200c\u200d\u2070-\u2fff\u3040-\U0010ffff]"
_WORD = re.compile(rf"\s+|{LETTER}+(?:['’]{LETTER}+)*|(.)\1*", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    text: str
    is_marked: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffRow:
    kind: Literal["same", "removed", "added"]
    old_line: int | None
    new_line: int | None
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunk:
    """Rows that belong together; a side without lines ends before its first."""

    old_first: int
    old_last: int
    new_first: int
    new_last: int
    rows: tuple[DiffRow, ...]

    def changed_lines(self) -> Iterator[tuple[int, int]]:
        """Old lines of each change; of an insertion, the text it was put between."""
        stretches = [list(rows) for _, rows in groupby(self.rows, lambda row: row.kind == "same")]
        last = self.old_first - 1
        for at, rows in enumerate(stretches):
            lines = [row.old_line for row in rows if row.old_line]
            if not lines:
                before = _blank_lines(reversed(stretches[at - 1])) if at else 0
                after = _blank_lines(stretches[at + 1]) if at + 1 < len(stretches) else 0
                yield last - before, last + 1 + after
            elif rows[0].kind == "removed":
                yield lines[0], lines[-1]
            last = lines[-1] if lines else last


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    hunks: tuple[Hunk, ...]
    added: int
    removed: int

    @property
    def is_empty(self) -> bool:
        return not self.hunks

    def hunks_for(self, line: int, end_line: int) -> tuple[Hunk, ...]:
        """The hunks that changed the old lines, or put text next to them, blank lines aside."""

        def touches(hunk: Hunk) -> bool:
            return any(first <= end_line and line <= last for first, last in hunk.changed_lines())

        return tuple(filter(touches, self.hunks))

    def new_line_of(self, old_line: int) -> int | None:
        """Where a line of the old text stands now; None when it was removed."""
        at = bisect_right(self.hunks, old_line, key=lambda hunk: hunk.old_first)
        if not at:
            return old_line
        hunk = self.hunks[at - 1]
        if old_line > hunk.old_last:
            return old_line + hunk.new_last - hunk.old_last
        return next(row.new_line for row in hunk.rows if row.old_line == old_line)


class TextChange(NamedTuple):
    """Items of two sequences, of which the first were replaced by the second."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int


class Effort:
    """The work one comparison may still take, in steps of about 150 nanoseconds."""

    def __init__(self, steps: int = 4_000_000) -> None:
        self._left = steps

    def allows(self, steps: int) -> bool:
        is_allowed = steps <= self._left
        self._left -= steps if is_allowed else 0
        return is_allowed


def compare(old: str, new: str) -> Difference:
    before, after = _lines(old), _lines(new)
    found, words = changes(before, after, Effort()), Effort()
    return Difference(
        hunks=tuple(_hunk(group, before, after, words) for group in _groups(found)),
        added=sum(change.new_end - change.new_start for change in found),
        removed=sum(change.old_end - change.old_start for change in found),
    )


def changes(old: Items, new: Items, effort: Effort) -> list[TextChange]:
    """The stretches that differ, in order; between them the items are equal one by one."""
    found: list[TextChange] = []
    old_start = new_start = 0
    for old_at, new_at in [*_equal_places(old, new, effort, rounds=3), (len(old), len(new))]:
        if (old_at, new_at) != (old_start, new_start):
            found.append(TextChange(old_start, old_at, new_start, new_at))
        old_start, new_start = old_at + 1, new_at + 1
    return found


def marks_of(old: Items, new: Items, effort: Effort) -> tuple[list[bool], list[bool]]:
    """For each item of either side, whether it differs."""
    old_marks, new_marks = [False] * len(old), [False] * len(new)
    for old_start, old_end, new_start, new_end in changes(old, new, effort):
        old_marks[old_start:old_end] = [True] * (old_end - old_start)
        new_marks[new_start:new_end] = [True] * (new_end - new_start)
    return old_marks, new_marks


def split_words(line: str) -> list[str]:
    """Words, spaces and punctuation; joined they are the line."""
    return [found[0] for found in _WORD.finditer(line)]


def resemblance(old: Counter[str], new: Counter[str]) -> float:
    """From 0 to 1, by the letters in the words that both have."""
    letters = sum(len(word.strip()) * count for word, count in [*old.items(), *new.items()])
    shared = sum(len(word.strip()) * min(count, new[word]) for word, count in old.items())
    return 2 * shared / letters if letters else 0.0


def pieces_of(tokens: Sequence[str], marks: list[bool]) -> tuple[Piece, ...]:
    """The tokens as few pieces; a space between two marked words is marked with them."""
    bridged = list(marks)
    for at in range(1, len(tokens) - 1):
        bridged[at] |= marks[at - 1] and marks[at + 1] and tokens[at].isspace()
    grouped = groupby(zip(tokens, bridged, strict=True), key=lambda pair: pair[1])
    return tuple(
        Piece(text="".join(text for text, _ in pairs), is_marked=is_marked)
        for is_marked, pairs in grouped
    )


def _lines(text: str) -> list[str]:
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines if lines[-1] else lines[:-1]


def _equal_places(old: Items, new: Items, effort: Effort, rounds: int) -> Iterator[_Place]:
    head = _shared_head(old, new)
    tail = _shared_head(old[head:][::-1], new[head:][::-1])
    old_end, new_end = len(old) - tail, len(new) - tail
    inner = _inner_places(old[head:old_end], new[head:new_end], effort, rounds)
    yield from ((at, at) for at in range(head))
    yield from ((head + old_at, head + new_at) for old_at, new_at in inner)
    yield from ((old_end + at, new_end + at) for at in range(tail))


def _shared_head(old: Items, new: Items) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))


def _inner_places(old: Items, new: Items, effort: Effort, rounds: int) -> Iterator[_Place]:
    # What only one side has cannot be equal to anything, and is most of a rewritten text.
    shared = set(old) & set(new)
    old_places = [at for at, item in enumerate(old) if item in shared]
    new_places = [at for at, item in enumerate(new) if item in shared]
    size = len(old_places) + len(new_places)
    if size <= _MAX_AT_ONCE and effort.allows(size**2):
        sides = [old[at] for at in old_places], [new[at] for at in new_places]
        yield from ((old_places[i], new_places[j]) for i, j in _longest_pairs(*sides))
    elif size > _MAX_AT_ONCE and rounds:
        old_start = new_start = 0
        for old_end, new_end in [*_anchors(old, new), (len(old), len(new))]:
            sides = list(old[old_start:old_end]), list(new[new_start:new_end])
            found = _equal_places(*sides, effort, rounds - 1)
            yield from ((old_start + old_at, new_start + new_at) for old_at, new_at in found)
            old_start, new_start = old_end, new_end


def _longest_pairs(old: Items, new: Items) -> Iterator[_Place]:
    """Places of a longest common subsequence."""
    letters = {item: chr(at) for at, item in enumerate(set(old), start=1)}
    differ = diff_match_patch()
    differ.Diff_Timeout = 1.0  # only a net: what is tried at once takes a third of it at most
    texts = ["".join(letters[item] for item in side) for side in (old, new)]
    old_at = new_at = 0
    for operation, text in differ.diff_main(*texts, False):
        if operation == differ.DIFF_EQUAL:
            yield from ((old_at + at, new_at + at) for at in range(len(text)))
        old_at += len(text) * (operation != differ.DIFF_INSERT)
        new_at += len(text) * (operation != differ.DIFF_DELETE)


def _anchors(old: Items, new: Items) -> list[_Place]:
    """Places of items that either side has once, as many as stand in the same order."""
    old_places, new_places = _singles(old), _singles(new)
    ends: list[int] = []  # the least new place a chain of each length can end with
    links: list[_Place] = []
    previous: dict[_Place, _Place] = {}
    for pair in [(at, new_places[item]) for item, at in old_places.items() if item in new_places]:
        length = bisect_left(ends, pair[1])
        ends[length : length + 1], links[length : length + 1] = [pair[1]], [pair]
        if length:
            previous[pair] = links[length - 1]
    chain = links[-1:]
    while chain and chain[-1] in previous:
        chain.append(previous[chain[-1]])
    return chain[::-1]


def _singles(items: Items) -> dict[Hashable, int]:
    counts = Counter(items)
    return {item: at for at, item in enumerate(items) if counts[item] == 1}


def _groups(found: list[TextChange]) -> list[list[TextChange]]:
    groups: list[list[TextChange]] = []
    for change in found:
        if groups and change.old_start - groups[-1][-1].old_end <= 2 * _CONTEXT:
            groups[-1].append(change)
        else:
            groups.append([change])
    return groups


def _hunk(group: list[TextChange], old: list[str], new: list[str], effort: Effort) -> Hunk:
    lead = min(_CONTEXT, group[0].old_start)
    trail = min(_CONTEXT, len(old) - group[-1].old_end)
    old_at, new_at = group[0].old_start - lead, group[0].new_start - lead
    old_end, new_end = group[-1].old_end + trail, group[-1].new_end + trail
    span = {"old_first": old_at + 1, "old_last": old_end}
    span |= {"new_first": new_at + 1, "new_last": new_end}
    rows: list[DiffRow] = []
    for change in [*group, TextChange(old_end, old_end, new_end, new_end)]:
        for line in range(old_at + 1, change.old_start + 1):
            same, shifted = _whole(old[line - 1], is_marked=False), line + new_at - old_at
            rows.append(DiffRow(kind="same", old_line=line, new_line=shifted, pieces=same))
        rows += _changed_rows(change, old, new, effort)
        old_at, new_at = change.old_end, change.new_end
    return Hunk(**span, rows=tuple(rows))


def _changed_rows(
    change: TextChange, old: list[str], new: list[str], effort: Effort
) -> Iterator[DiffRow]:
    old_places = range(change.old_start, change.old_end)
    new_places = range(change.new_start, change.new_end)
    lines = [old[at] for at in old_places], [new[at] for at in new_places]
    marked = [_word_marks(*pair, effort) for pair in zip_longest(*lines, fillvalue="")]
    for at, (pieces, _) in zip(old_places, marked, strict=False):
        yield DiffRow(kind="removed", old_line=at + 1, new_line=None, pieces=pieces)
    for at, (_, pieces) in zip(new_places, marked, strict=False):
        yield DiffRow(kind="added", old_line=None, new_line=at + 1, pieces=pieces)


def _word_marks(old: str, new: str, effort: Effort) -> tuple[tuple[Piece, ...], tuple[Piece, ...]]:
    # Reading words is work as well.
    if old and new and effort.allows(200 + 4 * (len(old) + len(new))):
        words = split_words(old), split_words(new)
        if resemblance(Counter(words[0]), Counter(words[1])) >= ALIKE:
            marks = marks_of(*words, effort)
            return pieces_of(words[0], marks[0]), pieces_of(words[1], marks[1])
    return _whole(old, is_marked=True), _whole(new, is_marked=True)


def _whole(line: str, *, is_marked: bool) -> tuple[Piece, ...]:
    return (Piece(text=line, is_marked=is_marked),) if line else ()


def _blank_lines(rows: Iterable[DiffRow]) -> int:
    filled = (any(piece.text.strip() for piece in row.pieces) for row in rows)
    return sum(1 for _ in takewhile(lambda is_filled: not is_filled, filled))
