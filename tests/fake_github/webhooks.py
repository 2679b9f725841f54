"""Webhooks as GitHub signs and sends them."""

import hashlib
import hmac
import json
import urllib.error
import urllib.request
import uuid
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """One webhook; sent twice it is the same delivery.

    client.post("/github/webhook", delivery.body, content_type=JSON, headers=delivery.headers)
    """

    id: str
    event: str
    headers: dict[str, str]
    body: bytes

    def send(self, url: str, timeout: float = 10) -> int:
        """Post it over HTTP and give the status that came back."""
        headers = {**self.headers, "Content-Type": "application/json"}
        request = urllib.request.Request(url, self.body, headers)  # noqa: S310  a test's own server
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:  # noqa: S310
                return int(answer.status)
        except urllib.error.HTTPError as error:
            with error:
                return error.code


def signed(event: str, payload: dict[str, Any] | bytes, secret: str) -> Delivery:
    # GitHub sends UTF-8, so the bytes are not what another JSON writer would make of the text.
    if not isinstance(payload, bytes):
        payload = json.dumps(payload, ensure_ascii=False).encode()
    body = payload
    signature = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    number = str(uuid.uuid4())
    headers = {
        "User-Agent": "GitHub-Hookshot/fake",
        "X-GitHub-Event": event,
        "X-GitHub-Delivery": number,
        "X-Hub-Signature-256": f"sha256={signature}",
    }
    return Delivery(id=number, event=event, headers=headers, body=body)
