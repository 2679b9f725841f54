"""Two rendered revisions of a document side by side, block by block, with changed words marked.

Only text between two tags is wrapped, so the HTML stays as well-formed as it came.
"""

import re
from collections import Counter, deque
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from runs.domain.values.differences import (
    ALIKE,
    LETTER,
    Difference,
    Effort,
    TextChange,
    changes,
    marks_of,
    pieces_of,
    resemblance,
)

# Below this the words two blocks share are there by chance.
_STILL_ALIKE = 0.2
_SAME_PLACE = 0.1

_TAG = r'</?[a-zA-Z](?:[^">]|"[^"]*")*+>'
_TAGS = re.compile(_TAG)
_WORD = rf"{LETTER}+(?:(?:['’]|&#x27;){LETTER}+)*"
_TOKEN = re.compile(rf"{_TAG}|\s+|&#?\w+;|{_WORD}|([^<&])\1*|.", re.DOTALL)
_TAG_OR_TEXT = re.compile(rf"({_TAG})|[^<\s](?:[^<]*[^<\s])?")
_TAG_NAME = re.compile("[a-zA-Z0-9]+")
_ATTRIBUTE = re.compile(r'\s([^\s="]+)="([^"]*)"')
_ANCHORS = frozenset({"data-end", "data-line", "id"})
_VOID = frozenset({"br", "hr", "img", "input"})
# A word that became a link or lost its emphasis has changed, though its letters have not.
_TELLING = frozenset(
    "a b code del em h1 h2 h3 h4 h5 h6 i kbd mark s strong sub sup u".split()  # noqa: SIM905
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A block of the old page beside its block on the new one; a side may be empty."""

    old: str
    new: str
    kind: Literal["same", "changed", "added", "removed"]


def compare_rendered(old_html: str, new_html: str, difference: Difference) -> tuple[Pair, ...]:
    """Joined, the new sides are the new page but for <ins>.

    The old sides are the old page but for <del>, line numbers and ids, because a page that shows
    both may have each anchor once.
    """
    old = [_Block(shown=_without_anchors(html), html=html) for html in _top_level(old_html)]
    new = [_Block(shown=html, html=html) for html in _top_level(new_html)]
    effort, words, lines = Effort(), Effort(), _Lines(difference)
    gaps = changes([block.key for block in old], [block.key for block in new], effort)
    pairs: list[Pair] = []
    old_at = new_at = 0
    for gap in [*gaps, TextChange(len(old), len(old), len(new), len(new))]:
        same = zip(old[old_at : gap.old_start], new[new_at : gap.new_start], strict=True)
        pairs += [Pair(old=before.shown, new=after.shown, kind="same") for before, after in same]
        sides = old[gap.old_start : gap.old_end], new[gap.new_start : gap.new_end]
        pairs += _gap_pairs(*sides, _partners(*sides, lines, effort), words)
        old_at, new_at = gap.old_end, gap.new_end
    return tuple(pairs)


@dataclass(frozen=True, kw_only=True)
class _Block:
    """One element at the top of a page, with the space before it."""

    shown: str
    html: str

    @cached_property
    def key(self) -> str:
        return _comparable(self.html).strip()

    @cached_property
    def lines(self) -> range:
        """From the first source line to the last; an element may hold lines beyond its own."""
        tags = "".join(tag[0] for tag in _TAGS.finditer(self.html) if "data-" in tag[0])
        found = _ATTRIBUTE.findall(tags)
        firsts = [int(value) for name, value in found if name == "data-line"]
        lasts = [int(value) for name, value in found if name == "data-end"]
        return range(min(firsts), max(lasts) + 1) if firsts and lasts else range(0)

    @cached_property
    def tokens(self) -> list[str]:
        return [found[0] for found in _TOKEN.finditer(self.shown)]

    @cached_property
    def words(self) -> dict[int, Hashable]:
        """By their place among the tokens; equal are words with the same text and look."""
        return dict(_words(self.tokens))

    @cached_property
    def word_counts(self) -> Counter[str]:
        return Counter(self.tokens[at] for at in self.words)

    def marked(self, name: str, marks: list[bool]) -> str:
        """With the words that are marked inside elements of that name."""
        flags = [False] * len(self.tokens)
        for at, is_marked in zip(self.words, marks, strict=True):
            flags[at] = is_marked
        return "".join(
            f"<{name}>{piece.text}</{name}>" if piece.is_marked else piece.text
            for piece in pieces_of(self.tokens, flags)
        )

    def wholly_marked(self, name: str) -> str:
        return _TAG_OR_TEXT.sub(
            lambda found: found[0] if found[1] else f"<{name}>{found[0]}</{name}>", self.shown
        )


class _Lines:
    """Which new lines took the place of old ones."""

    def __init__(self, difference: Difference) -> None:
        self._difference = difference
        self._near: dict[int, int | None] = {}
        for hunk in difference.hunks:
            replaced: deque[int] = deque()
            for row in hunk.rows:
                if row.old_line:
                    self._near[row.old_line] = row.new_line
                if row.kind == "same":
                    replaced.clear()
                elif row.old_line:
                    replaced.append(row.old_line)
                elif replaced:
                    self._near[replaced.popleft()] = row.new_line

    def span(self, old_lines: range) -> tuple[int, int]:
        places = (
            self._near[line] if line in self._near else self._difference.new_line_of(line)
            for line in old_lines
        )
        found = [line for line in places if line]
        return (found[0], found[-1]) if found else (0, 0)


def _top_level(html: str) -> list[str]:
    blocks: list[str] = []
    start = depth = 0
    for tag in _TAGS.finditer(html):
        if not depth and html[start : tag.start()].strip():
            blocks.append(html[start : tag.start()])
            start = tag.start()
        if tag[0].startswith("</"):
            depth = max(depth - 1, 0)
        elif _name(tag[0]) not in _VOID:
            depth += 1
        if not depth:
            blocks.append(html[start : tag.end()])
            start = tag.end()
    if html[start:].strip() or not blocks:
        return [*blocks, html[start:]] if html[start:] else blocks
    return [*blocks[:-1], blocks[-1] + html[start:]]


def _name(tag: str) -> str:
    name: str = _TAG_NAME.findall(tag)[0]
    return name.lower()


def _without_anchors(html: str) -> str:
    def bare(tag: re.Match[str]) -> str:
        if "data-" not in tag[0] and "id=" not in tag[0]:
            return tag[0]
        return _ATTRIBUTE.sub(lambda found: "" if found[1] in _ANCHORS else found[0], tag[0])

    return _TAGS.sub(bare, html)


def _comparable(html: str) -> str:
    """Without anchors and with the attributes in order: the sanitiser gives them in any."""

    def sorted_tag(tag: re.Match[str]) -> str:
        if tag[0].count("=") < 2:
            return tag[0]
        attributes = sorted(found[0] for found in _ATTRIBUTE.finditer(tag[0]))
        return f"<{_name(tag[0])}{''.join(attributes)}>"

    return _TAGS.sub(sorted_tag, _without_anchors(html))


def _words(tokens: list[str]) -> Iterator[tuple[int, Hashable]]:
    """Each word's place and what it is known by.

    That is its text, the tags that tell something about it, and what stands before it on its
    line where this shows: the indentation of code, the box of a task.
    """
    # A number stands for all open tags, or deep nesting would be read again for each word.
    looks = [0]
    is_code = False
    before = ""
    for at, token in enumerate(tokens):
        if token.startswith("<") and len(token) > 1:
            name, is_end = _name(token), token.startswith("</")
            if name == "pre":
                is_code, before = not is_end, "" if is_end else "\n"
            elif name == "input":
                before = f"\n{_comparable(token)}"
            elif name in _TELLING and not is_end:
                look = _comparable(token) if name == "a" else name
                looks.append(hash((looks[-1], look)))
            elif name in _TELLING and len(looks) > 1:
                looks.pop()
        elif token.isspace():
            before += token if is_code else ""
        else:
            yield at, (token, looks[-1], before.rpartition("\n")[2] if "\n" in before else "")
            before = ""


def _partners(
    old: list[_Block], new: list[_Block], lines: _Lines, effort: Effort
) -> list[tuple[int, int]]:
    """Places of blocks that are revisions of each other, in the order of both sides."""
    spans = [lines.span(block.lines) for block in old]
    letters = sum(len(block.shown) for block in (*old, *new))
    # Every word is read once, and looked up for each block on the other side.
    steps = letters * (5 + max(len(old), len(new)) // 6) + 10 * len(old) * len(new)
    return _most_alike(old, new, spans) if effort.allows(steps) else _in_place(new, spans)


def _most_alike(
    old: list[_Block], new: list[_Block], spans: list[tuple[int, int]]
) -> list[tuple[int, int]]:
    # The most that can be reached from each place on, from the end to the start.
    best = [[0.0] * (len(new) + 1) for _ in range(len(old) + 1)]
    for i in reversed(range(len(old))):
        for j in reversed(range(len(new))):
            paired = best[i + 1][j + 1] + _score(old[i], new[j], spans[i])
            best[i][j] = max(best[i + 1][j], best[i][j + 1], paired)
    pairs = []
    i = j = 0
    while i < len(old) and j < len(new):
        if best[i][j] == best[i + 1][j]:
            i += 1
        elif best[i][j] == best[i][j + 1]:
            j += 1
        else:
            pairs.append((i, j))
            i, j = i + 1, j + 1
    return pairs


def _score(old: _Block, new: _Block, span: tuple[int, int]) -> float:
    alike = resemblance(old.word_counts, new.word_counts)
    return (alike if alike >= ALIKE else 0.0) + (_SAME_PLACE if _meet(new.lines, span) else 0.0)


def _meet(lines: range, span: tuple[int, int]) -> bool:
    return bool(lines) and lines[0] <= span[1] and span[0] <= lines[-1]


def _in_place(new: list[_Block], spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    pairs = []
    at = 0
    for place, span in enumerate(spans):
        while at < len(new) and (not new[at].lines or new[at].lines[-1] < span[0]):
            at += 1
        if at < len(new) and _meet(new[at].lines, span):
            pairs.append((place, at))
            at += 1
    return pairs


def _gap_pairs(
    old: list[_Block], new: list[_Block], partners: list[tuple[int, int]], effort: Effort
) -> Iterator[Pair]:
    i = j = 0
    for old_at, new_at in [*partners, (len(old), len(new))]:
        for block in old[i:old_at]:
            yield Pair(old=block.wholly_marked("del"), new="", kind="removed")
        for block in new[j:new_at]:
            yield Pair(old="", new=block.wholly_marked("ins"), kind="added")
        if old_at < len(old):
            yield _changed(old[old_at], new[new_at], effort)
        i, j = old_at + 1, new_at + 1


def _changed(old: _Block, new: _Block, effort: Effort) -> Pair:
    is_allowed = effort.allows(1_000 + 5 * (len(old.shown) + len(new.shown)))
    if is_allowed and resemblance(old.word_counts, new.word_counts) >= _STILL_ALIKE:
        old_marks, new_marks = marks_of([*old.words.values()], [*new.words.values()], effort)
        sides = old.marked("del", old_marks), new.marked("ins", new_marks)
    else:
        sides = old.wholly_marked("del"), new.wholly_marked("ins")
    return Pair(old=sides[0], new=sides[1], kind="changed")
