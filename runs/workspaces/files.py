"""Opens and replaces files that a step made or named: only ordinary ones, never waiting."""

import os
import secrets
import stat
from io import BufferedReader
from pathlib import Path

NOT_ORDINARY = "is not a regular file"


class NotOrdinary(OSError):
    """A pipe, a device, a socket, a folder or a link."""

    def __init__(self) -> None:
        super().__init__(NOT_ORDINARY)
        self.strerror = NOT_ORDINARY


def open_ordinary(file: Path) -> BufferedReader:
    """The file for reading; its path must have no links left, as they might lead elsewhere.

    A pipe would keep whoever opens it waiting for ever, and a device may do something when it is
    opened, so it is looked at first; and again behind the open, as it may be another by then.
    """
    if not stat.S_ISREG(file.lstat().st_mode):
        raise NotOrdinary
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NOCTTY
    opened = os.fdopen(os.open(file, flags), "rb")
    if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
        opened.close()
        raise NotOrdinary
    return opened


def replace_ordinary(file: Path, content: bytes) -> None:
    """Put a new file in the place of an ordinary one, with its mode; a link there is not followed.

    Its folder is held open meanwhile, so that nobody can lead the writing elsewhere.
    """
    folder = os.open(file.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        before = os.stat(file.name, dir_fd=folder, follow_symlinks=False)
        if not stat.S_ISREG(before.st_mode):
            raise NotOrdinary
        beside = f".{file.name}.{secrets.token_hex(4)}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(beside, flags, 0o600, dir_fd=folder), "wb") as opened:
            opened.write(content)
            os.fchmod(opened.fileno(), stat.S_IMODE(before.st_mode))
        os.replace(beside, file.name, src_dir_fd=folder, dst_dir_fd=folder)
    finally:
        os.close(folder)
