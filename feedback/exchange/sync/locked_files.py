"""Changes files of a run directory by the rules its other users keep: locks, then renames."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from runs.isolation import file_modes

_PAUSE = 0.05
_LOCK = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


class FileBusy(Exception):
    """Somebody else is at work there."""


@contextmanager
def locked(file: Path, *, patience: float) -> Iterator[None]:
    """Hold the lock beside a file; raises Busy when it cannot be had in time.

    The original deletes its lock files: a lock on one that is gone by then locks nothing.
    """
    lock = file.with_name(f"{file.name}.lock")
    deadline = time.monotonic() + patience
    while True:
        with file_modes.as_usual():  # the other FABER may be another account's
            descriptor = os.open(lock, _LOCK, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_still_there(lock, descriptor):
                break
        except BlockingIOError:
            if time.monotonic() >= deadline:
                os.close(descriptor)
                raise FileBusy(f"{lock.name} is locked by another process") from None
            time.sleep(_PAUSE)
        os.close(descriptor)
    try:
        yield
    finally:
        os.close(descriptor)  # and with it the lock; the file stays for the next one


def replace(file: Path, content: bytes) -> None:
    """Put new content in a file's place: whoever reads sees all of it or nothing of it."""
    draft = _draft(file, content)
    try:
        if file.exists():
            draft.chmod(file.stat().st_mode & 0o777)
        draft.rename(file)
    except OSError:
        draft.unlink(missing_ok=True)
        raise
    _settle(file.parent)


def create(file: Path, content: bytes) -> None:
    """Make a file that must not be there; raises FileExistsError when it is."""
    draft = _draft(file, content)
    try:
        os.link(draft, file)
    finally:
        draft.unlink()
    _settle(file.parent)


def back_up(file: Path, *, at: datetime) -> None:
    """A copy named like the original's; the first of a second is kept."""
    folder = file.parent / "backups"
    with file_modes.as_usual():
        folder.mkdir(exist_ok=True)
    try:
        create(folder / f"{file.stem}_{at:%Y%m%d_%H%M%S}{file.suffix}", file.read_bytes())
    except FileExistsError:
        return


def _draft(file: Path, content: bytes) -> Path:
    draft = file.with_name(f".{file.name}.{os.getpid()}.tmp")
    draft.unlink(missing_ok=True)  # of a process of this number that was killed
    with draft.open("xb") as opened:
        opened.write(content)
        opened.flush()
        os.fsync(opened.fileno())
    draft.chmod(0o644)
    return draft


def _settle(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _is_still_there(lock: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(lock.stat(follow_symlinks=False), os.fstat(descriptor))
    except FileNotFoundError:
        return False
