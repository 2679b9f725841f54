"""The way to an OpenID Connect provider and back, on django-allauth's.

Beyond what that does, the id token is always held to its signature and to a nonce, and the provider
to the issuer that is set.
"""

import hashlib
import logging
import secrets
from collections.abc import Callable
from functools import wraps
from http import HTTPStatus
from typing import Any

from allauth.socialaccount.adapter import get_adapter
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from allauth.socialaccount.providers.oauth2.views import OAuth2CallbackView, OAuth2LoginView
from allauth.socialaccount.providers.openid_connect.provider import OpenIDConnectProvider
from allauth.socialaccount.providers.openid_connect.views import OpenIDConnectOAuth2Adapter
from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render, resolve_url
from django.urls import reverse
from django.views.decorators.cache import never_cache
from requests import RequestException

from faber_site.sign_in import id_tokens
from faber_site.sign_in.id_tokens import Claims
from faber_site.sign_in.pages import turned_away
from faber_site.sign_in.providers import OIDC

logger = logging.getLogger(__name__)

LONGEST_ID = 191  # that django-allauth keeps
_KEPT = ("sub", "preferred_username", "email", "email_verified")


class SingleSignOn(OpenIDConnectProvider):  # type: ignore[misc]  # allauth has no types
    def redirect(self, request: HttpRequest, process: str, *args: Any, **given: Any) -> Any:
        nonce = secrets.token_urlsafe(32)
        asked = {**given.pop("auth_params", {}), "nonce": nonce}
        return super().redirect(request, process, *args, auth_params=asked, nonce=nonce, **given)

    def get_oauth2_adapter(self, request: HttpRequest) -> "Exchange":
        return Exchange(request)

    def extract_uid(self, data: Claims) -> str:
        """Another issuer's number is another person, also after the site moved to that one."""
        name = f"{data['iss']} {data['sub']}"
        return name if len(name) <= LONGEST_ID else hashlib.sha256(name.encode()).hexdigest()

    def extract_extra_data(self, data: Claims) -> dict[str, Any]:
        kept = {name: data[name] for name in _KEPT if name in data}
        return {**kept, "groups": groups_in(data)}

    def extract_common_fields(self, data: Claims) -> dict[str, Any]:
        return {}

    def extract_email_addresses(self, data: Claims) -> list[Any]:
        return []


def groups_in(claims: Claims) -> list[str]:
    told = claims.get(settings.FABER_OIDC_GROUPS_CLAIM) or []
    listed = told if isinstance(told, list) else [told]
    return [group for group in listed if isinstance(group, str)]


class Exchange(OpenIDConnectOAuth2Adapter):  # type: ignore[misc]
    """What the site and the provider tell each other behind the browser's back."""

    nonce = ""

    def __init__(self, request: HttpRequest) -> None:
        super().__init__(request, OIDC)

    def get_provider(self) -> SingleSignOn:
        return SingleSignOn(self.request, app=get_adapter().get_app(self.request, provider=OIDC))

    def get_callback_url(self, request: HttpRequest, app: Any) -> str:
        return f"{settings.FABER_BASE_URL}{reverse('openid_connect_callback')}"

    def complete_login(self, request: HttpRequest, app: Any, token: Any, **given: Any) -> Any:
        known = self.openid_config
        if known["issuer"] != settings.FABER_OIDC_ISSUER:
            raise OAuth2Error(f"the provider calls itself {known['issuer']!r}")
        try:
            claims = id_tokens.read(
                str(given["response"].get("id_token", "")),
                keys=self._fetched(known["jwks_uri"]),
                issuer=settings.FABER_OIDC_ISSUER,
                client_id=app.client_id,
                nonce=self.nonce,
            )
            told = self._fetch_user_info(token.token) if "userinfo_endpoint" in known else {}
            data = id_tokens.joined(claims, told)
        except id_tokens.TokenRefused as error:
            raise OAuth2Error(str(error)) from error
        return self.get_provider().sociallogin_from_response(request, data)

    def _fetched(self, address: str) -> Claims:
        with get_adapter().get_requests_session() as session:
            response = session.get(address)
            response.raise_for_status()
        keys: Claims = response.json()
        return keys


class _Callback(OAuth2CallbackView):  # type: ignore[misc]
    def _get_state(self, request: HttpRequest, provider: SingleSignOn) -> Any:
        state, response = super()._get_state(request, provider)
        self.adapter.nonce = (state or {}).get("nonce", "")
        return state, response


def _reaching(view: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """A provider that is down, or is none, is told in a sentence."""

    @login_not_required
    @never_cache
    @wraps(view)
    def answered(request: HttpRequest) -> HttpResponse:
        try:
            return view(request)
        except (RequestException, KeyError, ValueError) as error:
            is_ours = not isinstance(error, RequestException)
            logger.warning("The sign-in provider can't be used: %s", error, exc_info=is_ours)
            return turned_away(
                request,
                "Single sign-on is not available",
                f"{settings.FABER_OIDC_NAME} can't be reached, or its answer can't be read."
                " Try again later.",
                status=HTTPStatus.BAD_GATEWAY,
            )

    return answered


@_reaching
def login(request: HttpRequest) -> HttpResponse:
    if request.method != "POST":
        return HttpResponseRedirect(resolve_url("login"))
    response: HttpResponse = OAuth2LoginView.adapter_view(Exchange(request))(request)
    if not isinstance(response, HttpResponseRedirect):
        return response
    # A form may lead only to this site (form-action), also by way of others; a page may leave.
    context = {"address": response.url, "name": settings.FABER_OIDC_NAME}
    leaving = render(request, "registration/leaving.html", context)
    leaving["Refresh"] = f"0; url={response.url}"
    return leaving


@_reaching
def callback(request: HttpRequest) -> HttpResponse:
    answer: HttpResponse = _Callback.adapter_view(Exchange(request))(request)
    return answer
