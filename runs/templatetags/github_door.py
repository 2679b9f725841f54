"""The button that leads to GitHub and back, where signing in with GitHub is on."""

from typing import Any

from django import template
from django.conf import settings
from django.template.context import RequestContext
from django.urls import reverse

register = template.Library()


@register.inclusion_tag("registration/_github.html", takes_context=True)
def github_sign_in(
    context: RequestContext, *, connect: bool = False, then: str = ""
) -> dict[str, Any]:
    is_on = bool(settings.FABER_GITHUB_CLIENT_ID)
    return {
        "address": reverse("github_login") if is_on else "",
        "connect": connect,
        "next": then,
        "csrf_token": context.get("csrf_token"),
    }
