"""Reads what somebody hands to a command: a file, or standard input for `-`."""

import json
import sys
from pathlib import Path
from typing import NoReturn

from runs.domain.values.errors import Invalid, NotFound, Problem


def read_text(name: str) -> str:
    """The text of a file; raises NotFound when it cannot be read, Invalid when it is no text."""
    content = standard_input() if name == "-" else _file(Path(name))
    return _decoded(content, name)


def read_json(name: str) -> object:
    return parse_json(read_text(name))


def standard_text() -> str:
    return _decoded(standard_input(), "standard input")


def standard_input() -> bytes:
    try:
        return sys.stdin.buffer.read()
    except (AttributeError, OSError, ValueError) as error:  # closed, or never opened
        raise Invalid([Problem("standard input", "can't be read")]) from error


def parse_json(text: str) -> object:
    """One JSON document; raises Invalid with the place as line:column."""
    try:
        document: object = json.loads(text, parse_constant=_refuse_constant)
        # Half a surrogate pair can be written in JSON, and nowhere else.
        json.dumps(document, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        place = f"{error.lineno}:{error.colno}"
        raise Invalid([Problem(place, f"not valid JSON: {error.msg.lower()}")]) from None
    except UnicodeEncodeError:
        raise Invalid([Problem("", "contains an unpaired surrogate")]) from None
    except RecursionError:
        raise Invalid([Problem("", "is nested too deeply")]) from None
    except ValueError as error:
        raise Invalid([Problem("", f"not valid JSON: {error}")]) from None
    return document


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _file(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise NotFound(f"{path} can't be read: {error.strerror}.") from error
    except ValueError as error:  # a name no file can have
        raise NotFound(f"{str(path)!r} can't be read: {error}.") from error


def _decoded(content: bytes, name: str) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Invalid([Problem(name, "is not UTF-8 text")]) from None
