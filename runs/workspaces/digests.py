"""Hashes of files: a file is read again only when it may be another by now."""

import hashlib
import os
import time
from pathlib import Path

from runs.workspaces.files import open_ordinary

_KEPT = 500
# What is written in the moment it is read may leave no trace in the file's times.
_SETTLED_NS = 2_000_000_000

_Stamp = tuple[int, int, int, int, int]
_known: dict[_Stamp, str] = {}


class FileTooLarge(OSError):
    def __init__(self, most: int) -> None:
        super().__init__(f"is larger than {most} bytes")
        self.strerror = f"is larger than {most} bytes"


def sha256_of(file: Path, *, most: int) -> str:
    """The hash of an ordinary file's bytes; its path must have no links left."""
    with open_ordinary(file) as opened:
        found = os.fstat(opened.fileno())
        stamp = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
        if stamp in _known:
            return _known[stamp]
        content = opened.read(most + 1)
    if len(content) > most:
        raise FileTooLarge(most)
    digest = hashlib.sha256(content).hexdigest()
    if time.time_ns() - max(found.st_mtime_ns, found.st_ctime_ns) > _SETTLED_NS:
        _keep(stamp, digest)
    return digest


def _keep(stamp: _Stamp, digest: str) -> None:
    if len(_known) >= _KEPT:
        _known.clear()
    _known[stamp] = digest
