"""What of a markdown comment is its author's own speech: no code, no quote, no HTML.

What is not speech is kept as it was written, and says nothing.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from markdown_it import MarkdownIt
from markdown_it.common.html_blocks import block_names
from markdown_it.token import Token

from runs.domain.values import text as words

MAX_CHARACTERS = 65_536  # of a comment, as GitHub has it
MOST_READ = 2 * MAX_CHARACTERS  # with the characters nobody sees
MAX_NESTING = 20
MAX_BRACKETS = 2_000  # beyond, one comment could keep the parser busy for many seconds
MAX_MARKS = 20_000

UNSPOKEN = "\N{OBJECT REPLACEMENT CHARACTER}"  # stands where code, a link or HTML stood

_READER = MarkdownIt("commonmark", {"html": True, "maxNesting": MAX_NESTING}).enable(
    ["table", "strikethrough"]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeechLine:
    """One line as its author wrote it, and what of it is said; block code says nothing.

    A quote, or a block of HTML, is one such line, whatever its length.
    """

    text: str
    source: str
    first: int  # the block it belongs to, as lines of the comment counted from 1
    last: int
    leads: bool = False  # it begins at the margin: no list mark, heading mark or cell before it
    is_quoted: bool = False  # somebody else's words, or HTML


@dataclass(frozen=True, slots=True, kw_only=True)
class Speech:
    lines: tuple[SpeechLine, ...]
    is_whole: bool  # False when the comment was too long, too deep or too tangled to be read


def listen(comment: str) -> Speech:
    """Every line of a comment, in order; only those that are the author's own have a text."""
    text = visible(comment[:MOST_READ])
    kept = text[:MAX_CHARACTERS]
    listener = _Listener(kept)
    lines = _without_mail(_with_the_rest(list(listener.lines()), kept))
    is_cut = len(comment) > MOST_READ or len(text) > len(kept)
    return Speech(lines=tuple(lines), is_whole=listener.is_whole and not is_cut)


def joined(lines: Iterable[SpeechLine], of: Callable[[SpeechLine], str]) -> str:
    """Lines as one text; blocks that were apart stay apart."""
    parts: list[str] = []
    last = 0
    for line in lines:
        if said := of(line).rstrip():
            gap = "\n" if line.first <= last + 1 else "\n\n"
            parts += (gap if parts else "", said)
            last = line.last
    return "".join(parts).strip("\n")


def visible(text: str) -> str:
    """A text with one kind of line end and without the characters nobody sees."""
    # A mention that was broken on purpose is none; GitHub does not see one either.
    return words.visible(text.replace("@\u200b", "@ "))


def _with_the_rest(spoken: list[SpeechLine], text: str) -> list[SpeechLine]:
    """With what no line of speech covers: quotes, HTML and whatever else markdown sets apart."""
    written = text.split("\n")
    covered = {number for line in spoken for number in range(line.first, line.last + 1)}
    rest: list[SpeechLine] = []
    first = 1
    for number in range(1, len(written) + 2):
        if number in covered or number > len(written):
            rest += _as_written(written, first, number - 1)
            first = number + 1
    return sorted([*spoken, *rest], key=lambda line: line.first)  # which keeps a block's order


def _as_written(written: list[str], first: int, last: int) -> Iterator[SpeechLine]:
    while first <= last and not written[first - 1].strip():
        first += 1
    while first <= last and not written[last - 1].strip():
        last -= 1
    if first <= last:
        source = "\n".join(written[first - 1 : last])
        yield SpeechLine(text="", source=source, first=first, last=last, is_quoted=True)


# "On Monday at 10:02, Ida <ida@example.org> wrote:", as mail programs put it above what they quote.
_ATTRIBUTION = re.compile(
    r"(?:on|am|le|el|op|em|il)\b(?=.*(?:@|\d[:.]\d\d|\b20\d\d\b))"
    r".*\b(?:wrote|schrieb|a écrit|escribió|schreef|escreveu|ha scritto)\b[^\n]{0,200}:",
    re.IGNORECASE | re.DOTALL,
)


