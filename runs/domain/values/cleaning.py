"""Somebody's words without what a reader cannot see."""

import re
import unicodedata

# Characters that fill no space on the page and are neither control nor format characters.
_FILLERS = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u3164\uffa0\ufe00-\ufe0d\U000e0100-\U000e01ef]"
)
_HTML_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_OPENING = "<!--"
_MOST_NESTING = 5


def visible(text: str) -> str:
    """A text with one kind of line end and without the characters nobody sees."""
    unified = text.replace("\r\n", "\n").replace("\r", "\n")
    if not unified.replace("\n", "").replace("\t", "").isprintable():
        unified = "".join(char for char in unified if char in "\n\t" or _shows(char))
    return unified if unified.isascii() else _FILLERS.sub("", unified)


def clean(words: str) -> str:
    """The words without hidden characters and HTML comments."""
    # The characters first: one of them inside `<!--` would hide the comment from the pattern.
    return without_comments(visible(words)).strip()


def without_comments(text: str) -> str:
    # What is taken out may leave the two halves of another opening side by side.
    for _ in range(_MOST_NESTING):
        if _OPENING not in text:
            return text
        text = _HTML_COMMENT.sub("", text)
    return text.replace(_OPENING, "<! --")


def one_line(words: str, most: int = 300) -> str:
    """The same on one line, cut to its length."""
    line = " ".join(clean(words).split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def _shows(char: str) -> bool:
    return unicodedata.category(char) not in ("Cc", "Cf", "Cs")
