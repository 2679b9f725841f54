"""The lines of a changed file as HTML: coloured, marked, with a control for comments.

Thousands of them, so that no template is rendered for each. Every word of a file and of people
is escaped; all else is ours.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import pairwise
from pathlib import PurePosixPath

from django.template.loader import render_to_string
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from feedback.desk.code.patches import CodeHunk, CodeRow, side_by_side
from feedback.models import ReviewComment
from runs.changes.values import FileContent
from runs.rendering.highlighting import Highlighter, Token

_NOTE = (
    '<div class="inline-remark" role="note" data-remark="{}">'
    '<span class="tag" data-kind="{}">{}</span> <span dir="auto">{}</span>{}</div>'
)
_WHOLE = 16 * 1024  # a file up to this size is coloured as a whole

Line = tuple[str, int]  # which side, which number


@dataclass(frozen=True, slots=True, kw_only=True)
class LineOptions:
    """How lines are shown, and what stands beside them."""

    address: str  # of the file, with everything but a line
    number: int  # of the file on the page
    is_split: bool = False
    can_comment: bool = False
    remarks: Mapping[Line, Sequence[ReviewComment]] = field(default_factory=dict)
    form: Mapping[Line, str] = field(default_factory=dict)  # where one is being written

    @property
    def width(self) -> int:
        return 4 if self.is_split else 3


class Colours:
    """The lines of both sides of a file as coloured pieces."""

    def __init__(self, path: str, content: FileContent) -> None:
        self._language = PurePosixPath(path).suffix[1:] or PurePosixPath(path).name
        self._highlighter = Highlighter()
        self._known: dict[Line, list[Token]] = {}
        for side, text in (("old", content.old), ("new", content.new)):
            if text is not None and len(text) <= _WHOLE:
                lines = text.decode(errors="replace").split("\n")
                self._colour(side, list(enumerate(lines, start=1)))

    def add(self, rows: Iterable[CodeRow]) -> None:
        """Colour what is shown of a larger file."""
        every = list(rows)
        for side, lines in (
            ("old", [(row.old, row.text) for row in every if row.old]),
            ("new", [(row.new, row.text) for row in every if row.new]),
        ):
            if any((side, number) not in self._known for number, _ in lines):
                self._colour(side, lines)

    def _colour(self, side: str, lines: Sequence[tuple[int, str]]) -> None:
        text = "\n".join(line for _, line in lines)
        pieces: list[list[Token]] = [[]]
        for kind, value in self._highlighter.tokens(text, self._language):
            first, *more = value.split("\n")
            pieces[-1].append((kind, first))
            pieces.extend([(kind, each)] for each in more)
        if len(pieces) == len(lines):
            known = zip(lines, pieces, strict=True)
            self._known.update({(side, number): line for (number, _), line in known})

    def of(self, row: CodeRow) -> list[Token]:
        place = ("new", row.new) if row.new else ("old", row.old or 0)
        pieces = self._known.get(place, [])
        whole = "".join(text for _, text in pieces)
        # A line end of another system is part of the line here, and not to the lexer.
        return pieces if whole == row.text else [("", row.text)]


def hunk_rows(hunk: CodeHunk, colours: Colours, options: LineOptions) -> SafeString:
    colours.add(hunk.rows)
    return _rows(hunk.rows, colours, options)


def plain_rows(rows: Sequence[CodeRow], colours: Colours, options: LineOptions) -> SafeString:
    colours.add(rows)
    return _rows(rows, colours, options)


def _rows(rows: Sequence[CodeRow], colours: Colours, options: LineOptions) -> SafeString:
    made = _split(rows, colours, options) if options.is_split else _unified(rows, colours, options)
    return mark_safe("".join(made))  # noqa: S308  see above


def _unified(rows: Sequence[CodeRow], colours: Colours, options: LineOptions) -> Iterator[str]:
    for row in rows:
        place = _place(row)
        yield (
            f'<tr data-kind="{row.kind}"{_named(options, place)}>'
            f'<td class="number">{row.old or ""}</td><td class="number">{row.new or ""}</td>'
            f'<td class="code-line">{_control(options, place)}{_code(row, colours)}</td></tr>'
        )
        yield _beside(options, [place])


def _split(rows: Sequence[CodeRow], colours: Colours, options: LineOptions) -> Iterator[str]:
    for left, right in side_by_side(rows):
        places = [("old", left.old or 0)] if left and left.kind == "removed" else []
        places += [("new", right.new or 0)] if right else []
        yield "<tr>"
        yield _cell(left, left.old if left else None, "old", colours, options)
        yield _cell(right, right.new if right else None, "new", colours, options)
        yield "</tr>"
        yield _beside(options, places)


def _cell(
    row: CodeRow | None, number: int | None, side: str, colours: Colours, options: LineOptions
) -> str:
    if row is None or not number:
        return (
            '<td class="number" data-kind="none"></td><td class="code-line" data-kind="none"></td>'
        )
    can_comment = side == "new" or row.kind == "removed"
    control = _control(options, (side, number)) if can_comment else ""
    named = _named(options, (side, number)) if can_comment else ""
    return (
        f'<td class="number" data-kind="{row.kind}">{number}</td>'
        f'<td class="code-line" data-kind="{row.kind}"{named}>{control}{_code(row, colours)}</td>'
    )


def _place(row: CodeRow) -> Line:
    return ("new", row.new) if row.new else ("old", row.old or 0)


def _named(options: LineOptions, place: Line) -> str:
    side, number = place
    return f' id="c{options.number}-{side}-{number}" data-side="{side}" data-at="{number}"'


def _control(options: LineOptions, place: Line) -> str:
    if not options.can_comment:
        return ""
    side, number = place
    old = "old " if side == "old" else ""
    address = f"{options.address}&side={side}&line={number}#c{options.number}-{side}-{number}"
    return (
        f'<a class="add" href="{escape(address)}" aria-label="Comment on {old}line {number}">+</a>'
    )


def _beside(options: LineOptions, places: Iterable[Line]) -> str:
    parts: list[str] = []
    for place in places:
        notes = options.remarks.get(place, ())
        parts += [note(remark) for remark in notes]
        parts.append(options.form.get(place, ""))
    inside = "".join(parts)
    return (
        f'<tr class="code-note"><td colspan="{options.width}">{inside}</td></tr>' if inside else ""
    )


def note(remark: ReviewComment) -> SafeString:
    """A comment beside its lines, with what it suggests."""
    kind, suggested = remark.get_kind_display(), ""
    if remark.is_suggestion:
        wanted = {"replacement": remark.replacement}
        # Line breaks around it would show. Safe: a template made it.
        suggested = mark_safe(render_to_string("feedback/_suggested.html", wanted).strip())  # noqa: S308
    return format_html(_NOTE, remark.pk, remark.kind, kind, remark.body, suggested)


def _code(row: CodeRow, colours: Colours) -> str:
    tag = "del" if row.kind == "removed" else "ins"
    inside = "".join(_pieces(colours.of(row), row.marks, tag))
    end = "" if row.has_end else '<span class="no-end" title="No line end">⏎̸</span>'
    return f'<code class="code">{inside}</code>{end}'


def _pieces(tokens: Sequence[Token], marks: Sequence[tuple[int, int]], tag: str) -> Iterator[str]:
    """Coloured pieces, cut where a mark begins or ends."""
    edges = sorted({edge for mark in marks for edge in mark})
    at = 0
    for kind, text in tokens:
        cuts = [0, *(edge - at for edge in edges if at < edge < at + len(text)), len(text)]
        for first, last in pairwise(cuts):
            piece = escape(text[first:last])
            piece = f'<span class="{kind}">{piece}</span>' if kind and piece else piece
            is_marked = any(start <= at + first < end for start, end in marks)
            yield f"<{tag}>{piece}</{tag}>" if is_marked and piece else piece
        at += len(text)
