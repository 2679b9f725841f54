"""A patch as rows for people: which lines went, which came, and the words inside them."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, zip_longest
from typing import Literal

from runs.domain.values.differences import ALIKE, Effort, marks_of, resemblance, split_words

_HEAD = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)")
_KINDS: dict[str, Literal["same", "removed", "added"]] = {
    " ": "same",
    "-": "removed",
    "+": "added",
}
_LONGEST_LINE = 2_000  # words are not looked for in what a program wrote

Stretch = tuple[int, int]  # where a mark begins and ends


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeRow:
    """One line of a changed file; a line that only one side has has one number."""

    kind: Literal["same", "removed", "added"]
    old: int | None
    new: int | None
    text: str
    marks: tuple[Stretch, ...] = ()
    has_end: bool = True  # False for a last line without a line end


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeHunk:
    heading: str
    rows: tuple[CodeRow, ...]
    old_first: int
    new_first: int

    @property
    def old_next(self) -> int:
        return self.old_first + sum(1 for row in self.rows if row.old)

    @property
    def new_next(self) -> int:
        return self.new_first + sum(1 for row in self.rows if row.new)


def read_patch(patch: bytes) -> list[CodeHunk]:
    hunks: list[CodeHunk] = []
    effort = Effort()
    lines = patch.decode(errors="replace").split("\n")
    at = 0
    while at < len(lines):
        head = _HEAD.match(lines[at])
        at += 1
        if head is None:
            continue
        body = []
        while at < len(lines) and lines[at][:1] in (*_KINDS, "\\"):
            body.append(lines[at])
            at += 1
        old, new = _first(head[1], head[2]), _first(head[3], head[4])
        rows = tuple(_with_marks(_rows(body, old, new), effort))
        hunks.append(CodeHunk(heading=head[5], rows=rows, old_first=old, new_first=new))
    return hunks


def _first(number: str, count: str | None) -> int:
    # A side without lines is named by the line before it.
    return int(number) + (1 if count == "0" else 0)


def _rows(body: Iterable[str], old: int, new: int) -> list[CodeRow]:
    rows: list[CodeRow] = []
    for line in body:
        if line.startswith("\\"):
            rows[-1] = replace(rows[-1], has_end=False)
            continue
        kind = _KINDS[line[0]]
        rows.append(
            CodeRow(
                kind=kind,
                old=None if kind == "added" else old,
                new=None if kind == "removed" else new,
                text=line[1:],
            )
        )
        old += kind != "added"
        new += kind != "removed"
    return rows


def _with_marks(rows: Sequence[CodeRow], effort: Effort) -> Iterator[CodeRow]:
    for is_same, group in groupby(rows, lambda row: row.kind == "same"):
        block = list(group)
        if is_same:
            yield from block
            continue
        removed = [row for row in block if row.kind == "removed"]
        added = [row for row in block if row.kind == "added"]
        pairs = [_pair(*each, effort) for each in zip_longest(removed, added)]
        yield from (old for old, _ in pairs if old)
        yield from (new for _, new in pairs if new)


def _pair(
    old: CodeRow | None, new: CodeRow | None, effort: Effort
) -> tuple[CodeRow | None, CodeRow | None]:
    """A line and what it became, with the words that differ, if it is still the same line."""
    if old is None or new is None or max(len(old.text), len(new.text)) > _LONGEST_LINE:
        return old, new
    if not effort.allows(200 + 4 * (len(old.text) + len(new.text))):
        return old, new
    words = split_words(old.text), split_words(new.text)
    if resemblance(Counter(words[0]), Counter(words[1])) < ALIKE:
        return old, new
    marks = marks_of(*words, effort)
    return (
        replace(old, marks=_stretches(words[0], marks[0])),
        replace(new, marks=_stretches(words[1], marks[1])),
    )


def _stretches(words: Sequence[str], marks: Sequence[bool]) -> tuple[Stretch, ...]:
    found: list[Stretch] = []
    at = 0
    for word, is_marked in zip(words, marks, strict=True):
        if is_marked and found and found[-1][1] == at:
            found[-1] = (found[-1][0], at + len(word))
        elif is_marked:
            found.append((at, at + len(word)))
        at += len(word)
    return tuple(found)


def side_by_side(rows: Sequence[CodeRow]) -> Iterator[tuple[CodeRow | None, CodeRow | None]]:
    """What went on the left, what came on the right; what stayed on both."""
    for is_same, group in groupby(rows, lambda row: row.kind == "same"):
        block = list(group)
        if is_same:
            yield from ((row, row) for row in block)
        else:
            removed = [row for row in block if row.kind == "removed"]
            yield from zip_longest(removed, [row for row in block if row.kind == "added"])
