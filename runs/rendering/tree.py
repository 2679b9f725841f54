"""The element tree a document's block tokens become."""

import re
from html import unescape
from xml.etree.ElementTree import Element, SubElement

from markdown import Markdown
from markdown.util import AtomicString
from markdown_it.rules_block.table import escapedSplit
from markdown_it.token import Token

from runs.rendering.document import Document
from runs.rendering.highlighting import Highlighter
from runs.rendering.inlines import Text
from runs.rendering.raw_html import left_out

_FIRST_TAG = re.compile(r"<[a-z][^\s/<>]*", re.IGNORECASE)
_NOT_IN_LANGUAGE = re.compile(r"[^\w+#.-]")
_BOX = {True: {"aria-label": "Done", "checked": ""}, False: {"aria-label": "To do"}}


class Tree:
    def __init__(self, md: Markdown, document: Document, source: list[str]) -> None:
        self.root = Element(md.doc_tag)
        self._open = [self.root]
        self._stash = md.htmlStash
        self._document = document
        self._source = source
        self._columns = 0
        self._highlighter = Highlighter()
        self._leaves = {
            "inline": self._add_text,
            "fence": self._add_code,
            "code_block": self._add_code,
            "html_block": self._add_html,
            "hr": self._add_rule,
        }

    def add(self, token: Token) -> None:
        if token.type in self._leaves:
            self._leaves[token.type](token)
        elif token.nesting == -1:
            self._open.pop()
        elif token.hidden and _has_no_blocks(self._open[-1]):
            # The text of a tight list item is the item's own.
            self._open.append(self._open[-1])
        else:
            self._open.append(self._add_element(token))
            self._note_extra_cells(token)

    def _add_element(self, token: Token) -> Element:
        element = SubElement(self._open[-1], token.tag, self._lines(token))
        for name, value in token.attrs.items():
            # The only style markdown-it writes is the alignment of a cell.
            element.set(name.replace("style", "align"), str(value).removeprefix("text-align:"))
        if "checked" in token.meta:
            SubElement(element, "input", _BOX[token.meta["checked"]]).tail = " "
        return element

    def _add_rule(self, token: Token) -> None:
        SubElement(self._open[-1], "hr", self._lines(token))

    def _add_text(self, token: Token) -> None:
        Text(self._open[-1], token, document=self._document, stash=self._stash).fill()

    def _add_code(self, token: Token) -> None:
        first, last = self._range(token)
        info = token.info.strip()
        name = _NOT_IN_LANGUAGE.split(info, maxsplit=1)[0][:30]
        if name != info:
            self._document.hidden.note("Text after the language of a code block", first, first)
        kind = f' class="language-{name}"' if name else ""
        code = self._highlighter.html(token.content, name)
        lines = self._document.stamp.html(first, last)
        self._add_raw(f'<pre class="code"{lines}><code{kind}>{code}</code></pre>')

    def _add_html(self, token: Token) -> None:
        first, last = self._range(token)
        for what, start, end in left_out(token.content):
            self._document.hidden.note(what, first + start, first + end)
        self._document.hidden.note_characters(unescape(token.content), first)
        markup = self._document.raw_html.tame(token.content).strip()
        lines = self._document.stamp.html(first, last)
        # The lines go on its first tag: an element around it would close what it leaves open,
        # as <details> is until a later block closes it.
        marked = _FIRST_TAG.sub(rf"\g<0>{lines}", markup, count=1)
        if marked != markup:
            self._add_raw(marked)
        elif markup:
            self._add_raw(markup if markup.startswith("</") else f"<p{lines}>{markup}</p>")

    def _add_raw(self, markup: str) -> None:
        """Python-Markdown puts the markup in the place of the whole paragraph."""
        SubElement(self._open[-1], "p").text = AtomicString(self._stash.store(markup))

    def _lines(self, token: Token) -> dict[str, str]:
        return self._document.stamp.attributes(*self._range(token)) if token.map else {}

    def _range(self, token: Token) -> tuple[int, int]:
        """First and last line, without the blank lines markdown-it counts in."""
        start, end = token.map or (0, 1)
        while end > start + 1 and not self._source[end - 1].strip():
            end -= 1
        return start + 1, end

    def _note_extra_cells(self, token: Token) -> None:
        """Cells beyond the header are not shown."""
        if token.type == "table_open":
            self._columns = 0
        elif token.type == "th_open":
            self._columns += 1
        elif token.type == "tr_open" and self._columns and token.map:
            row = self._source[token.map[0]].lstrip("> \t").strip().removeprefix("|")
            if len(escapedSplit(row.removesuffix("|"))) > self._columns:
                line = token.map[0] + 1
                self._document.hidden.note("A table cell without a heading", line, line)


def _has_no_blocks(item: Element) -> bool:
    return len(item) == 0 or (len(item) == 1 and item[0].tag == "input")
