"""Results on disk until the database has them: nothing that a step did is lost with its worker."""

import contextlib
import errno
import fcntl
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from django.conf import settings
from pydantic import ConfigDict, TypeAdapter, ValidationError

from runs.engine import Claim, Settlement

logger = logging.getLogger(__name__)

_BEGUN, _UNREADABLE = ".begun", ".unreadable"


@dataclass(frozen=True, slots=True, kw_only=True)
class SpooledResult:
    """A result that waits to be put on record, and whose step it is of."""

    __pydantic_config__ = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")

    attempt: int
    worker: str
    settlement: Settlement


_FORM = TypeAdapter(SpooledResult)


@contextmanager
def kept(claim: Claim, settlement: Settlement) -> Iterator[None]:
    """Hold a result on disk; it stays there when this process dies or gives up."""
    name = _folder() / f"{claim.attempt.pk}-{os.getpid()}.json"
    attempt = claim.attempt
    what = SpooledResult(attempt=attempt.pk, worker=attempt.worker, settlement=settlement)
    try:
        file = _write(name, what)
    except OSError as error:  # a full disk, say: the result is still held in memory
        logger.warning("the result of %s is not kept on disk: %s", attempt, error)
        yield
        return
    with file:
        yield
        name.unlink(missing_ok=True)


def left() -> Iterator[SpooledResult]:
    """The results whose process is gone; each is forgotten when its user comes back for more."""
    try:
        names = sorted(_folder().iterdir())
    except FileNotFoundError:
        return
    for name in names:
        with contextlib.suppress(FileNotFoundError):  # its process was quicker
            yield from _taken(name)


def _taken(name: Path) -> Iterator[SpooledResult]:
    if name.suffix == _UNREADABLE:
        return
    with name.open("rb") as file:
        # Else its process lives, or has settled it in this moment.
        if _lock(file) and name.exists():
            yield from _found(name, file.read())
            name.unlink(missing_ok=True)


def _found(name: Path, content: bytes) -> Iterator[SpooledResult]:
    if name.suffix == _BEGUN:
        return  # its process died before the whole of it was written
    try:
        yield _FORM.validate_json(content)
    except ValidationError as error:
        logger.warning("a kept result cannot be read: %s (%s)", name, error.title)
        name.rename(name.with_suffix(_UNREADABLE))


def _write(name: Path, what: SpooledResult) -> IO[bytes]:
    """Not waiting for the disk: processes die often, and machines with all their leases."""
    name.parent.mkdir(mode=0o700, exist_ok=True)
    begun, content = name.with_suffix(_BEGUN), _FORM.dump_json(what)
    file = begun.open("wb", buffering=0)
    try:
        _lock(file)
        _write_all(file, content)
        begun.rename(name)
    except OSError:
        # Nobody else can remove what is locked, and this process may live long.
        begun.unlink(missing_ok=True)
        file.close()
        raise
    return file


def _write_all(file: IO[bytes], content: bytes) -> None:
    if file.write(content) < len(content):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _lock(file: IO[bytes]) -> bool:
    """Held for as long as the process that took it lives."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _folder() -> Path:
    return Path(settings.FABER_DATA_DIR) / "spool"
