"""Which GitHub logins get in: those that somebody with an account has linked to it."""

from typing import Any

from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from django.http import HttpRequest
from django.shortcuts import render, resolve_url

from faber_site.github.pages import turned_away


class Linking(DefaultSocialAccountAdapter):  # type: ignore[misc]  # allauth has no types
    """Nobody gets an account by signing in, and a name alone opens nothing."""

    def is_open_for_signup(self, request: HttpRequest, sociallogin: Any) -> bool:
        return False

    def pre_social_login(self, request: HttpRequest, sociallogin: Any) -> None:
        if sociallogin.is_existing and not sociallogin.user.is_active:
            raise ImmediateHttpResponse(
                turned_away(
                    request,
                    "This account is deactivated",
                    "Your GitHub login is linked to an account that an administrator has"
                    " deactivated. Ask them to activate it again.",
                )
            )
        if sociallogin.is_existing or request.user.is_authenticated:
            return
        login = sociallogin.account.extra_data.get("login", "")
        context = {"login": login}
        raise ImmediateHttpResponse(
            render(request, "registration/not_linked.html", context, status=403)
        )

    def get_connect_redirect_url(self, request: HttpRequest, socialaccount: Any) -> str:
        return resolve_url("inbox")
