"""What a tool would be given, as a person may see it."""

import json
import re
from collections.abc import Iterator

from runs.domain.values.secrets.redaction import REDACTED, redact

# What is decided on must be seen: nothing stands to the right of the page's edge.
_WIDTH = 70
_GOES_ON = "↳ "


def without_secrets(value: object) -> object:
    """The same plain JSON without secrets, in its texts and under a telling name."""
    match value:
        case str():
            return redact(value)
        case list():
            return [without_secrets(item) for item in value]
        case dict():
            return {key: _under(str(key), item) for key, item in value.items()}
    return value


def readable(value: object) -> str:
    """It line by line, long ones broken, with what nobody could see spelt out."""
    return "".join(f"{line}\n" for line in _lines(value))


def file_name(tool: str) -> str:
    return f"{re.sub(r'[^A-Za-z0-9_-]+', '-', tool).strip('-') or 'tool'}.txt"


def _under(name: str, value: object) -> object:
    line = f"{name}: x"
    is_secret = isinstance(value, str) and value and redact(line) != line
    return REDACTED if is_secret else without_secrets(value)


def _lines(value: object) -> Iterator[str]:
    match value:
        case str():
            for line in value.split("\n"):
                yield from _broken("".join(map(_visible, line)))
        case list() if value:
            for item in value:
                yield from _entry("-", item)
        case dict() if value:
            for key, item in value.items():
                yield from _entry(" ".join(_lines(str(key))) + ":", item)
        case _:
            yield json.dumps(value)


def _entry(name: str, value: object) -> Iterator[str]:
    """What is inside is indented, so that no text can pass for another entry."""
    inside = list(_lines(value))
    if len(inside) == 1 and (not value or not isinstance(value, dict | list)):
        yield f"{name} {inside[0]}"
        return
    yield name
    yield from (f"  {line}" for line in inside)


def _broken(line: str) -> Iterator[str]:
    yield line[:_WIDTH]
    yield from (f"{_GOES_ON}{line[at : at + _WIDTH]}" for at in range(_WIDTH, len(line), _WIDTH))


def _visible(char: str) -> str:
    return char if char == "\t" or char.isprintable() else f"\\u{ord(char):04x}"
