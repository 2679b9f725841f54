"""Signs calls with a key that its receiver was told, and that nobody finds in the database."""

import base64
import hashlib
import hmac
from datetime import datetime

from django.utils.crypto import salted_hmac

_SALT = "feedback.channels.callbacks"
PREFIX = "whsec_"  # by which libraries of Standard Webhooks know it


def secret_of(request_id: str, token_pk: int) -> str:
    """What the program that asks gets to know its calls by: made of the site's secret key.

    Another for each request, so who sees one can make up no other call.
    """
    return PREFIX + base64.b64encode(_key(request_id, token_pk)).decode()


def signed(request_id: str, now: datetime, body: bytes, *, token_pk: int) -> dict[str, str]:
    """The headers of Standard Webhooks."""
    at = str(int(now.timestamp()))
    content = b".".join((request_id.encode(), at.encode(), body))
    signature = hmac.digest(_key(request_id, token_pk), content, hashlib.sha256)
    return {
        "webhook-id": request_id,
        "webhook-timestamp": at,
        "webhook-signature": f"v1,{base64.b64encode(signature).decode()}",
    }


def _key(request_id: str, token_pk: int) -> bytes:
    return salted_hmac(_SALT, f"{request_id}|{token_pk}", algorithm="sha256").digest()
