"""Puts on record who came in and left, who tried, and what the admin's forms changed."""

from typing import Any

from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import AbstractBaseUser
from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.core.cache import cache
from django.db.models.signals import post_save
from django.http import HttpRequest

from runs.chain import entries, keys
from runs.domain.values.actors import Source
from runs.models import AuditKind

_ONCE_IN = 60
_DOORS = {
    "login": "a password",
    "login-link": "a sign-in link",
    "github_callback": "GitHub",
    "openid_connect_callback": "single sign-on",
}


def listen() -> None:
    user_logged_in.connect(_came_in, dispatch_uid="faber.came-in")
    user_logged_out.connect(_left, dispatch_uid="faber.left")
    user_login_failed.connect(_was_refused, dispatch_uid="faber.was-refused")
    post_save.connect(_changed_in_admin, sender=LogEntry, dispatch_uid="faber.changed-in-admin")


def _came_in(user: AbstractBaseUser, request: HttpRequest | None = None, **_: Any) -> None:
    door = request.resolver_match.url_name if request and request.resolver_match else ""
    by = _DOORS.get(door or "", door)
    name = user.get_username()
    what = f"signed in with {by}" if by else "signed in"
    entries.write(AuditKind.SIGN_IN, who=name, account=name, channel=Source.WEB.value, what=what)


def _left(user: AbstractBaseUser | None, **_: Any) -> None:
    if user is not None:
        name = user.get_username()
        entries.write(
            AuditKind.SIGN_IN, who=name, account=name, channel=Source.WEB.value, what="signed out"
        )


def _was_refused(credentials: dict[str, Any], **_: Any) -> None:
    name = str(credentials.get("username", ""))[:200]
    if cache.add(keys.digest("wrong password", name), True, _ONCE_IN):
        entries.write(
            AuditKind.SIGN_IN,
            who=name,
            channel=Source.WEB.value,
            what="was refused",
            reason="The password is wrong, or the account may not sign in.",
        )


def _changed_in_admin(instance: LogEntry, created: bool, **_: Any) -> None:
    if created:
        name = instance.user.get_username()
        what = f"{instance.content_type} {instance.object_repr}: {instance.get_change_message()}"
        entries.write(
            AuditKind.RULE, who=name, account=name, channel=Source.WEB.value, what=what[:2000]
        )
