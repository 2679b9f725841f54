"""The buttons that lead to GitHub or to single sign-on and back, where those are set up."""

from collections.abc import Iterator
from typing import Any

from django import template
from django.conf import settings
from django.template.context import RequestContext
from django.urls import reverse

register = template.Library()


@register.inclusion_tag("registration/_doors.html", takes_context=True)
def other_doors(
    context: RequestContext, *, connect: bool = False, then: str = ""
) -> dict[str, Any]:
    return {
        "doors": list(_doors()),
        "connect": connect,
        "is_main": not connect and not settings.FABER_LOCAL_SIGN_IN,
        "next": then,
        "csrf_token": context.get("csrf_token"),
    }


@register.simple_tag
def takes_passwords() -> bool:
    taken: bool = settings.FABER_LOCAL_SIGN_IN
    return taken


def _doors() -> Iterator[tuple[str, str]]:
    """What each is called and where it is."""
    if settings.FABER_OIDC_ISSUER:
        yield settings.FABER_OIDC_NAME, reverse("openid_connect_login")
    if settings.FABER_GITHUB_CLIENT_ID:
        yield "GitHub", reverse("github_login")
