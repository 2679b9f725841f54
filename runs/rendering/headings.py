"""Anchors of headings, named as GitHub names them so that links written for it work here."""

from html import unescape
from xml.etree.ElementTree import Element

from markdown import Markdown
from markdown.extensions.toc import render_inner_html, strip_tags
from markdown.treeprocessors import Treeprocessor

from runs.rendering.document import TocEntry
from runs.rendering.sanitising import ID_PREFIX
from runs.rendering.slugs import Slugs

_LEVELS = {f"h{level}": level for level in range(1, 7)}


class Headings(Treeprocessor):
    """Gives every heading an id, and fills the table of contents."""

    def __init__(self, md: Markdown, toc: list[TocEntry]) -> None:
        super().__init__(md)
        self._toc = toc
        self._slugs = Slugs()

    def run(self, root: Element) -> None:
        for element in root.iter():
            if element.tag in _LEVELS:
                self._name(element)

    def _name(self, heading: Element) -> None:
        title = unescape(strip_tags(render_inner_html(heading, self.md)))
        if not title:
            return
        slug = self._slugs.take(title)
        heading.set("id", slug)
        self._toc.append(TocEntry(_LEVELS[heading.tag], title, ID_PREFIX + slug))
