"""The last wall: only these tags, attributes and addresses ever reach a page."""

import html
import posixpath
import re
from collections.abc import Callable
from urllib.parse import unquote

import nh3
from django.utils.safestring import SafeString, mark_safe
from pygments.token import STANDARD_TYPES

from runs.rendering.lines import LineStamp

ID_PREFIX = "user-content-"

TAGS = frozenset(
    """
    a abbr b blockquote br caption cite code dd del details dfn div dl dt em h1 h2 h3 h4 h5 h6 hr
    i input kbd li mark ol p pre q s samp small span strong sub summary sup table tbody td tfoot th
    thead tr u ul var
    """.split()  # noqa: SIM905
)
# A picture of the document's own folder that was not kept.
MISSING = "missing-picture"
_CELL = {"align", "colspan", "rowspan", "scope"}
ATTRIBUTES: dict[str, set[str]] = {
    "*": {"class", "data-end", "data-line", "id"},
    "a": {"href", "title"},
    "abbr": {"title"},
    "details": {"open"},
    "img": {"alt", "loading", "src"},
    "input": {"aria-label", "checked"},
    "ol": {"start"},
    "td": _CELL,
    "th": _CELL,
}
SCHEMES = frozenset({"http", "https", "mailto"})

_VALUES = {
    "align": re.compile("left|center|right"),
    "aria-label": re.compile("Done|To do"),
    "checked": re.compile(""),
    "colspan": re.compile(r"[0-9]{1,2}"),
    "loading": re.compile("lazy"),
    "open": re.compile(""),
    "rowspan": re.compile(r"[0-9]{1,2}"),
    "scope": re.compile("col|row"),
    "start": re.compile(r"[0-9]{1,9}"),
}
_ALERTS = {f"markdown-alert-{kind}" for kind in ("note", "tip", "important", "warning", "caution")}
_CLASSES = (
    frozenset(STANDARD_TYPES.values())
    | _ALERTS
    | {
        "code",
        "contains-task-list",
        "front-matter",
        "markdown-alert",
        "markdown-alert-title",
        "task-list-item",
        MISSING,
    }
)
_LANGUAGE = re.compile(r"language-[\w+#.-]{1,30}")
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*):", re.IGNORECASE)
_DROPPED_BY_BROWSERS = re.compile(r"[\x00-\x1f\x7f]")


def sanitised(markup: str, stamp: LineStamp) -> SafeString:
    return _trusted(
        nh3.clean(
            markup,
            tags=TAGS | {"img"},  # only those we signed have a source
            attributes=ATTRIBUTES,
            attribute_filter=_filter(stamp),
            # Whatever a document wants from an <input>, it gets a box that cannot be used.
            set_tag_attribute_values={"input": {"type": "checkbox", "disabled": ""}},
            url_schemes=SCHEMES,
            link_rel="noopener noreferrer nofollow",
        )
    )


def plain(text: str, why: str) -> SafeString:
    """The text as it is, under a sentence saying why it is not laid out."""
    notice = f'<p class="notice">{html.escape(why)} Showing it as plain text.</p>'
    last = text.rstrip("\n").count("\n") + 1
    lines = f'data-line="1" data-end="{last}"'
    # The parser of a browser drops a line break right after <pre>.
    return _trusted(f'{notice}<pre class="code" {lines}>\n{html.escape(text)}</pre>')


def _trusted(markup: str) -> SafeString:
    # Safe because both callers above leave no other way in: one gives what nh3 let through,
    # the other escapes every character of the document.
    return mark_safe(markup)  # noqa: S308


def _filter(stamp: LineStamp) -> Callable[[str, str, str], str | None]:
    readers: dict[str, Callable[[str], str | None]] = {
        "class": _classes,
        "data-end": stamp.read,
        "data-line": stamp.read,
        "href": _address,
        "id": _prefixed,
        "src": stamp.read,
    }

    def attribute(_tag: str, name: str, value: str) -> str | None:
        if name in readers:
            return readers[name](value)
        pattern = _VALUES.get(name)
        return value if pattern is None or pattern.fullmatch(value) else None

    return attribute


def _classes(value: str) -> str | None:
    kept = [name for name in value.split() if name in _CLASSES or _LANGUAGE.fullmatch(name)]
    return " ".join(kept) or None


def _prefixed(name: str) -> str | None:
    """An id that cannot take the place of one the page itself uses."""
    return ID_PREFIX + name.removeprefix(ID_PREFIX) if name else None


def is_forbidden(address: str) -> bool:
    """Whether it leads neither to a page nor to a file, and is left out of a link."""
    scheme = _SCHEME.match(_DROPPED_BY_BROWSERS.sub("", address).strip())
    return scheme is not None and scheme[1].lower() not in SCHEMES


def _address(value: str) -> str | None:
    address = _DROPPED_BY_BROWSERS.sub("", value).strip()
    if address.startswith("#"):
        return f"#{_prefixed(address[1:]) or ''}"
    if _SCHEME.match(address):
        return None if is_forbidden(address) else address
    return address if _is_below(address) else None


def _is_below(address: str) -> bool:
    """A document may point at files beside it, not at other pages of this site."""
    path = re.split("[?#]", unquote(address).replace("\\", "/"), maxsplit=1)[0]
    name = posixpath.normpath(path).split("/")[0]
    return bool(path) and name not in ("", "..") and ":" not in name
