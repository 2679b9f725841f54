"""Where commands are handed over, and what both sides must agree about."""

import sys
from collections.abc import Mapping
from pathlib import Path

from faber_site.configuration import data_place

# Brief ones that many wait for, and that ask nothing back.
COMMANDS = ("pending", "status", "answer")
READY, REFUSED = b"+", b"no"
_CODE = Path(__file__).resolve().parents[2]
_SHAPING = ("FABER_", "PYTHONPATH")


def takes(words: list[str]) -> bool:
    """Whether a command is one of them; watching lasts until somebody presses Ctrl-C."""
    return words[:1] != [] and words[0] in COMMANDS and "--watch" not in words


def socket_path() -> Path:
    return data_place.place() / "commands.sock"


def code() -> list[object]:
    """Changes with an upgrade: the site then executes what is not there any more."""
    folders = (_CODE / name for name in ("faber_site", "runs", "feedback"))
    return [sys.prefix, str(_CODE), *(folder.stat().st_mtime_ns for folder in folders)]


def shaping(environment: Mapping[str, str]) -> dict[str, str]:
    """What the settings depend on; they were read when the site started."""
    return {name: value for name, value in environment.items() if name.startswith(_SHAPING)}
