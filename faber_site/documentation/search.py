"""Finds sections of the documentation; the index is made when somebody first searches."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from faber_site.documentation import shelf
from faber_site.documentation.shelf import DocsPage
from runs.rendering.sanitising import ID_PREFIX
from runs.rendering.slugs import Slugs

MOST_FOUND = 30
MOST_WORDS = 8
_AROUND = 90
_HEADING = re.compile(r"(#{1,6}) +(.+?) *$")
_FENCE = re.compile(r" *```")
# Hidden comments, the rulers of tables, and diagrams, which say nothing in their own letters.
_UNREAD = re.compile(
    r"<!--.*?-->|^ *\|[-|: ]+\|$|^ *```mermaid$.*?^ *```$", re.DOTALL | re.MULTILINE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DocsSection:
    page: DocsPage
    title: str
    anchor: str  # none for the beginning of a page
    text: str

    def score(self, words: Sequence[re.Pattern[str]]) -> int:
        """How well it fits; nothing where a word is missing, more where two stand together."""
        fits = [self._score(word) for word in words]
        if not fits or not all(fits):
            return 0
        pairs = (_together(*pair) for pair in pairwise(words))
        return sum(fits) + sum(20 for pair in pairs if pair.search(self.text))

    def _score(self, word: re.Pattern[str]) -> int:
        in_page, in_title = bool(word.search(self.page.title)), bool(word.search(self.title))
        return 20 * in_title + 8 * in_page + min(len(word.findall(self.text)), 5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    section: DocsSection
    excerpt: SafeString


def _together(first: re.Pattern[str], second: re.Pattern[str]) -> re.Pattern[str]:
    return re.compile(rf"(?:{first.pattern})\w*\W+(?:{second.pattern})", re.IGNORECASE)


def search(query: str) -> list[Found]:
    words = [
        re.compile(rf"(?<![^\W_]){re.escape(word)}", re.IGNORECASE)  # the beginning of a word
        for word in query.split()[:MOST_WORDS]
    ]
    scored = [(section.score(words), section) for section in _index()]
    best = sorted((pair for pair in scored if pair[0]), key=lambda pair: -pair[0])[:MOST_FOUND]
    return [Found(section=section, excerpt=_excerpt(section.text, words)) for _, section in best]


@cache
def _index() -> tuple[DocsSection, ...]:
    groups = shelf.grouped().values()
    return tuple(section for group in groups for page in group for section in sections(page))


def sections(page: DocsPage) -> Iterator[DocsSection]:
    slugs, title, anchor, lines = Slugs(), page.title, "", list[str]()
    is_code = False
    for line in _UNREAD.sub("", page.text).splitlines():
        if _FENCE.match(line):
            is_code = not is_code
            continue
        heading = None if is_code else _HEADING.match(line)
        if heading is None:
            lines.append(line)
            continue
        if lines or anchor:
            yield _section(page, title, anchor, lines)
        title, lines = shelf.plain(heading[2]), []
        slug = slugs.take(title)
        anchor = "" if len(heading[1]) == 1 else ID_PREFIX + slug
    yield _section(page, title, anchor, lines)


def _section(page: DocsPage, title: str, anchor: str, lines: list[str]) -> DocsSection:
    text = " ".join(shelf.plain(" ".join(lines)).replace("|", " ").split())
    return DocsSection(
        page=page, title=page.title if not anchor else title, anchor=anchor, text=text
    )


def _excerpt(text: str, words: Sequence[re.Pattern[str]]) -> SafeString:
    """The place where most of the words stand, with each of them marked."""
    first = min((found.start() for word in words if (found := word.search(text))), default=0)
    start = text.rfind(" ", 0, max(0, first - _AROUND)) + 1
    shown = text[start : first + 2 * _AROUND]
    either = re.compile("|".join(f"(?:{word.pattern})" for word in words), re.IGNORECASE)
    parts, last = ["… " if start else ""], 0
    for hit in either.finditer(shown):
        parts += [format_html("{}<mark>{}</mark>", shown[last : hit.start()], hit[0])]
        last = hit.end()
    ending = " …" if first + 2 * _AROUND < len(text) else ""
    parts.append(format_html("{}{}", shown[last:], ending))
    return mark_safe("".join(parts))  # noqa: S308  every part is escaped above
