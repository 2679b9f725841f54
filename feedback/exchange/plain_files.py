"""Reads files that somebody else put there: only regular ones, and only so much."""

import os
import stat
from pathlib import Path

from runs.domain.values.errors import Invalid, Problem

MOST_BYTES = 16_000_000  # of one document


def read_plain(file: Path, *, most: int) -> bytes:
    """What the file holds; raises Invalid for whatever is no plain file of a bearable size."""
    try:
        # A link may point anywhere, and a pipe would be waited for.
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise _refused("is missing") from None
    except OSError as error:
        if file.is_symlink():
            raise _refused("is a link, and links are not followed") from None
        raise _refused(f"can't be read: {error.strerror}") from None
    with os.fdopen(descriptor, "rb") as opened:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise _refused("is not a file")
        try:
            content = opened.read(most + 1)
        except OSError as error:
            raise _refused(f"can't be read: {error.strerror}") from None
    if len(content) > most:
        raise _refused(f"is larger than {most // 1_000_000} MB")
    return content


def names_in(folder: Path) -> list[str]:
    """The names in a folder, sorted; raises Invalid when it is a link or no folder."""
    try:
        mode = folder.lstat().st_mode
        if stat.S_ISLNK(mode):
            raise _refused("is a link, and links are not followed")
        return sorted(inner.name for inner in folder.iterdir())
    except FileNotFoundError:
        raise _refused("is missing") from None
    except OSError as error:
        raise _refused(f"can't be read: {error.strerror}") from None


def _refused(why: str) -> Invalid:
    return Invalid([Problem("", why)])
