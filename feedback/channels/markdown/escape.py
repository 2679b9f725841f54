"""Makes somebody's text harmless inside a comment of ours: it cannot ping, hide or spread."""

import re
from urllib.parse import quote

from markdown_it import MarkdownIt
from markdown_it.token import Token

from feedback.channels.markdown.speech import visible

_HIDDEN_SPACE = "\N{ZERO WIDTH SPACE}"
_CUT = "… (see the review page for the rest)"
_LONG = 1_200  # from here on a text is folded
_MORE = 10  # times what is shown is looked at: the rest cannot be seen

# Somebody's name would ping them, and `<` would begin HTML that hides or folds what follows.
_MENTION = re.compile(r"@(?=[A-Za-z0-9])")
_HIDDEN_AT = re.compile(r"&(?:#0*64|#[xX]0*40|commat);?")
_HTML = re.compile(r"<(?=[A-Za-z/!?])")
_MARKUP = re.compile(r"[\\`*\[\]<>|~#&]|(?<!\w)_|_(?!\w)")
_LIST_MARK = re.compile(r"^(\d*)([-+.)])")
_FENCES = ("", "```", "~~~", "````")
_READER = MarkdownIt("commonmark", {"html": True})


def block(text: str, limit: int) -> str:
    """Somebody's markdown that cannot ping, hide or swallow what follows it."""
    clean = harmless(text[: limit * _MORE])
    clean = clean if len(clean) <= limit else f"{clean[: limit - 100]}\n\n{_CUT}"
    closings = (f"{clean}\n{fence}".rstrip("\n") for fence in _FENCES)
    return next((text for text in closings if not _swallows(text)), fenced(clean))


def harmless(text: str) -> str:
    """Somebody's text in which no name is called and no HTML begins."""
    clean = visible(text).strip()
    for pattern, broken in ((_HIDDEN_AT, "@"), (_MENTION, "@"), (_HTML, "<")):
        clean = pattern.sub(f"{broken}{_HIDDEN_SPACE}", clean)
    return clean


def line(text: str, limit: int = 300) -> str:
    """Somebody's words on one line of ours, without any markup."""
    escaped = _MARKUP.sub(r"\\\g<0>", flat(text, limit))
    escaped = _LIST_MARK.sub(r"\1\\\2", escaped)
    return _MENTION.sub(f"@{_HIDDEN_SPACE}", escaped)


def code(text: str, limit: int = 300) -> str:
    plain = flat(text, limit).replace("`", "'")
    return f"`{plain}`" if plain else ""


def link(text: str, url: str) -> str:
    """A link whose address cannot end early; without an address only its text."""
    address = quote(visible(url), safe="/:?&=#%+,;@~!$'*-._")
    return f"[{text}]({address})" if 0 < len(address) <= 600 else text


def fenced(text: str) -> str:
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"


def folded(title: str, text: str) -> str:
    """Our title and a text below it that can be opened when it is long."""
    if len(text) <= _LONG and text.count("\n") < 15:
        return f"**{title}**:\n{text}"
    return f"<details>\n<summary>{title}</summary>\n\n{text}\n\n</details>"


def _swallows(text: str) -> bool:
    """Whether an open code block would take what is written below."""
    tokens: list[Token] = []
    _READER.block.parse(f"{text}\n\n### end", _READER, {}, tokens)
    return not (tokens and tokens[-1].type == "heading_close" and tokens[-1].level == 0)


def flat(text: str, limit: int) -> str:
    """One line of plain text, cut to its length."""
    words = " ".join(visible(text[: limit * _MORE]).split())
    return words if len(words) <= limit else f"{words[:limit]}…"
