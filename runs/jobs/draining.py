"""Has the workers of this machine finish their steps and end, before an upgrade.

The data directory carries the order and who has heard it: it reaches every process of the machine,
also workers that outlived their cluster, and it is there when the database is not.
"""

import fcntl
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from django.conf import settings

# What had been ordered when the workers of this process were started; nobody else is meant.
_known: str | None = None


def heed(known: str) -> None:
    """Be one of the workers that were started when this was the last order."""
    global _known  # noqa: PLW0603  one per process, and its forks
    _known = known


def is_asked() -> bool:
    """Whether this process may begin no more steps."""
    return _known is not None and last_order() not in ("", _known)


def last_order() -> str:
    """What the latest order is known by; empty before the first."""
    try:
        order = _order().stat()
    except FileNotFoundError:
        return ""
    return f"{order.st_ino}-{order.st_mtime_ns}"


@contextmanager
def signed_on(known: str) -> Iterator[None]:
    """Be seen as workers for as long as this lasts; a lock ends with its process, however."""
    crew, name = _crew(), secrets.token_hex(8)
    crew.mkdir(mode=0o700, exist_ok=True)
    hidden = crew / f".{name}"
    with hidden.open("x") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(known)
        file.flush()
        seen = hidden.rename(crew / name)  # held by now, so that nobody takes it for a dead one's
        try:
            yield
        finally:
            seen.unlink(missing_ok=True)


class Draining:
    """An order, and those who have not followed it yet."""

    def __init__(self) -> None:
        order = _order()
        # Put in place whole: another file is another order, however soon it follows.
        new = order.with_name(f"{order.name}-{secrets.token_hex(4)}")
        new.touch(mode=0o600)
        new.replace(order)
        given = last_order()
        there = _crew().glob("[!.]*")
        self._left = {file for file in there if _is_held(file) and _text_of(file) != given}

    def left(self) -> int:
        """How many supervisors still have workers that were there when the order was given."""
        self._left = {file for file in self._left if _is_held(file)}
        return len(self._left)


def _is_held(file: Path) -> bool:
    try:
        with file.open() as held:
            fcntl.flock(held, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    with suppress(FileNotFoundError):
        file.unlink()  # of somebody who was killed
    return False


def _text_of(file: Path) -> str:
    try:
        return file.read_text()
    except FileNotFoundError:
        return ""


def _order() -> Path:
    return Path(settings.FABER_DATA_DIR) / "drain"


def _crew() -> Path:
    return Path(settings.FABER_DATA_DIR) / "workers"