def _without_mail(lines: list[SpeechLine]) -> list[SpeechLine]:
    """Without the letter that a mail program quotes below its answer."""
    if not lines or not lines[-1].source.startswith(">"):
        return lines
    above = [line for line in lines[:-1] if lines[-2].first <= line.first]
    if not _ATTRIBUTION.fullmatch("\n".join(line.source for line in above)[:1_000]):
        return lines
    return lines[: -1 - len(above)]


class _Listener:
    """Walks the blocks of one comment."""

    def __init__(self, text: str) -> None:
        self.is_whole = True
        self._html = _OpenHtml()
        self._references: dict[str, object] = {}
        self._tokens: list[Token] = []
        self._marks = self._brackets = 0
        _READER.block.parse(text, _READER, self._references, self._tokens)

    def lines(self) -> Iterator[SpeechLine]:
        quotes, before = 0, Token("", "", 0)
        row: list[SpeechLine] | None = None
        for token in self._tokens:
            self.is_whole &= token.level < MAX_NESTING - 1
            quotes += token.nesting * token.type.startswith("blockquote")
            if token.type == "html_block":
                self._html.read(token.content)
            elif token.type == "tr_open":
                row = []
            elif token.type == "tr_close":
                yield from _as_one(row or [])
                row = None
            elif not quotes and not self._html.is_open:
                said = self._block(token, before)
                if row is None:
                    yield from said
                else:
                    row += said
            if token.type != "paragraph_open":
                before = token

    def _block(self, token: Token, before: Token) -> list[SpeechLine]:
        first, after = token.map or (0, 0)
        if token.type in ("fence", "code_block"):
            # As code is taken out of a list, it loses the list's indentation with it.
            return [SpeechLine(text="", source=_block_code(token), first=first + 1, last=after)]
        if token.type == "list_item_close" and before.type == "list_item_open" and before.info:
            # "2." alone is an empty item of a list, and somebody's answer.
            first, after = before.map or (0, 0)
            number = f"{before.info}{before.markup}"
            return [SpeechLine(text=number, source=number, first=first + 1, last=after)]
        if token.type != "inline" or not self._affords(token.content):
            return []
        return list(self._paragraph(token, before))

    def _paragraph(self, token: Token, before: Token) -> Iterator[SpeechLine]:
        first, after = token.map or (0, 0)
        mark = _mark(before)
        children: list[Token] = []
        _READER.inline.parse(token.content, _READER, self._references, children)
        for index, (text, source) in enumerate(_inline(children, self._html)):
            yield SpeechLine(
                text=text.strip(),
                source=f"{'' if index else mark}{source.strip()}",
                first=first + 1,
                last=after,
                leads=index > 0 or not (mark or before.type in ("th_open", "td_open")),
            )
        self._html.end_paragraph()

    def _affords(self, text: str) -> bool:
        self._brackets += text.count("[")
        self._marks += sum(map(text.count, "*_~<`&\\\n"))
        if self._brackets <= MAX_BRACKETS and self._marks <= MAX_MARKS:
            return True
        self.is_whole = False
        return False


def _as_one(cells: list[SpeechLine]) -> Iterator[SpeechLine]:
    """The cells of a table's row are one line of the comment."""
    if cells:
        yield SpeechLine(
            text=" | ".join(cell.text for cell in cells),
            source=" | ".join(cell.source for cell in cells),
            first=cells[0].first,
            last=cells[0].last,
        )


def _mark(before: Token) -> str:
    if before.type == "list_item_open":
        return f"{before.info}{before.markup} "
    if before.type == "heading_open" and before.markup.startswith("#"):
        return f"{before.markup} "
    return ""


def _block_code(token: Token) -> str:
    longest = max(map(len, re.findall("`+", token.content)), default=0)
    fence = "`" * max(3, longest + 1)
    info = token.info.strip().replace("`", "")
    return f"{fence}{info}\n{token.content.rstrip()}\n{fence}"


