"""This machine as rows name it: by a name for people, and by a mark that no other machine has."""

import contextlib
import hashlib
import hmac
import os
import secrets
import tempfile
from functools import cache
from pathlib import Path

from django.conf import settings
from django.db import connection

from runs.isolation import inside


def is_one_of_many() -> bool:
    """Whether other machines may work on the same site; SQLite is of one machine only."""
    return connection.vendor == "postgresql"


def name() -> str:
    named: str = settings.FABER_MACHINE_NAME
    return named


def identity() -> str:
    """Made once for a data directory: two containers may have one name, but not one of these."""
    return _identity_in(Path(settings.FABER_DATA_DIR))


def key_mark(key: str) -> str:
    """By which two machines see whether they have the same key, without telling it."""
    return hmac.new(key.encode(), b"the mark of this key", hashlib.sha256).hexdigest()[:12]


@cache
def _identity_in(data: Path) -> str:
    file = data / "machine_id"
    if not file.exists():
        if inside.is_hidden(data):
            return ""  # a step sees an empty folder in its place
        # Linked into place whole: of two first starts, one is too late.
        with tempfile.NamedTemporaryFile("w", dir=data) as new:
            new.write(secrets.token_hex(16))
            new.flush()
            with contextlib.suppress(FileExistsError):
                os.link(new.name, file)
    return file.read_text()
