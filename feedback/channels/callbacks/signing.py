"""Signs calls with a key that its receiver was told, and that nobody finds in the database."""

import base64
import hashlib
import hmac
from collections.abc import Sequence
from datetime import datetime

from django.utils.crypto import salted_hmac

_SALT = "feedback.channels.callbacks"
PREFIX = "whsec_"  # by which libraries of Standard Webhooks know it


def secret_of(request_id: str, token_pk: int) -> str:
    """What the program that asks gets to know its calls by: made of the site's secret key.

    Another for each request, so who sees one can make up no other call.
    """
    return as_secret(_key(request_id, token_pk))


def signed(request_id: str, now: datetime, body: bytes, *, token_pk: int) -> dict[str, str]:
    return headers(request_id, now, body, keys=[_key(request_id, token_pk)])


def headers(
    message_id: str, now: datetime, body: bytes, *, keys: Sequence[bytes]
) -> dict[str, str]:
    """The headers of Standard Webhooks; with several keys, any of them fits."""
    at = str(int(now.timestamp()))
    content = b".".join((message_id.encode(), at.encode(), body))
    return {
        "webhook-id": message_id,
        "webhook-timestamp": at,
        "webhook-signature": " ".join(f"v1,{_signature(key, content)}" for key in keys),
    }


def as_secret(key: bytes) -> str:
    return PREFIX + base64.b64encode(key).decode()


def key_of(salt: str, name: str) -> bytes:
    """Another for each name, made of the site's secret key."""
    return salted_hmac(salt, name, algorithm="sha256").digest()


def _signature(key: bytes, content: bytes) -> str:
    return base64.b64encode(hmac.digest(key, content, hashlib.sha256)).decode()


def _key(request_id: str, token_pk: int) -> bytes:
    return key_of(_SALT, f"{request_id}|{token_pk}")
