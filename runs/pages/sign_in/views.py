"""Views that sign somebody in or out, by password or by a one-time link."""

from collections.abc import Callable
from functools import wraps
from math import ceil
from typing import Any, Concatenate, ParamSpec, cast

from django.conf import settings
from django.contrib import admin
from django.contrib.admin.forms import AdminAuthenticationForm
from django.contrib.auth import login
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView, LogoutView, redirect_to_login
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render, resolve_url
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from runs.accounts import client_address, users
from runs.accounts.rate_limit import Buckets, Window
from runs.domain.values.errors import Refused
from runs.domain.values.numbers import seconds_of
from runs.pages.http import PageRequest, SeeOther

_P = ParamSpec("_P")

# Five passwords at once, then one a minute, for each account from each place: nobody can keep
# somebody else out, and signing in fills the bucket again.
TRIES = Buckets(burst=5, per_second=1 / 60)
# Whatever the names: else one place could try one password on every account.
TRIES_OF_PLACE = Window(most=20, seconds=600)

_NO_PASSWORDS = {
    "heading": "Passwords are switched off",
    "sentence": "Use single sign-on, or ask an operator for a sign-in link.",
}


class PatientForm(AuthenticationForm):
    """Takes the passwords for an account only so fast."""

    wait = 0  # seconds, when there were too many

    def clean(self) -> dict[str, Any]:
        name = self.cleaned_data.get("username")
        if not name or not self.cleaned_data.get("password") or self.request is None:
            return super().clean()
        place = client_address.place_of(self.request)
        account = (name.casefold(), place)
        self._refuse_for(TRIES_OF_PLACE.take(place), "from your address")
        if wait := TRIES.take(account):
            TRIES_OF_PLACE.give_back(place)  # the password was not even looked at
            self._refuse_for(wait, "for this account")
        cleaned = super().clean()
        TRIES.fill(account)
        TRIES_OF_PLACE.give_back(place)
        return cleaned

    def _refuse_for(self, wait: float, whose: str) -> None:
        self.wait = ceil(wait)
        if self.wait:
            raise ValidationError(
                f"Too many wrong passwords {whose}. Wait {_spoken(self.wait)}, "
                "or use a sign-in link.",
                code="too_many_tries",
            )


class PatientAdminForm(PatientForm, AdminAuthenticationForm):
    """The same at the door of the admin."""


class SignIn(LoginView):
    authentication_form = PatientForm
    redirect_authenticated_user = True

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not settings.FABER_LOCAL_SIGN_IN:
            return render(request, "registration/turned_away.html", _NO_PASSWORDS, status=403)
        return super().post(request, *args, **kwargs)

    def form_invalid(self, form: AuthenticationForm) -> HttpResponse:
        return _made_to_wait(super().form_invalid(form), form)


def _made_to_wait(response: HttpResponse, form: object) -> HttpResponse:
    if isinstance(form, PatientForm) and form.wait:
        response.status_code = 429
        response["Retry-After"] = str(form.wait)
    return response


sign_in = SignIn.as_view()
sign_out = LogoutView.as_view()


@login_not_required
@never_cache
def sign_in_to_admin(request: HttpRequest) -> HttpResponse:
    if not settings.FABER_LOCAL_SIGN_IN and not request.user.is_authenticated:
        return redirect_to_login(request.GET.get("next", "") or resolve_url("admin:index"))
    response = admin.site.login(request)
    context = getattr(response, "context_data", None) or {}
    return _made_to_wait(response, context.get("form"))


@login_not_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def sign_in_by_link(request: HttpRequest, token: str) -> HttpResponse:
    """Opening the link only shows whom it is for: previews and scanners open links too."""
    try:
        if request.method == "POST":
            user = users.spend_link(token)
            login(request, user, backend=settings.AUTHENTICATION_BACKENDS[0])
            return SeeOther(_target(request))
        owner = users.owner_of_link(token)
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


def _spoken(seconds: int) -> str:
    if seconds > 90:
        return f"{ceil(seconds / 60)} minutes"
    return seconds_of(seconds)


def _target(request: HttpRequest) -> str:
    wanted = request.GET.get("next", "")
    safe = url_has_allowed_host_and_scheme(
        wanted, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return wanted if safe else resolve_url(settings.LOGIN_REDIRECT_URL)
