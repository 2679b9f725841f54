"""Lets one process of a machine at a time wait for receivers, so that others do other work."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings

_FILE = "webhooks.lock"


@contextmanager
def taken() -> Iterator[bool]:
    """Whether the slot is ours while this lasts; whoever is killed gives it back."""
    with (settings.FABER_DATA_DIR / _FILE).open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True
