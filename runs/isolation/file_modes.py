"""Whom new files are for: FABER's own for itself, those of a step as its user's umask says."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

_PRIVATE = 0o077
_UNCHANGED = -1  # as `subprocess` understands it

_usual = _UNCHANGED


def keep_private() -> None:
    """From now on new files of this process are for nobody else."""
    global _usual  # noqa: PLW0603  one per process
    before = os.umask(_PRIVATE)
    if _usual == _UNCHANGED:
        _usual = before


def usual_umask() -> int:
    """The umask this process was started with, for what it starts."""
    return _usual


@contextmanager
def as_usual() -> Iterator[None]:
    """For files that are not FABER's own, such as those of a run's workspace."""
    before = os.umask(_PRIVATE)
    os.umask(before if _usual == _UNCHANGED else _usual)
    try:
        yield
    finally:
        os.umask(before)
