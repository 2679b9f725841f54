"""What stands inside a block and differs from Python-Markdown's own reading."""

import re
import string
from xml.etree.ElementTree import Element

from markdown import Markdown
from markdown.inlinepatterns import (
    HTML_RE,
    HtmlInlineProcessor,
    SubstituteTagInlineProcessor,
)
from markdown.treeprocessors import Treeprocessor
from markdown.util import AtomicString

from runs.rendering.raw_html import RawHtml, image_label

_LINE_BREAK = r"(?: {2,}|\\)\n"


class InlineHtml(HtmlInlineProcessor):
    """Tags between words."""

    def __init__(self, md: Markdown, raw_html: RawHtml) -> None:
        super().__init__(HTML_RE, md)
        self._raw_html = raw_html

    def handleMatch(self, m: re.Match[str], data: str) -> tuple[str, int, int]:  # type: ignore[override]  # noqa: N802
        markup = self.backslash_unescape(self.unescape(m[1]))
        placeholder = self.md.htmlStash.store(self._raw_html.tame(markup))
        return placeholder, m.start(), m.end()


class ImagesAsLinks(Treeprocessor):
    def run(self, root: Element) -> None:
        for link in root.iter("a"):
            for image in link.iter("img"):
                _rewrite(image, "span", AtomicString(image.get("alt", "")))
        for image in root.iter("img"):
            source = image.get("src", "")
            _rewrite(image, "a", AtomicString(image_label(source, image.get("alt", ""))))
            image.set("href", source)


def read_as_github(md: Markdown, raw_html: RawHtml) -> None:
    md.ESCAPED_CHARS = list(string.punctuation)
    if md.delimiters is not None:
        md.delimiters.add("~", "del", double=True)
    line_break = SubstituteTagInlineProcessor(_LINE_BREAK, "br")
    md.inlinePatterns.register(line_break, "linebreak", 100)
    md.inlinePatterns.register(InlineHtml(md, raw_html), "html", 90)
    md.treeprocessors.register(ImagesAsLinks(md), "images_as_links", 15)


def _rewrite(element: Element, tag: str, text: str) -> None:
    tail = element.tail
    element.clear()
    element.tag, element.text, element.tail = tag, text, tail
