"""HTML inside Markdown, brought down to the tags a page may have.

Only allowed tags reach the HTML parser of the sanitiser. An unclosed comment, `<script>` or
`<plaintext>` would otherwise swallow the rest of the document, and the reader would not know.
"""

import html
import re
from collections.abc import Iterator

from runs.rendering.bounds import MAX_TAGS, CannotRenderError
from runs.rendering.lines import LineStamp
from runs.rendering.pictures import Pictures
from runs.rendering.sanitising import MISSING, TAGS, is_forbidden

# Tags that are left out; what stands between them is shown. Any other unknown tag is more
# likely a placeholder such as `<name>`, and is shown as it is written.
LEFT_OUT = frozenset(
    """
    address animate applet area article aside audio base basefont bgsound big body button canvas
    center col colgroup data datalist dialog dir embed fieldset figcaption figure font footer
    foreignobject form frame frameset head header hgroup html iframe image ins keygen label legend
    link listing main map marquee math menu menuitem meta meter nav nobr noembed noframes noscript
    object optgroup option output param picture plaintext portal progress rb rp rt ruby script
    search section select set slot source strike style svg template textarea time title track tt
    use video wbr xmp
    """.split()  # noqa: SIM905
)
# The HTML parser repeats these in every block until they are closed; with attributes it
# repeats any number of them, and a small document grows into a huge page.
_REPEATED = frozenset({"b", "code", "em", "i", "s", "small", "strong", "u"})
_READ = TAGS | {"img"}
_MAX_TAG_LENGTH = 2_000

_COMMENT = re.compile(r"<!--(?:-?>|.*?(?:-->|\Z))", re.DOTALL)
_TAG = re.compile(r"<(?:(/?)([a-zA-Z][^\s/<>]*+)([^<>]*+)>)?")
_ATTRIBUTE = re.compile(r"""([a-zA-Z-]++)\s*+=\s*+(?:"([^"]*)"|'([^']*)'|([^\s"']++))""")
# Attributes whose meaning a page shows, or which hold too little to hide anything.
_PLAIN_ATTRIBUTES = re.compile(
    r"""(?:\s++(?:
        (?:href|src|alt|title)\s*+=\s*+(?:"[^"]*+"|'[^']*+'|[^\s"']++)
        |(?:align|class|colspan|height|id|name|rel|rowspan|scope|start|target|type|width)
            \s*+=\s*+["']?[\w%#.-]{0,40}["']?(?=[\s/]|\Z)
        |(?:checked|disabled|open)(?:\s*+=\s*+["']["'])?(?=[\s/]|\Z)
    ))*+\s*+/?""",
    re.IGNORECASE | re.VERBOSE,
)


class RawHtml:
    """The raw HTML of one document."""

    def __init__(self, pictures: Pictures | None = None, stamp: LineStamp | None = None) -> None:
        self._kept = 0
        self._pictures = pictures or Pictures()
        self._stamp = stamp or LineStamp()

    def tame(self, markup: str) -> str:
        return _TAG.sub(self._tamed, _COMMENT.sub("", markup))

    def _tamed(self, tag: re.Match[str]) -> str:
        slash, name, rest = tag.groups(default="")
        name = name.lower()
        if name in LEFT_OUT:
            return ""
        if name == "img" and not slash:
            return self._picture(_attributes(rest))
        if name not in TAGS or len(rest) > _MAX_TAG_LENGTH:
            return "&lt;" + tag[0][1:]
        self._count(name)
        return f"<{slash}{name}>" if name in _REPEATED else tag[0]

    def _picture(self, attributes: dict[str, str]) -> str:
        source, alt = attributes.get("src", ""), html.escape(attributes.get("alt", ""))
        if address := self._pictures.address(source):
            return (
                f'<img src="{self._stamp.signed(html.escape(address))}" alt="{alt}" loading="lazy">'
            )
        if path := self._pictures.path(source):
            return f'<span class="{MISSING}">{html.escape(missing_label(path))}</span>'
        return image_as_link(attributes)

    def _count(self, name: str) -> None:
        self._kept += name != "br"
        if self._kept > MAX_TAGS:
            raise CannotRenderError("This document has too many HTML tags to render.")


def left_out(markup: str) -> Iterator[tuple[str, int, int]]:
    """What `tame` removes, with the first and last line of each, counted from 0."""
    if "<" not in markup:
        return
    for comment, line in _with_lines(_COMMENT, markup):
        yield "An HTML comment", line, line + comment[0].count("\n")
    for tag, line in _with_lines(_TAG, _COMMENT.sub(_newlines, markup)):
        name = (tag[2] or "").lower()
        if name in LEFT_OUT:
            yield f"The HTML tag <{tag[1]}{name}>", line, line
        elif name in _READ and (
            not _PLAIN_ATTRIBUTES.fullmatch(tag[3]) or _loses_address(name, tag[3])
        ):
            yield f"Part of the HTML tag <{tag[1]}{name}>", line, line


def _loses_address(name: str, rest: str) -> bool:
    return name == "a" and is_forbidden(_attributes(rest).get("href", ""))


def image_as_link(attributes: dict[str, str]) -> str:
    """Pictures would tell other machines who reads here, and when."""
    source = attributes.get("src", "")
    label = html.escape(image_label(source, attributes.get("alt", "")))
    return f'<a href="{html.escape(source)}">{label}</a>'


def missing_label(path: str) -> str:
    return f"Image not available: {path}"


def image_label(source: str, alt: str) -> str:
    return f"Image: {alt or source}"


def _attributes(rest: str) -> dict[str, str]:
    return {
        name.lower(): html.unescape(double or single or bare)
        for name, double, single, bare in _ATTRIBUTE.findall(rest[:_MAX_TAG_LENGTH])
    }


def _with_lines(pattern: re.Pattern[str], text: str) -> Iterator[tuple[re.Match[str], int]]:
    line = seen = 0
    for match in pattern.finditer(text):
        line += text.count("\n", seen, match.start())
        seen = match.start()
        yield match, line


def _newlines(match: re.Match[str]) -> str:
    return "\n" * match[0].count("\n")
