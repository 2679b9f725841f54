"""Takes GitLab's deliveries, which bring the secret itself along."""

import hmac
from collections.abc import Mapping
from functools import partial

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from feedback.channels.trackers import webhooks
from feedback.channels.trackers.webhooks import Letter
from runs.trackers import Tracker

_TOKEN = "X-Gitlab-Token"  # noqa: S105  the name of a header


@csrf_exempt
@login_not_required
@require_POST
def receive(request: HttpRequest) -> JsonResponse:
    """Keep what GitLab sends, when it is GitLab."""
    if refusal := refusal_of_headers(request.headers, is_forwarded="project" in request.GET):
        return refusal
    headers = request.headers
    letter = Letter(
        tracker=Tracker.GITLAB,
        # The first is the same when GitLab tries again; before 17.4 there is only the second.
        delivery_id=headers.get("Idempotency-Key") or headers.get("X-Gitlab-Event-UUID", ""),
        event=headers.get("X-Gitlab-Event", ""),
        is_genuine=partial(_knows_secret, token=headers[_TOKEN]),
        problem="Invalid token.",
    )
    return webhooks.receive(request, letter)


def refusal_of_headers(headers: Mapping[str, str], *, is_forwarded: bool) -> JsonResponse | None:
    """What can be said before the body is there; the server asks it before reading one."""
    if refusal := webhooks.refusal_without_secret(Tracker.GITLAB, is_forwarded=is_forwarded):
        return refusal
    if not headers.get(_TOKEN):
        return webhooks.said(401, "The delivery has no token.")
    return None


def _knows_secret(_body: bytes, secret: str, *, token: str) -> bool:
    # Headers are read as Latin-1; GitLab sends the token as UTF-8.
    given = token.encode("latin-1", "replace")
    return bool(secret) and hmac.compare_digest(given, secret.encode())
