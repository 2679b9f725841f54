"""Answers a browser: a whole page, or the part of it that htmx asked for."""

from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import PurePosixPath
from typing import Any, Concatenate, ParamSpec

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import render
from django.utils.cache import patch_cache_control, patch_vary_headers
from django.utils.http import content_disposition_header
from django_htmx.middleware import HtmxDetails

from runs.accounts import membership, users
from runs.accounts.membership import Sight
from runs.chain import refusals
from runs.domain.values.actors import Actor
from runs.domain.values.errors import FaberError, NotAllowed, NotFound, Pruned
from runs.models import Artifact

NOTHING_NEW = 204
STOP_POLLING = 286

_CODES = {
    "not_found": 404,
    "no_changes": 404,
    "gone": 410,
    "not_allowed": 403,
    "already_answered": 409,
    "stale": 409,
    "refused": 409,
    "imported": 409,
    "invalid_response": 422,
    "round_limit": 422,
    "invalid": 422,
}

_WANTED = {"request": "answer", "draft": "keep a draft", "remarks": "comment on a line"}

_P = ParamSpec("_P")


class PageRequest(HttpRequest):
    """What the middleware makes of a request before a view of ours sees it."""

    htmx: HtmxDetails
    user: User
    visitor: Actor
    sight: Sight


View = Callable[Concatenate[PageRequest, _P], HttpResponse]


def visitor(request: PageRequest) -> Actor:
    """Who looks at the page, with the groups they are in; asked once a request."""
    if not hasattr(request, "visitor"):
        request.visitor = users.actor_of(request.user)
    return request.visitor


def sight(request: PageRequest) -> Sight:
    """The projects that exist for them."""
    if not hasattr(request, "sight"):
        request.sight = membership.sight_of(visitor(request))
    return request.sight


class SeeOther(HttpResponseRedirect):
    """After a POST the browser fetches a page of its own, whatever it sent before."""

    status_code = 303


def page(
    request: PageRequest,
    template: str,
    context: Mapping[str, Any] | None = None,
    *,
    part: str = "",
    status: int = 200,
) -> HttpResponse:
    """The template, or only its named part when htmx asks."""
    name = f"{template}#{part}" if part and request.htmx else template
    return fresh(render(request, name, context, status=status))


def nothing_new() -> HttpResponse:
    """A poll that found what the page already shows: htmx leaves it, and the focus, alone."""
    return fresh(HttpResponse(status=NOTHING_NEW))


def fresh(response: HttpResponse) -> HttpResponse:
    patch_vary_headers(response, ["HX-Request", "HX-Target"])
    patch_cache_control(response, private=True, no_cache=True)
    return response


def status_of(error: FaberError) -> int:
    return _CODES.get(error.code, 400)


def refusing(view: View[_P]) -> View[_P]:
    """Turn an error nobody else caught into the page for its code."""

    @wraps(view)
    def wrapped(request: PageRequest, /, *args: _P.args, **kwargs: _P.kwargs) -> HttpResponse:
        try:
            return view(request, *args, **kwargs)
        except Pruned as error:
            return page(request, "410.html", {"message": str(error)}, status=status_of(error))
        except NotFound as error:
            raise Http404(str(error)) from error
        except NotAllowed as error:
            noted(request, error)
            raise PermissionDenied(str(error)) from error
        except FaberError as error:
            return page(request, "refused.html", {"message": str(error)}, status=status_of(error))

    return wrapped


def noted(request: PageRequest, error: FaberError) -> None:
    """Put it on record when somebody tried what they may not do."""
    match = request.resolver_match
    if match and request.user.is_authenticated:
        named = {key: str(match.kwargs.get(key, "")) for key in ("run_id", "request_id")}
        what = _WANTED.get(match.url_name or "", (match.url_name or "").replace("-", " "))
        refusals.note(error, actor=visitor(request), what=what, **named)


def download(kept: QuerySet[Artifact], revision: int, path: str) -> HttpResponse:
    """One of these files as it was kept; a browser saves it and never runs it."""
    # PostgreSQL fails on a NUL instead of finding nothing.
    artifact = kept.filter(revision=revision, path=path.replace("\0", "\ufffd")).first()
    if artifact is None:
        raise NotFound(f"There is no revision {revision} of {path}.")
    response = HttpResponse(bytes(artifact.content), content_type="text/plain; charset=utf-8")
    name = PurePosixPath(artifact.path).name
    response["Content-Disposition"] = content_disposition_header(True, name) or "attachment"
    response["X-Content-Type-Options"] = "nosniff"
    return fresh(response)


def chosen(request: HttpRequest) -> str:
    """The address of a narrowed list: what was chosen, without what was left empty."""
    wanted = QueryDict(mutable=True)
    for name, value in request.GET.items():
        if value and name != "v":
            wanted[name] = str(value)
    return f"{request.path}?{wanted.urlencode(safe='/')}" if wanted else request.path
