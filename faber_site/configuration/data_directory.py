"""The directory that holds the database, the keys and the logs: nobody else can look into it."""

import contextlib
import os
import shlex
import stat
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

from runs.isolation import file_modes, inside

_OTHERS = 0o077


def make(folder: Path) -> None:
    """For a command that may begin a site: no other leaves anything behind."""
    if inside.is_hidden(folder):
        return  # a step has an empty one in its place, which nobody can change
    file_modes.keep_private()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise _unusable(folder, error) from error


def checked(folder: Path) -> Path:
    """The directory, if there is one: when others can enter it, it is refused."""
    if inside.is_hidden(folder) or not folder.exists():
        return folder
    try:
        mode = stat.S_IMODE(folder.stat().st_mode)
        os.scandir(folder).close()
    except OSError as error:
        raise _unusable(folder, error) from error
    if mode & _OTHERS:
        raise ImproperlyConfigured(
            f"FABER_DATA_DIR={str(folder)!r} is open to other accounts (mode {mode:04o}). "
            f"Close it: chmod 700 {shlex.quote(str(folder))}"
        )
    # A directory that cannot be written can still be read.
    with contextlib.suppress(OSError):
        _close_files(folder)
        _keep_out_of_git(folder)
    return folder


def _unusable(folder: Path, error: OSError) -> ImproperlyConfigured:
    return ImproperlyConfigured(
        f"FABER_DATA_DIR={str(folder)!r} is not accepted; use a directory that can be written "
        f"({error.strerror})."
    )


def _close_files(folder: Path) -> None:
    """Those of earlier versions too: a copy may end up in a directory that is open."""
    for entry in os.scandir(folder):
        if entry.is_file(follow_symlinks=False) and entry.stat().st_mode & _OTHERS:
            Path(entry.path).chmod(0o600)


def _keep_out_of_git(folder: Path) -> None:
    with contextlib.suppress(FileExistsError), (folder / ".gitignore").open("x") as file:
        file.write("*\n")
