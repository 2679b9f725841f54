"""Results on disk until the database has them: nothing that a step did is lost with its worker."""

import contextlib
import errno
import fcntl
import logging
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from django.conf import settings
from pydantic import ConfigDict, TypeAdapter, ValidationError

from runs.engine import Claim, Settlement
from runs.models.statements import OUT_OF_REACH

logger = logging.getLogger(__name__)

# A file of one process for its results, and what earlier releases made for each of them.
_SPOOL, _SINGLE = ".spool", ".json"
_BEGUN, _PUT_ASIDE = ".begun", ".unreadable"
_END = b"\n"  # behind a whole result; there is none inside


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
    attempt = claim.attempt
    what = SpooledResult(attempt=attempt.pk, worker=attempt.worker, settlement=settlement)
    try:
        file = _written(_FORM.dump_json(what) + _END)
    except OSError as error:  # a full disk, say: the result is still held in memory
        logger.warning("the result of %s is not kept on disk: %s", attempt, error)
        yield
        return
    try:
        yield
    except BaseException:
        file.close()  # whoever looks for results next finds it
        raise
    file.clear()
    _free.append(file)


def settle_left(settle: Callable[[SpooledResult], None]) -> None:
    """Settle the results whose process is gone; what cannot be is put aside and keeps no other."""
    try:
        names = sorted(_folder().iterdir())
    except FileNotFoundError:
        return
    for name in names:
        with contextlib.suppress(FileNotFoundError):  # its process was quicker
            _take(name, settle)


def _take(name: Path, settle: Callable[[SpooledResult], None]) -> None:
    if name.suffix == _PUT_ASIDE:
        return
    with name.open("rb") as file:
        # Else its process lives, or has settled it in this moment.
        if not (_lock(file) and name.exists()):
            return
        content = file.read()
        try:
            # Else its process died when it had none, or before the whole of it was written.
            if content.endswith(_END) if name.suffix == _SPOOL else name.suffix == _SINGLE:
                settle(_FORM.validate_json(content))
        except OUT_OF_REACH:
            raise
        except ValidationError as error:
            logger.warning("a kept result cannot be read: %s (%s)", name, error.title)
        except Exception:  # one that the database takes from nobody must not keep others waiting
            logger.exception("a kept result cannot be settled: %s", name)
        else:
            name.unlink(missing_ok=True)
            return
        name.rename(name.with_suffix(_PUT_ASIDE))


class _SpoolFile:
    """Room for one result after another, locked for as long as its process lives.

    Nothing waits for the disk: processes die often, and machines with all their leases.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(mode=0o700, exist_ok=True)
        name = folder / f"{os.getpid()}-{secrets.token_hex(8)}{_SPOOL}"
        begun = name.with_suffix(_BEGUN)
        self._file = os.open(begun, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        _open.add(self)
        try:
            # Until it is locked, whoever looks for results takes it for one of the dead.
            if not _lock(self._file):
                raise BlockingIOError(errno.EAGAIN, "somebody looks into the new file")
            begun.rename(name)
        except OSError:
            self.close()
            begun.unlink(missing_ok=True)
            raise

    def is_in(self, folder: Path) -> bool:
        """Whether a result in it would be found there: it may have been cleared away."""
        return folder == self._folder and os.fstat(self._file).st_nlink > 0

    def write(self, content: bytes) -> None:
        if os.pwrite(self._file, content, 0) < len(content):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def clear(self) -> None:
        os.ftruncate(self._file, 0)

    def close(self) -> None:
        _open.discard(self)
        os.close(self._file)


_open: set[_SpoolFile] = set()
_free: list[_SpoolFile] = []


def _written(content: bytes) -> _SpoolFile:
    file = _file_in(_folder())
    try:
        file.write(content)
    except OSError:
        file.clear()
        _free.append(file)
        raise
    return file


def _file_in(folder: Path) -> _SpoolFile:
    while _free:
        file = _free.pop()
        if file.is_in(folder):
            return file
        file.close()
    return _SpoolFile(folder)


def _leave_to_the_parent() -> None:
    """A fork would hold its parent's locks, and live on with them."""
    for file in list(_open):
        file.close()
    _free.clear()


os.register_at_fork(after_in_child=_leave_to_the_parent)


def _lock(file: IO[bytes] | int) -> bool:
    """Held for as long as the process that took it lives."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _folder() -> Path:
    return Path(settings.FABER_DATA_DIR) / "spool"
