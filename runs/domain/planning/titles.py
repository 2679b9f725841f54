"""What a run is called: by its issue, else its target, else its first document."""

import re
from collections.abc import Callable, Iterable

from runs.domain.values import front_matter
from runs.domain.values.text import one_line

LONGEST = 200
_DOCUMENTS = (".md", ".markdown")
_MOST_LINES = 400  # a document that has no heading by then has none that names it

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+(?P<text>.*?)(?:[ \t]+#+)?[ \t]*")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-{2,})[ \t]*")
_NO_TEXT = re.compile(r"[ \t]*(?:[-*+>|]|\d+[.)][ \t]|<|$)|    ")
_LINK = re.compile(r"!?\[(?P<text>[^\]]*)\](?:\([^)]*\)|\[[^\]]*\])")
_MARKS = re.compile(r"`+|\*{1,3}(?=\S)|(?<=\S)\*{1,3}|(?<!\w)_{1,3}(?=\S)|(?<=\S)_{1,3}(?!\w)")


def cleaned(name: str, conceal: Callable[[str], str]) -> str:
    """A name as a title: one line of bounded length, without secrets."""
    # Secrets before the cut: half a secret is not recognised any more.
    return one_line(conceal(name), LONGEST)


def heading_in(documents: Iterable[tuple[str, bytes]]) -> str:
    """The first heading of the first document that has one; documents are path and content."""
    headings = (_heading(content) for path, content in documents if is_document(path))
    return next((heading for heading in headings if heading), "")


def is_document(path: str) -> bool:
    return path.lower().endswith(_DOCUMENTS)


def _heading(content: bytes) -> str:
    text = content.decode("utf-8", errors="replace").replace("\r\n", "\n").replace("\r", "\n")
    block, _ = front_matter.find(text)
    fence, above = "", ""
    for line in text[len(block) :].split("\n", _MOST_LINES)[:_MOST_LINES]:
        if fence:
            fence = "" if line.strip().startswith(fence) else fence
        elif opening := _FENCE.match(line):
            fence, above = opening[1], ""
        elif (found := _HEADING.fullmatch(line)) and (named := _plain(found["text"])):
            return named
        elif above and _UNDERLINE.fullmatch(line):
            return _plain(above)
        else:
            above = "" if _NO_TEXT.match(line) else line
    return ""


def _plain(marked: str) -> str:
    """The words of a heading, without what makes them bold, code or a link."""
    return _MARKS.sub("", _LINK.sub(r"\g<text>", marked)).strip()
