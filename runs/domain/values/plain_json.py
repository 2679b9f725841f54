"""Plain JSON values: made fit for any database, and read without surprises."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")

# JSON writes a NUL as an escape; an even number of backslashes before it are only backslashes.
_NUL = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")


def storable(document: object) -> object:
    """A copy as plain JSON that any database keeps: no NUL, no lone surrogate, no NaN."""
    text = json.dumps(document, ensure_ascii=False).encode("utf-8", "replace").decode()
    text = _NUL.sub("\\1\N{REPLACEMENT CHARACTER}", text)
    plain: object = json.loads(text, parse_constant=lambda _constant: None)
    if is_deep(plain):
        raise ValueError("it is nested too deeply")
    return plain


def is_deep(value: object) -> bool:
    """Deeper than anybody means; some versions of Python read what others refuse."""
    level = [value]
    for _ in range(100):
        if not level:
            return False
        objects = (item.values() for item in level if isinstance(item, dict))
        lists = (item for item in level if isinstance(item, list))
        level = [item for items in (*objects, *lists) for item in items]
    return bool(level)


def given(values: Mapping[str, object], key: str, kind: type[T]) -> T:
    value = values.get(key)
    return value if isinstance(value, kind) else kind()


def text_at(document: object, *keys: str) -> str:
    """The text at a path of keys in somebody else's document; empty where there is none."""
    found = _at(document, keys)
    return found if isinstance(found, str) else ""


def number_at(document: object, *keys: str) -> int:
    """The whole number at a path of keys; 0 where there is none."""
    found = _at(document, keys)
    return found if isinstance(found, int) and not isinstance(found, bool) else 0


def _at(document: object, keys: Sequence[str]) -> object:
    for key in keys:
        document = document.get(key) if isinstance(document, dict) else None
    return document


def quoted(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return f"{text[:80]}…" if len(text) > 80 else text
