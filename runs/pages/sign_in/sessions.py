"""The page where somebody sees where they are signed in, and ends it."""

from collections.abc import Callable
from dataclasses import dataclass

from django.contrib.auth import logout
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import resolve_url
from django.views.decorators.http import require_POST, require_safe

from runs.accounts import sessions
from runs.chain import entries
from runs.models import AuditKind, BrowserSession
from runs.pages.http import PageRequest, SeeOther, page, refusing, visitor
from runs.pages.sign_in import browsers


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionListed:
    """A session as the page shows it."""

    session: BrowserSession
    is_this: bool

    @property
    def browser(self) -> str:
        return browsers.spoken(self.session.agent)

    @property
    def name(self) -> str:
        return _named(self.session)


@require_safe
def session_list(request: PageRequest) -> HttpResponse:
    this = request.session.session_key
    listed = [
        SessionListed(session=each, is_this=each.session_id == this)
        for each in sessions.of(request.user)
    ]
    here = [each for each in listed if each.is_this]
    elsewhere = [each for each in listed if not each.is_this]
    context = {"listed": here + elsewhere, "elsewhere": elsewhere}
    return page(request, "runs/sessions.html", context)


@require_POST
@refusing
@transaction.atomic
def session_end(request: PageRequest, pk: int) -> HttpResponse:
    ended = sessions.end(request.user, pk)
    if ended.session_id == request.session.session_key:
        logout(request)
        return SeeOther(resolve_url("login"))
    _put_on_record(request, f"ended a session: {_named(ended)}")
    return SeeOther(resolve_url("sessions"))


@require_POST
@transaction.atomic
def other_sessions_end(request: PageRequest) -> HttpResponse:
    count = sessions.end_others(request.user, request.session.session_key or "")
    if count:
        _put_on_record(request, f"ended {count} other session{'s' if count > 1 else ''}")
    return SeeOther(resolve_url("sessions"))


def noting_visits(
    answer: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Middleware; what opens no session costs nothing."""

    def noted(request: HttpRequest) -> HttpResponse:
        response = answer(request)
        if request.session.accessed and request.user.is_authenticated:
            sessions.seen(request)
        return response

    return noted


def _named(session: BrowserSession) -> str:
    return ", ".join(filter(None, (browsers.spoken(session.agent), session.address)))


def _put_on_record(request: PageRequest, what: str) -> None:
    entries.write(AuditKind.SIGN_IN, actor=visitor(request), what=what)
