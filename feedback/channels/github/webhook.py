"""Takes GitHub's deliveries, which are signed with the secret."""

import hashlib
import hmac
import re
from collections.abc import Mapping
from functools import partial

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from feedback.channels.trackers import webhooks
from feedback.channels.trackers.webhooks import Letter
from runs.trackers import Tracker

_SIGNED = "X-Hub-Signature-256"
_SIGNATURE = re.compile("sha256=[0-9a-f]{64}")


@csrf_exempt
@login_not_required
@require_POST
def receive(request: HttpRequest) -> JsonResponse:
    """Keep what GitHub sends, when it is GitHub."""
    if refusal := refusal_of_headers(request.headers, is_forwarded="project" in request.GET):
        return refusal
    letter = Letter(
        tracker=Tracker.GITHUB,
        delivery_id=request.headers.get("X-GitHub-Delivery", ""),
        event=request.headers.get("X-GitHub-Event", ""),
        is_genuine=partial(_is_signed, signature=request.headers[_SIGNED]),
        problem="Invalid signature.",
    )
    return webhooks.receive(request, letter)


def refusal_of_headers(headers: Mapping[str, str], *, is_forwarded: bool) -> JsonResponse | None:
    """What can be said before the body is there; the server asks it before reading one."""
    if refusal := webhooks.refusal_without_secret(Tracker.GITHUB, is_forwarded=is_forwarded):
        return refusal
    if not _SIGNATURE.fullmatch(headers.get(_SIGNED, "")):
        return webhooks.said(401, "The delivery is not signed.")
    return None


def _is_signed(body: bytes, secret: str, *, signature: str) -> bool:
    if not secret:  # anybody could sign with none
        return False
    expected = "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(expected.encode(), signature.encode("utf-8", "replace"))
