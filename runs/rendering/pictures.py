"""Pictures that a document shows from its own folder, by the address where each was kept."""

import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote

# By what a file begins with, whatever its name says.
_KINDS = (
    (re.compile(rb"\x89PNG\r\n\x1a\n"), "image/png"),
    (re.compile(rb"\xff\xd8\xff"), "image/jpeg"),
    (re.compile(rb"GIF8[79]a"), "image/gif"),
    (re.compile(rb"RIFF....WEBP", re.DOTALL), "image/webp"),
    (re.compile(rb"....ftypavi[fs]", re.DOTALL), "image/avif"),
    (
        re.compile(
            rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*>\s*|<!--.{0,2000}?-->\s*)*<svg[\s>]", re.DOTALL
        ),
        "image/svg+xml",
    ),
)
_SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".gif", ".webp", ".avif", ".svg"})
_NAMED = re.compile(
    r"""!\[[^\]\n]{0,500}\]\(\s*<?([^\s()<>]{1,500})"""
    r"""|<img\s[^>]{0,500}?src\s*=\s*["']([^"'\n]{1,500})["']"""
    r"""|^\s{0,3}\[[^\]\n]{1,200}\]:\s*<?([^\s<>]{1,500})""",
    re.IGNORECASE | re.MULTILINE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pictures:
    """Those that were kept, by their path in the workspace."""

    document: str = ""  # the path of the document that shows them
    addresses: Mapping[str, str] | None = field(default=None)  # None where none are shown

    def path(self, source: str) -> str:
        return path_of(self.document, source) if self.addresses is not None else ""

    def address(self, source: str) -> str:
        return (self.addresses or {}).get(self.path(source), "")


def kind_of(content: bytes) -> str:
    """The type a browser shows it by; empty when it is no picture."""
    head = content[:4096]
    return next((kind for begin, kind in _KINDS if begin.match(head)), "")


def path_of(document: str, source: str) -> str:
    """The file that a document means, when it is a picture in its own folder or below."""
    name = unquote(source).partition("#")[0].partition("?")[0].replace("\\", "/")
    if not name or name.startswith("/") or ":" in name or "\0" in name:
        return ""
    folder = posixpath.dirname(document)
    path = posixpath.normpath(posixpath.join(folder, name))
    is_below = path.startswith(f"{folder}/") if folder else not path.startswith("..")
    return path if is_below and posixpath.splitext(path)[1].lower() in _SUFFIXES else ""


def named_in(document: str, text: str) -> list[str]:
    """The paths of all pictures that a document may show."""
    found = (path_of(document, "".join(sources)) for sources in _NAMED.findall(text))
    return list(dict.fromkeys(path for path in found if path))
