"""What is refused from the headers alone: nobody waits for a body that is not wanted."""

from collections.abc import Mapping
from urllib.parse import parse_qs

from django.conf import settings
from django.http import HttpResponse
from django.urls import reverse
from django.utils.datastructures import CaseInsensitiveMapping

from feedback.channels.github import webhook as github
from feedback.channels.gitlab import webhook as gitlab
from feedback.channels.trackers import webhooks
from runs.api import errors

_PROGRAMS = ("/api/", "/mcp")
_WEBHOOKS = {
    "github-webhook": github.refusal_of_headers,
    "gitlab-webhook": gitlab.refusal_of_headers,
}


def refusal(path: str, query: str, headers: Mapping[str, str]) -> HttpResponse | None:
    """The answer to a request whose body need not come."""
    for name, refusal_of_headers in _WEBHOOKS.items():
        if path == reverse(name):
            return refusal_of_headers(
                CaseInsensitiveMapping({key.replace("_", "-"): headers[key] for key in headers}),
                is_forwarded="project" in parse_qs(query, keep_blank_values=True),
            )
    return None


def longest_body(path: str) -> int:
    if _is_webhook(path):
        return webhooks.LARGEST
    return int(settings.DATA_UPLOAD_MAX_MEMORY_SIZE)


def too_long(path: str) -> HttpResponse:
    if _is_webhook(path):
        return webhooks.too_large()
    if path.startswith(_PROGRAMS):
        return errors.refusal(errors.TooLarge())
    sentence = "The request is too large. Go back and send less.\n"
    return HttpResponse(sentence, status=413, content_type="text/plain; charset=utf-8")


def _is_webhook(path: str) -> bool:
    return any(path == reverse(name) for name in _WEBHOOKS)
