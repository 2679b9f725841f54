"""Which people that others vouch for get in, as whom, and with which role."""

import logging
from typing import Any

from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.providers.base import AuthProcess
from django.conf import settings
from django.contrib.auth import logout
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render, resolve_url

from faber_site.sign_in.pages import turned_away
from faber_site.sign_in.providers import OIDC
from runs.accounts import given_roles, sessions, users
from runs.chain import entries
from runs.domain.values.actors import Role, Source
from runs.domain.values.errors import FaberError
from runs.models import AuditKind

logger = logging.getLogger(__name__)

TAKEN = (
    "The account {name} is not linked to your {provider} login. If it is yours, sign in to it with"
    " a password or a sign-in link, then select “Link my {provider} login” in the account menu."
    " Otherwise ask an administrator."
)


class Admission(DefaultSocialAccountAdapter):  # type: ignore[misc]  # allauth has no types
    """A name alone opens nothing, nor does an e-mail address."""

    def is_open_for_signup(self, request: HttpRequest, sociallogin: Any) -> bool:
        return False

    def pre_social_login(self, request: HttpRequest, sociallogin: Any) -> None:
        """Raises the page that is shown instead; whoever is signed in may also just link."""
        is_oidc = sociallogin.account.provider == OIDC
        provider = settings.FABER_OIDC_NAME if is_oidc else "GitHub"
        if sociallogin.is_existing and not sociallogin.user.is_active:
            raise _refused(
                request,
                sociallogin.user.get_username(),
                "This account is deactivated",
                f"Your {provider} login is linked to an account that an administrator has"
                " deactivated. Ask them to activate it again.",
            )
        if sociallogin.state.get("process") == AuthProcess.CONNECT:
            return
        if is_oidc:
            _admit(request, sociallogin)
        elif not sociallogin.is_existing:
            login = sociallogin.account.extra_data.get("login", "")
            raise ImmediateHttpResponse(_not_linked(request, login))

    def on_authentication_error(
        self,
        request: HttpRequest,
        provider: Any,
        error: Any = None,
        exception: Any = None,
        **_: Any,
    ) -> None:
        logger.warning("Signing in through %s failed: %s", provider.name, exception or error)

    def get_connect_redirect_url(self, request: HttpRequest, socialaccount: Any) -> str:
        return resolve_url("inbox")


def _admit(request: HttpRequest, sociallogin: Any) -> None:
    if request.user.is_authenticated:
        logout(request)  # whoever comes in anew is looked at anew
    told = sociallogin.account.extra_data
    name = _name(told)
    wanted = given_roles.highest(told["groups"], settings.FABER_OIDC_ROLES)
    if not sociallogin.is_existing:
        _check_new(request, name, wanted)
        _make_account(request, sociallogin, name, wanted or Role.VIEWER)
    if settings.FABER_OIDC_ROLES and not _give(sociallogin.user, wanted):
        raise _no_role(request, name)


def _name(told: dict[str, Any]) -> str:
    """What a new account is called: as its person is at the provider."""
    email = told.get("email", "") if told.get("email_verified") is True else ""
    return str(told.get("preferred_username") or email or told["sub"])


def _check_new(request: HttpRequest, name: str, wanted: Role | None) -> None:
    if users.exists(name):
        provider = settings.FABER_OIDC_NAME
        sentence = TAKEN.format(name=name, provider=provider)
        raise _refused(request, name, f"{name} is another account", sentence)
    if not settings.FABER_OIDC_CREATE_ACCOUNTS:
        sentence = "Ask an administrator for an account, sign in, then link your login to it."
        raise _refused(request, name, f"There is no account for {name}", sentence)
    if settings.FABER_OIDC_ROLES and wanted is None:
        raise _no_role(request, name)


def _make_account(request: HttpRequest, sociallogin: Any, name: str, role: Role) -> None:
    told = sociallogin.account.extra_data
    email = told.get("email", "") if told.get("email_verified") is True else ""
    try:
        with transaction.atomic():
            sociallogin.user = users.create(name, role=role, email=email)
            sociallogin.save(request, connect=True)
            if settings.FABER_OIDC_ROLES:
                given_roles.note(sociallogin.user, role)
            _rule(name, f"made the account {name}, role {role.value}")
    except (FaberError, IntegrityError) as error:
        why = str(error) if isinstance(error, FaberError) else "Try again."
        raise _refused(request, name, f"There is no account for {name}", why) from error


@transaction.atomic
def _give(user: User, wanted: Role | None) -> Role | None:
    """The role that somebody has from here on; who has none any more is signed out everywhere."""
    before = users.role_of(user)
    role = given_roles.apply(user, wanted)
    if role != before:
        name = user.get_username()
        given = f"gave the account {name} the role {role.value}" if role else ""
        _rule(name, given or f"removed the role of the account {name}")
    if role is None:
        sessions.end_others(user, "")
    return role


def _rule(name: str, what: str) -> None:
    entries.write(
        AuditKind.RULE,
        who=settings.FABER_OIDC_NAME,
        channel=Source.WEB.value,
        what=f"{what} (single sign-on of {name})",
    )


def _no_role(request: HttpRequest, name: str) -> ImmediateHttpResponse:
    return _refused(
        request,
        name,
        f"{name} has no access",
        "None of your groups has a role here. Ask an administrator to add you to one that has.",
    )


def _refused(request: HttpRequest, name: str, heading: str, sentence: str) -> ImmediateHttpResponse:
    entries.write(
        AuditKind.SIGN_IN,
        who=name[:200],
        channel=Source.WEB.value,
        what="was refused",
        reason=f"{heading}. {sentence}",
    )
    return ImmediateHttpResponse(turned_away(request, heading, sentence))


def _not_linked(request: HttpRequest, login: str) -> HttpResponse:
    return render(request, "registration/not_linked.html", {"login": login}, status=403)
