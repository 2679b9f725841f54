"""A form that was not taken: what somebody wrote into it, and the page it stands on."""

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from django import template
from django.http import HttpRequest
from django.utils.http import url_has_allowed_host_and_scheme

register = template.Library()

# Fields for words; all others were chosen or come from the page, and a password stays unseen.
_WORDS = re.compile(
    r"comment(-.+)?|reason|question-\d+|body|replacement|text|card-.+|prompt|work_ids"
)


@register.filter
def typed(sent: Mapping[str, str]) -> list[str]:
    return [text for name, text in sent.items() if _WORDS.fullmatch(name) and text]


@register.filter
def page_of_form(request: HttpRequest) -> str:
    """Where the form is filled in again; the address it was sent to need not be a page."""
    came_from = request.headers.get("Referer", "")
    if not url_has_allowed_host_and_scheme(came_from, allowed_hosts={request.get_host()}):
        return request.get_full_path()
    parts = urlsplit(came_from)
    path = f"/{parts.path.lstrip('/')}"  # two slashes begin the address of another site
    return parts._replace(scheme="", netloc="", path=path, fragment="").geturl()
