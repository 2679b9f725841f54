"""Views that sign somebody in or out, by password or by a one-time link."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, cast

from django.conf import settings
from django.contrib.auth import login
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import LoginView, LogoutView, redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render, resolve_url
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from runs import accounts
from runs.domain.errors import Refused
from runs.pages import PageRequest, SeeOther

_P = ParamSpec("_P")

sign_in = LoginView.as_view(redirect_authenticated_user=True)
sign_out = LogoutView.as_view()


@login_not_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def sign_in_by_link(request: HttpRequest, token: str) -> HttpResponse:
    """Opening the link only shows whom it is for: previews and scanners open links too."""
    try:
        if request.method == "POST":
            user = accounts.spend_link(token)
            login(request, user, backend=settings.AUTHENTICATION_BACKENDS[0])
            return SeeOther(_target(request))
        owner = accounts.owner_of_link(token)
    except Refused as error:
        return render(request, "registration/link_gone.html", {"message": error}, status=410)
    return render(request, "registration/link.html", {"owner": owner})


def keeping_words(
    view: Callable[Concatenate[PageRequest, _P], HttpResponse],
) -> Callable[Concatenate[HttpRequest, _P], HttpResponse]:
    """For pages people write on: a session that ended must not cost them what they typed."""

    @login_not_required
    @wraps(view)
    def wrapped(request: HttpRequest, /, *args: _P.args, **kwargs: _P.kwargs) -> HttpResponse:
        if request.user.is_authenticated:
            return view(cast("PageRequest", request), *args, **kwargs)
        if request.method == "POST":
            return render(request, "registration/signed_out.html", status=401)
        return redirect_to_login(request.get_full_path())

    return wrapped


def _target(request: HttpRequest) -> str:
    wanted = request.GET.get("next", "")
    safe = url_has_allowed_host_and_scheme(
        wanted, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return wanted if safe else resolve_url(settings.LOGIN_REDIRECT_URL)
