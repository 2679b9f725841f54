"""Where people are signed in: noted when it begins, seen, ended."""

from datetime import timedelta
from typing import Any

from django.contrib.auth import HASH_SESSION_KEY
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, User
from django.contrib.auth.signals import user_logged_in
from django.contrib.sessions.models import Session
from django.core.cache import cache
from django.db import IntegrityError, transaction
from django.http import HttpRequest
from django.utils import timezone

from runs.accounts import client_address
from runs.domain.values.errors import NotFound
from runs.models import BrowserSession

_SEEN_EVERY = timedelta(minutes=1)


def listen() -> None:
    user_logged_in.connect(_begun, dispatch_uid="faber.session-begun")


def seen(request: HttpRequest) -> None:
    """Remember that it is used, with at most one write a minute."""
    key = request.session.session_key
    if key is None or not _is_due(key):
        return
    now = timezone.now()
    noted = BrowserSession.objects.filter(session_id=key)
    if not noted.filter(last_seen_at__lte=now - _SEEN_EVERY).update(last_seen_at=now):
        # A new password gives the same browser another key, and nobody signs in again.
        _note(key, request, request.user)


def of(user: User) -> list[BrowserSession]:
    """Those that open something still, the last seen first."""
    kept = BrowserSession.objects.filter(user=user, session__expire_date__gt=timezone.now())
    return [each for each in kept.select_related("session") if _opens(each.session, user)]


def end(user: User, pk: int) -> BrowserSession:
    """Whoever has that browser is signed out with their next click."""
    found = BrowserSession.objects.filter(user=user, pk=pk).first()
    if found is None:
        raise NotFound("You have no such session.")
    Session.objects.filter(pk=found.session_id).delete()
    return found


def end_others(user: User, this: str) -> int:
    """How many were ended that still opened something."""
    count = sum(each.session_id != this for each in of(user))
    own = BrowserSession.objects.filter(user=user).exclude(session_id=this)
    Session.objects.filter(pk__in=own.values("session_id")).delete()
    return count


def _begun(user: AbstractBaseUser, request: HttpRequest | None = None, **_: Any) -> None:
    if request is None:
        return
    if request.session.session_key is None:
        # Who signs in over somebody else's session gets the new key only when it is saved.
        request.session.save()
    key = request.session.session_key
    if key and _is_due(key):
        _note(key, request, user)


def _is_due(key: str) -> bool:
    return cache.add(f"faber.session-seen.{key}", True, _SEEN_EVERY.total_seconds())


def _note(key: str, request: HttpRequest, user: AbstractBaseUser | AnonymousUser) -> None:
    agent = "".join(filter(str.isprintable, request.headers.get("User-Agent", "")))
    said = {
        "user": user,
        "address": client_address.of(request)[: BrowserSession.LONGEST_ADDRESS],
        "agent": agent[: BrowserSession.LONGEST_AGENT],
    }
    try:
        with transaction.atomic():
            BrowserSession.objects.get_or_create(session_id=key, defaults=said)
    except IntegrityError:
        pass  # it was ended while this answer was being made


def _opens(session: Session, user: User) -> bool:
    """Django asks the same at the next request: a new password ends what was begun before."""
    known: object = session.get_decoded().get(HASH_SESSION_KEY)
    return known == user.get_session_auth_hash()
