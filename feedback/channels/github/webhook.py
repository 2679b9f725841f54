"""Takes GitHub's deliveries: checked, kept as they came, read by a worker."""

import hashlib
import hmac
import json
import logging
from typing import Any

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.db import transaction
from django.http import HttpRequest, JsonResponse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from feedback.channels.github.inbound import hear
from feedback.models import Webhook
from runs.github import Comment
from runs.jobs import queue
from runs.jobs.table import Job

logger = logging.getLogger(__name__)

LARGEST = 25 * 1024 * 1024
AT_ONCE = 100
_EVENT = "issue_comment"


@csrf_exempt
@login_not_required
@require_POST
def receive(request: HttpRequest) -> JsonResponse:
    """Keep what GitHub sends, when it is GitHub; nothing is acted on here."""
    secret = settings.FABER_GITHUB_WEBHOOK_SECRET
    if not secret:
        return _said(503, "No webhook secret is set.")
    body = request.read(LARGEST + 1)  # not `body`, which is meant for forms and stops earlier
    if len(body) > LARGEST:
        return _said(413, "The delivery is larger than 25 MB.")
    if not _is_signed(body, secret, request.headers.get("X-Hub-Signature-256", "")):
        return _said(401, "The signature is not right.")
    try:
        payload = json.loads(body)
    except ValueError:
        return _said(400, "The delivery is not JSON.")
    if not _speaks_to_us(request.headers.get("X-GitHub-Event", ""), payload):
        return _said(202, "Nothing to do.")
    _keep(request.headers.get("X-GitHub-Delivery", ""), body)
    return _said(202, "Stored.")


def read_new() -> None:
    """Hear the comments of all deliveries that were not read yet, in the order they came."""
    while unread := list(Webhook.objects.filter(read_at=None).order_by("pk")[:AT_ONCE]):
        for kept in unread:
            _read(kept)
        done = Webhook.objects.filter(pk__in=[kept.pk for kept in unread])
        done.update(read_at=timezone.now())


def _read(kept: Webhook) -> None:
    payload: Any = json.loads(bytes(kept.body))
    try:
        comment = Comment.read(payload["comment"])
        repository = str(payload["repository"]["full_name"])
    except (KeyError, TypeError, ValueError):
        logger.warning("Delivery %s holds no comment that can be read.", kept.delivery_id)
    else:
        hear(repository, comment)


def _speaks_to_us(event: str, payload: object) -> bool:
    """Whether a delivery can hold a command at all; a busy repository sends many that cannot."""
    if event != _EVENT or not isinstance(payload, dict) or payload.get("action") != "created":
        return False
    comment = payload.get("comment")
    body = comment.get("body") if isinstance(comment, dict) else ""
    return "@faber" in str(body).casefold()


def _keep(delivery_id: str, body: bytes) -> None:
    """Once: GitHub's button sends the same delivery again, and so may others."""
    # Without an id the content is one: the same comment is the same delivery.
    name = delivery_id[:100] or hashlib.sha256(body).hexdigest()
    with transaction.atomic():
        # Whoever reads goes on until nothing is left, so that one job is enough for many.
        is_read_anyway = Webhook.objects.filter(read_at=None).exists()
        kept = Webhook(delivery_id=name, event=_EVENT, body=body)
        Webhook.objects.bulk_create([kept], ignore_conflicts=True)
        if not is_read_anyway:
            queue.enqueue(Job.READ_WEBHOOKS)


def _is_signed(body: bytes, secret: str, signature: str) -> bool:
    expected = "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(expected.encode(), signature.encode("utf-8", "replace"))


def _said(status: int, message: str) -> JsonResponse:
    return JsonResponse({"message": message}, status=status)
