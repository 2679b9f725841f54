"""What is refused from the headers alone: nobody waits for a body that is not wanted."""

from collections.abc import Mapping
from urllib.parse import parse_qs

from django.conf import settings
from django.http import HttpResponse
from django.urls import reverse

from feedback.channels.github import webhook
from runs.api import errors

_PROGRAMS = ("/api/", "/mcp")


def refusal(path: str, query: str, headers: Mapping[str, str]) -> HttpResponse | None:
    """The answer to a request whose body need not come."""
    if path == reverse("github-webhook"):
        return webhook.refusal_of_headers(
            headers.get("X_HUB_SIGNATURE_256", ""),
            is_forwarded="project" in parse_qs(query, keep_blank_values=True),
        )
    return None


def longest_body(path: str) -> int:
    if path == reverse("github-webhook"):
        return webhook.LARGEST
    return int(settings.DATA_UPLOAD_MAX_MEMORY_SIZE)


def too_long(path: str) -> HttpResponse:
    if path == reverse("github-webhook"):
        return webhook.too_large()
    if path.startswith(_PROGRAMS):
        return errors.refusal(errors.TooLarge())
    sentence = "The request is too large. Go back and send less.\n"
    return HttpResponse(sentence, status=413, content_type="text/plain; charset=utf-8")
