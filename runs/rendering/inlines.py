"""The text of one block: words, and the elements among them.

Python-Markdown's own reading of emphasis and links loses characters (`*d**d*a***`), and some
texts keep it busy for minutes. markdown-it-py reads both as GitHub does.
"""

from html import escape
from xml.etree.ElementTree import Element, SubElement

from markdown.util import AtomicString, HtmlStash
from markdown_it.token import Token

from runs.rendering.document import Document
from runs.rendering.raw_html import image_label, left_out, missing_label
from runs.rendering.sanitising import MISSING, is_forbidden

_TAGS = {"s": "del"}


class Text:
    """Fills an element with the inline tokens of one block."""

    def __init__(
        self, parent: Element, block: Token, *, document: Document, stash: HtmlStash
    ) -> None:
        self._open = [parent]
        self._words: list[str] = []
        self._block = block
        self._read_to = 0
        self._document = document
        self._stash = stash

    def fill(self) -> None:
        for token in self._block.children or ():
            self._add(token)
        self._put_words()

    def _add(self, token: Token) -> None:
        match token.type:
            case "text":
                self._say(token.content)
            case "text_special":
                self._say_entity(token)
            case "softbreak":
                self._say("\n")
            case "hardbreak":
                self._put("br")
            case "code_inline":
                self._put("code").text = _literal(token.content)
            case "html_inline":
                self._say_html(token)
            case "image":
                self._put_image(token)
            case _ if token.nesting == 1:
                tag = _TAGS.get(token.tag, token.tag)
                self._open.append(self._put(tag, self._attributes(token)))
            case _:
                self._put_words()
                self._open.pop()

    def _say(self, words: str) -> None:
        self._words.append(escape(words, quote=False))

    def _say_entity(self, token: Token) -> None:
        self._document.hidden.note_characters(token.content, self._line_of(token.markup))
        self._say(token.content)

    def _say_html(self, token: Token) -> None:
        for what, start, end in left_out(token.content):
            line = self._line_of(token.content)
            self._document.hidden.note(what, line + start, line + end)
        self._words.append(self._stash.store(self._document.raw_html.tame(token.content)))

    def _put_words(self) -> None:
        words = "".join(self._words)
        self._words.clear()
        # Python-Markdown looks for addresses in text; most text cannot hold one.
        if not any(sign in words for sign in ("://", "www.", "@")):
            words = AtomicString(words)
        parent = self._open[-1]
        if len(parent):
            parent[-1].tail = (parent[-1].tail or "") + words
        else:
            parent.text = words

    def _put(self, tag: str, attributes: dict[str, str] | None = None) -> Element:
        self._put_words()
        return SubElement(self._open[-1], tag, attributes or {})

    def _put_image(self, token: Token) -> None:
        """Others than those that were kept would tell other machines who reads here, and when."""
        attributes = self._attributes(token)
        source = attributes.pop("src", "")
        attributes.pop("alt", None)
        pictures = self._document.pictures
        if address := pictures.address(str(token.attrs.get("src", ""))):
            signed = self._document.stamp.signed(_literal(address))
            self._put("img", {"src": signed, "alt": _literal(token.content), "loading": "lazy"})
        elif path := pictures.path(str(token.attrs.get("src", ""))):
            self._put("span", {"class": MISSING}).text = _literal(missing_label(path))
        elif any(element.tag == "a" for element in self._open):
            self._put("span").text = _literal(token.content)
        else:
            label = image_label(source, token.content)
            self._put("a", {"href": source, **attributes}).text = _literal(label)

    def _attributes(self, token: Token) -> dict[str, str]:
        self._document.used_labels.add(token.meta.get("label", ""))
        address = str(token.attrs.get("href", ""))
        if is_forbidden(address):
            line = self._line_of(address)
            self._document.hidden.note("The address of a link", line, line)
        # One long address used by many short references would make a small document huge.
        self._document.work.spend(sum(len(str(value)) for value in token.attrs.values()) // 2)
        return {name: _literal(str(value)) for name, value in token.attrs.items()}

    def _line_of(self, written: str) -> int:
        """The line of the next place where the block says this."""
        self._read_to = max(self._block.content.find(written, self._read_to), self._read_to)
        first = self._block.map[0] + 1 if self._block.map else 1
        return first + self._block.content.count("\n", 0, self._read_to)


def _literal(text: str) -> AtomicString:
    """Text that means itself; the serialiser would take `&lt;` in it for an entity."""
    return AtomicString(escape(text, quote=False))
