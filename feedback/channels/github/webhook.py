"""Takes GitHub's deliveries: checked, kept as they came, read by a worker.

A delivery is a hint. Which comment it is about is taken from it; who wrote what, where and when
is asked of GitHub.
"""

import hashlib
import hmac
import json
import logging
import re
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.db import transaction
from django.db.models import F, QuerySet
from django.http import HttpRequest, JsonResponse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from feedback.channels.github import commands
from feedback.channels.github.inbound import hear
from feedback.models import Webhook
from runs import github
from runs.accounts import forwarding
from runs.domain.values.plain_json import storable
from runs.github import GitHubError, NotThere, Slowed, Unreachable
from runs.jobs import queue
from runs.jobs.table import Job
from runs.models import Project, clock

logger = logging.getLogger(__name__)

LARGEST = 25 * 1024 * 1024
AT_ONCE = 100
_EVENT = "issue_comment"
# A comment may be shown a moment after it was told of; one that was deleted never is.
_LOOKS_FOR_A_COMMENT = 4
_SHORTEST_WAIT, _LONGEST_WAIT = timedelta(seconds=10), timedelta(minutes=10)
_LARGEST_NUMBER = 2**63 - 1
_SIGNATURE = re.compile("sha256=[0-9a-f]{64}")


@csrf_exempt
@login_not_required
@require_POST
def receive(request: HttpRequest) -> JsonResponse:
    """Keep what GitHub sends, when it is GitHub; nothing is acted on here.

    With `?project=` the secret is that project's own, which says nothing about other repositories.
    """
    project = request.GET.get("project")
    signature = request.headers.get("X-Hub-Signature-256", "")
    if refusal := refusal_of_headers(signature, is_forwarded=project is not None):
        return refusal
    secret = settings.FABER_GITHUB_WEBHOOK_SECRET if project is None else _secret_of(project)
    body = request.read(LARGEST + 1)  # not `body`, which is meant for forms and stops earlier
    if len(body) > LARGEST:
        return too_large()
    if not _is_signed(body, secret, signature):
        return _said(401, "Invalid signature.")
    try:
        payload = _payload(body)
    except RecursionError:
        return _said(400, "The delivery is nested too deeply.")
    except ValueError:
        return _said(400, "The delivery is not JSON.")
    if project is not None and _repository(payload).casefold() != project.casefold():
        return _said(401, "The secret belongs to another repository.")
    if not _speaks_to_us(request.headers.get("X-GitHub-Event", ""), payload):
        return _said(202, "Nothing to do.")
    _keep(request.headers.get("X-GitHub-Delivery", ""), body)
    return _said(202, "Stored.")


def refusal_of_headers(signature: str, *, is_forwarded: bool) -> JsonResponse | None:
    """What can be said before the body is there; the server asks it before reading one."""
    if not is_forwarded and not settings.FABER_GITHUB_WEBHOOK_SECRET:
        return _said(503, "No webhook secret is set.")
    if not _SIGNATURE.fullmatch(signature):
        return _said(401, "The delivery is not signed.")
    return None


def too_large() -> JsonResponse:
    return _said(413, "The delivery is larger than 25 MB.")


def read_new() -> None:
    """Hear the comments of all deliveries that are due, in the order they came."""
    while unread := list(due().order_by("tries", "pk")[:AT_ONCE]):
        for kept in unread:
            try:
                _read(kept)
            except GitHubError as error:
                _put_off(kept, error)
                if isinstance(error, Slowed | Unreachable):
                    return  # the others would fare no better
            else:
                Webhook.objects.filter(pk=kept.pk).update(read_at=timezone.now())


def due() -> QuerySet[Webhook]:
    """Deliveries that were not read yet, without those whose next try is later."""
    return Webhook.objects.filter(read_at=None, try_at__lte=clock.now())


def _read(kept: Webhook) -> None:
    payload = _payload(bytes(kept.body))
    if commands.parse(_text(payload)) is None:
        return  # most comments only speak of us: GitHub is asked about those that may command
    comment_id = _comment_id(payload)
    # Elsewhere the site may have rights too, but nothing to do.
    project = Project.objects.filter(name__iexact=_repository(payload)).first()
    if project is None or comment_id is None:
        logger.warning("Delivery %s is about no comment of a project.", kept.delivery_id)
        return
    try:
        comment = github.client().comment(project.name, comment_id)
    except NotThere:
        if kept.tries + 1 < _LOOKS_FOR_A_COMMENT:
            raise
        logger.info("Comment %s of %s is gone.", comment_id, project.name)
        return
    if comment.repository.casefold() == project.name.casefold():
        hear(project.name, comment)


def _put_off(kept: Webhook, error: GitHubError) -> None:
    logger.warning("Delivery %s cannot be read now: %s", kept.delivery_id, error)
    wait = min(_SHORTEST_WAIT * 2 ** min(kept.tries, 10), _LONGEST_WAIT)
    until = clock.now() + max(wait, timedelta(seconds=error.retry_after or 0))
    Webhook.objects.filter(pk=kept.pk).update(tries=F("tries") + 1, try_at=until)
    if isinstance(error, Slowed):
        due().update(try_at=until)


def _comment_id(payload: object) -> int | None:
    comment = payload.get("comment") if isinstance(payload, dict) else None
    number = comment.get("id") if isinstance(comment, dict) else None
    if not isinstance(number, int) or isinstance(number, bool):
        return None
    return number if 0 < number <= _LARGEST_NUMBER else None


def _repository(payload: object) -> str:
    repository = payload.get("repository") if isinstance(payload, dict) else None
    name = repository.get("full_name") if isinstance(repository, dict) else None
    # A name with a NUL would be an error to PostgreSQL instead of nobody's.
    return name if isinstance(name, str) and "\0" not in name else ""


def _secret_of(name: str) -> str:
    project = Project.objects.filter(name__iexact=name).first() if "\0" not in name else None
    return forwarding.secret_of(project) if project else ""


def _payload(body: bytes) -> Any:
    """What any database keeps: one delivery that cannot be stored would hold up all after it."""
    return storable(json.loads(body))


def _speaks_to_us(event: str, payload: object) -> bool:
    """Whether a delivery can hold a command at all; a busy repository sends many that cannot."""
    if event != _EVENT or not isinstance(payload, dict) or payload.get("action") != "created":
        return False
    return "@faber" in _text(payload).casefold()


def _text(payload: object) -> str:
    comment = payload.get("comment") if isinstance(payload, dict) else None
    return str(comment.get("body")) if isinstance(comment, dict) else ""


def _keep(delivery_id: str, body: bytes) -> None:
    """Once: GitHub's button sends the same delivery again, and so may others."""
    # Without an id the content is one: the same comment is the same delivery.
    name = delivery_id[:100] or hashlib.sha256(body).hexdigest()
    with transaction.atomic():
        # Whoever reads goes on until nothing is left, so that one job is enough for many.
        is_read_anyway = due().exists()
        kept = Webhook(delivery_id=name, event=_EVENT, body=body)
        Webhook.objects.bulk_create([kept], ignore_conflicts=True)
        if not is_read_anyway:
            queue.enqueue(Job.READ_WEBHOOKS)


def _is_signed(body: bytes, secret: str, signature: str) -> bool:
    if not secret:  # anybody could sign with none
        return False
    expected = "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(expected.encode(), signature.encode("utf-8", "replace"))


def _said(status: int, message: str) -> JsonResponse:
    return JsonResponse({"message": message}, status=status)
