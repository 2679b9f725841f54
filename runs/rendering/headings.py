"""Anchors of headings, named as GitHub names them so that links written for it work here."""

import re
from html import unescape
from xml.etree.ElementTree import Element

from markdown import Markdown
from markdown.extensions.toc import render_inner_html, strip_tags
from markdown.treeprocessors import Treeprocessor

from runs.rendering.document import TocEntry
from runs.rendering.sanitising import ID_PREFIX

_LEVELS = {f"h{level}": level for level in range(1, 7)}
_NOT_IN_SLUG = re.compile(r"[^\w\- ]")


class Headings(Treeprocessor):
    """Gives every heading an id, and fills the table of contents."""

    def __init__(self, md: Markdown, toc: list[TocEntry]) -> None:
        super().__init__(md)
        self._toc = toc
        self._used: dict[str, int] = {}

    def run(self, root: Element) -> None:
        for element in root.iter():
            if element.tag in _LEVELS:
                self._name(element)

    def _name(self, heading: Element) -> None:
        title = unescape(strip_tags(render_inner_html(heading, self.md)))
        if not title:
            return
        slug = self._unique(_NOT_IN_SLUG.sub("", title.lower()).replace(" ", "-"))
        heading.set("id", slug)
        self._toc.append(TocEntry(_LEVELS[heading.tag], title, ID_PREFIX + slug))

    def _unique(self, slug: str) -> str:
        name = slug
        while name in self._used:
            self._used[slug] += 1
            name = f"{slug}-{self._used[slug]}"
        self._used[name] = 0
        return name
