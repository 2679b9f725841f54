"""Marks that only this site can make: a code over values, with a key that no database holds."""

import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache

from django.conf import settings


def code(*values: object) -> str:
    """What only somebody with the key can write beside these values."""
    return hmac.new(_key(), canonical(values).encode(), hashlib.sha256).hexdigest()


def fits(written: str, *values: object) -> bool:
    return hmac.compare_digest(written, code(*values))


def digest(*values: object) -> str:
    """A short stand-in for values that stand elsewhere."""
    return hashlib.sha256(canonical(values).encode()).hexdigest()


def key_name() -> str:
    """By which a record tells which key it was written with, without telling the key."""
    return _name_of(settings.FABER_AUDIT_KEY)


def canonical(value: object) -> str:
    """One text for one meaning, whichever database the value was read from."""
    plain = _plain(value)
    return json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _plain(value: object) -> object:
    if value is None or type(value) in (str, int, bool):
        return value
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="microseconds")
    if isinstance(value, float) and value.is_integer():
        return int(value)  # a database may give 1e22 and -0.0 back as whole numbers
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(item) for item in value]
    return value


def _key() -> bytes:
    key: str = settings.FABER_AUDIT_KEY
    return key.encode()


@cache
def _name_of(key: str) -> str:
    return hmac.new(key.encode(), b"the name of this key", hashlib.sha256).hexdigest()[:12]
