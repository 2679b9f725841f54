"""How somebody wants the pages to look, kept in a cookie that the server reads."""

from datetime import timedelta

from django.http import HttpResponse
from django.shortcuts import resolve_url
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST
from django_htmx.http import trigger_client_event

from runs.pages.http import PageRequest, SeeOther, nothing_new

COOKIE = "theme"
LASTS = timedelta(days=365)
THEMES = ("light", "dark")


@require_POST
def theme(request: PageRequest) -> HttpResponse:
    """Without a choice among the themes the system decides."""
    chosen = request.POST.get("theme", "")
    response = _answer(request, chosen)
    if chosen in THEMES:
        secure = request.is_secure()
        response.set_cookie(
            COOKIE, chosen, max_age=LASTS, secure=secure, httponly=True, samesite="Lax"
        )
    else:
        response.delete_cookie(COOKIE, samesite="Lax")
    return response


def _answer(request: PageRequest, chosen: str) -> HttpResponse:
    """With htmx the page stays, and everything typed on it."""
    if request.htmx:
        return trigger_client_event(nothing_new(), "theme", {"name": chosen})
    target = request.POST.get("next", "")
    is_here = url_has_allowed_host_and_scheme(target, allowed_hosts={request.get_host()})
    return SeeOther(target if is_here else resolve_url("inbox"))