def _inline(tokens: list[Token], html: "_OpenHtml") -> Iterator[tuple[str, str]]:
    """What is said and what is written, line by line."""
    text, source, struck = "", "", 0
    links: list[str] = []
    for token in tokens:
        if token.type in ("softbreak", "hardbreak"):
            yield text, source
            text = source = ""
            continue
        struck += token.nesting * token.type.startswith("s_")
        written = _written(token, links)
        source += written
        if token.type == "html_inline":
            html.read(token.content)
        if struck or html.is_open or token.type in _NEVER_SPOKEN:
            text += UNSPOKEN
        else:
            text += _said(token)
    yield text, source


_NEVER_SPOKEN = ("code_inline", "html_inline", "image", "link_open")


def _said(token: Token) -> str:
    if token.type == "text_special":
        # An escaped @ is meant not to be a mention, and an entity is not what was typed.
        typed = token.info == "escape" and token.content != "@"
        return token.content if typed else token.markup
    return token.content if token.type == "text" else ""


def _written(token: Token, links: list[str]) -> str:
    match token.type:
        case "text":
            return token.content
        case "code_inline":
            pad = " " if token.content.startswith("`") or token.content.endswith("`") else ""
            return f"{token.markup}{pad}{token.content}{pad}{token.markup}"
        case "link_open":
            auto = token.markup == "autolink"
            links.append(">" if auto else f"]({token.attrGet('href')})")
            return "<" if auto else "["
        case "link_close":
            return links.pop() if links else ""
        case "image":
            return f"![{token.content}]({token.attrGet('src')})"
        case "html_inline":
            return token.content
        case _:  # emphasis, escapes and entities
            return token.markup


_TAG_OPENS = re.compile(r"<(?:!--|/?[a-z])", re.IGNORECASE)
_TAG = re.compile(
    r"""<!--(?:-?>|.*?-->)|<(?P<end>/?)(?P<name>[a-z][a-z0-9-]*)(?:[^>"']|"[^"]*"|'[^']*')*+>""",
    re.IGNORECASE | re.DOTALL,
)
_ENDS_WITH_ITS_PARAGRAPH = frozenset(
    ("a", "abbr", "b", "bdo", "big", "cite", "dfn", "em", "font", "i", "ins", "kbd", "mark")
).union(("rp", "rt", "ruby", "samp", "small", "span", "strong", "sub", "sup", "u", "var"))
_OUTLIVES_IT = frozenset(
    ("code", "del", "pre", "q", "s", "script", "strike", "style", "template", "textarea", "tt")
).union(block_names)
_NEVER_CLOSED = ("base", "basefont", "col", "hr", "link", "meta", "p", "param", "source", "track")
# An element that is on no list is shown as if it were not there: List<T> says something.
_KNOWN = (_ENDS_WITH_ITS_PARAGRAPH | _OUTLIVES_IT).difference(_NEVER_CLOSED)
_MAX_OPEN = 100


class _OpenHtml:
    """Which elements are open: markdown goes on inside `<blockquote>` after an empty line."""

    def __init__(self) -> None:
        self._open: list[str] = []
        self._is_broken = False

    @property
    def is_open(self) -> bool:
        return bool(self._open) or self._is_broken

    def read(self, html: str) -> None:
        at = 0
        while not self._is_broken and (opening := _TAG_OPENS.search(html, at)):
            tag = _TAG.match(html, opening.start())
            # A tag or comment without an end swallows whatever follows it.
            self._is_broken = tag is None
            if tag:
                at = tag.end()
                self._note(tag)

    def end_paragraph(self) -> None:
        self._open = [name for name in self._open if name in _OUTLIVES_IT]

    def _note(self, tag: re.Match[str]) -> None:
        name = (tag["name"] or "").lower()
        if name not in _KNOWN:
            return
        if not tag["end"]:
            self._open.append(name)
            self._is_broken = len(self._open) > _MAX_OPEN
        elif name in self._open:
            del self._open[len(self._open) - 1 - self._open[::-1].index(name) :]
