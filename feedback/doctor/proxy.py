"""Whether the proxy in front tells the site what it has to: asked through the proxy itself."""

import json
import secrets
import ssl
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from http import HTTPStatus
from urllib.error import HTTPError
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.core import signing
from django.core.cache import cache
from django.http import Http404, HttpRequest, JsonResponse
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from feedback.doctor.finding import Finding
from runs.accounts import client_address

_SALT = "faber.proxy-check"
_SECONDS = 60  # in which a question is answered
_PATIENCE = 3.0
_REMEMBERED = 20
_LONGEST = 10_000  # bytes of an answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came back through the proxy; no status when nothing did."""

    status: int = 0
    body: str = ""
    problem: str = ""


@login_not_required
@never_cache
@require_safe
def proxy_check(request: HttpRequest, token: str) -> JsonResponse:
    """Tells the doctor, and nobody else, what a request looks like here."""
    try:
        signing.loads(token, salt=_SALT, max_age=_SECONDS)
    except signing.BadSignature:
        raise Http404 from None
    peer = str(request.META.get("REMOTE_ADDR", ""))
    seen = {
        "peer": peer,
        "host": request.get_host(),
        "is_trusted": client_address.is_trusted(peer),
        "forwarded_for": request.headers.get("X-Forwarded-For", ""),
    }
    return JsonResponse(seen)


def findings() -> Iterator[Finding]:
    answer = _answer()
    if answer is None or answer.problem:
        return
    if answer.status == HTTPStatus.OK:
        yield from _of_headers(json.loads(answer.body))
    elif answer.status == HTTPStatus.BAD_REQUEST and "X-Forwarded-Proto" in answer.body:
        yield _finding(
            "The proxy does not say that requests come over https",
            "the header X-Forwarded-Proto is missing, so every request is refused",
            "Let the proxy set X-Forwarded-Proto: https.",
        )
    elif answer.status == HTTPStatus.BAD_REQUEST:
        yield _finding(
            "The proxy does not pass on the host",
            "the header Host names a host that is not allowed, so every request is refused",
            "Let the proxy set Host as the browser sent it, or add it to FABER_ALLOWED_HOSTS.",
        )
    else:
        yield _finding(
            f"{settings.FABER_BASE_URL} does not lead to this site",
            f"it returned {answer.status}",
            f"Let the proxy lead to port {settings.FABER_PORT} of this site, or correct"
            " FABER_BASE_URL.",
        )


def told() -> str:
    """Why nothing is known of the proxy, if there is one."""
    answer = _answer()
    if answer is None or not answer.problem:
        return ""
    return (
        f"{settings.FABER_BASE_URL} can't be reached from this machine, so the proxy was not"
        f" checked: {answer.problem}."
    )


def _of_headers(seen: dict[str, object]) -> Iterator[Finding]:
    host, public = (_host(f"//{seen['host']}"), _host(settings.FABER_BASE_URL))
    if host != public:
        yield _finding(
            "The proxy does not pass on the host",
            f"requests for {public} arrive as requests for {host}",
            "Let the proxy set Host as the browser sent it.",
        )
    if not seen["forwarded_for"]:
        yield _finding(
            "The proxy does not say who asks",
            "the header X-Forwarded-For is missing; wrong passwords of all visitors count as"
            " those of one address",
            "Let the proxy set X-Forwarded-For to the client's address.",
        )
    elif not seen["is_trusted"]:
        yield _finding(
            f"The proxy at {seen['peer']} is not trusted",
            "its X-Forwarded-For is ignored; wrong passwords of all visitors count as those of"
            " one address",
            f"Set FABER_TRUSTED_PROXIES={seen['peer']}.",
        )


def _host(address: str) -> str:
    return urlsplit(address).hostname or ""


def _finding(what: str, cause: str, repair: str) -> Finding:
    return Finding(what=what, cause=cause, since=None, repair=repair)


def _answer() -> Answer | None:
    """None where no proxy is needed. Asked now, unless it was just asked."""
    if not (settings.FABER_BASE_URL.startswith("https:") or settings.FABER_TRUSTED_PROXIES):
        return None
    known: Answer | None = cache.get(_SALT)
    if known is None:
        known = _asked()
        cache.set(_SALT, known, _REMEMBERED)
    return known


def _asked() -> Answer:
    token = signing.dumps(secrets.token_hex(8), salt=_SALT)
    address = settings.FABER_BASE_URL + reverse("proxy-check", args=[token])
    # Nothing secret is sent, and a private authority's certificate is as good here.
    context = ssl._create_unverified_context()  # noqa: S323
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context)
    )
    try:
        with opener.open(address, timeout=_PATIENCE) as response:
            return Answer(status=response.status, body=response.read(_LONGEST).decode())
    except HTTPError as error:
        with error:
            return Answer(status=error.code, body=error.read(_LONGEST).decode(errors="replace"))
    except (OSError, ValueError) as error:
        return Answer(problem=str(getattr(error, "reason", error)))
