"""Turns whatever goes wrong into the one shape that programs read."""

import logging
from collections.abc import Iterator, Sequence
from typing import Any

from django.core.exceptions import RequestDataTooBig
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from ninja import NinjaAPI
from ninja.errors import HttpError, ValidationError

from runs.api.auth import Caller, TooManyCalls, Unauthorised
from runs.api.reading import body_of
from runs.chain import refusals
from runs.domain.values.errors import FaberError, Invalid, NotFound, Problem, Refused
from runs.pages.http import status_of
from runs.terminal.console import error_shape

logger = logging.getLogger(__name__)

_UNKNOWN = 400


class TooLarge(FaberError):
    """The body is larger than this site accepts."""

    code = "too_large"


class MethodNotAllowed(FaberError):
    """That cannot be done with this method."""

    code = "method_not_allowed"


class Unexpected(FaberError):
    """Something went wrong that should not; it is in the site's log."""

    code = "unexpected"


Json = dict[str, Any]

# What a value must be that is of another type, by pydantic's name for the mistake.
_KINDS = {
    "string_type": "a string",
    "int_type": "an integer",
    "float_type": "a number",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
}
_OWN = {Unauthorised: 401, TooManyCalls: 429, TooLarge: 413, MethodNotAllowed: 405, Unexpected: 500}


def install(api: NinjaAPI) -> None:
    # ninja has handlers of its own for the first three, which would be found before the last.
    kinds: tuple[type[Exception], ...] = (ValidationError, HttpError, Http404, Exception)
    for kind in kinds:
        api.add_exception_handler(kind, _handled)


def refusal(error: FaberError) -> HttpResponse:
    response = JsonResponse(error_shape(error), status=code_of(error))
    if isinstance(error, Unauthorised):
        response["WWW-Authenticate"] = "Bearer"
    if "retry_after" in error.details:
        response["Retry-After"] = str(error.details["retry_after"])
    return response


def code_of(error: FaberError) -> int:
    if own := _OWN.get(type(error)):
        return own
    known = status_of(error)
    return 409 if known == _UNKNOWN and isinstance(error, Refused) else known


def _handled(request: HttpRequest, error: Any) -> HttpResponse:
    match error:
        case FaberError():
            _note(request, error)
            return refusal(error)
        case ValidationError():
            return refusal(Invalid(_problems(error.errors, _sent(request))))
        case HttpError():  # ninja raises it for a body that is no JSON, and for nothing else
            return refusal(Invalid([Problem("", "the body is not JSON")]))
        case Http404():
            return refusal(NotFound())
        case RequestDataTooBig():
            return refusal(TooLarge())
    logger.error("%s %s failed", request.method, request.path, exc_info=error)
    return refusal(Unexpected())


def _note(request: HttpRequest, error: FaberError) -> None:
    """Only somebody we know can be refused; whoever has no token did not come in."""
    caller, match = getattr(request, "auth", None), request.resolver_match
    if isinstance(caller, Caller) and match:
        named = {key: str(match.kwargs.get(key, "")) for key in ("run_id", "request_id")}
        path = request.path.removeprefix("/api/v1")
        # The last word of a path with an id in it is what was wanted: answer, cancel, next.
        what = path.rpartition("/")[2] if any(named.values()) else f"{request.method} {path}"
        refusals.note(error, actor=caller.actor, what=what, **named)


def _sent(request: HttpRequest) -> object:
    return body_of(request) if request.method == "POST" else {}


def _problems(errors: Sequence[Json], sent: object) -> list[Problem]:
    """One for each place: what may be of several types is wrong once, not once for each."""
    by_place: dict[str, list[Json]] = {}
    for each in errors:
        by_place.setdefault(".".join(_place(each, sent)), []).append(each)
    return [
        Problem(place, _message(found))
        for place, found in by_place.items()
        # What is wrong inside of it was the type that is meant.
        if not (_kinds(found) and any(other.startswith(f"{place}.") for other in by_place))
    ]


def _place(each: Json, sent: object) -> Iterator[str]:
    """As a path in what was sent; pydantic adds which of several types it tried."""
    location: Sequence[Any] = each.get("loc", ())
    # It begins with where the value came from: `body`, then our name for it, or `query`.
    if location[:1] != ("body",):
        yield from map(str, location[1:])
        return
    for index, part in enumerate(location[2:], start=3):
        match sent:
            case {} if part in sent:
                sent = sent[part]
            case [*_] if isinstance(part, int):
                sent = sent[part]
            case _ if each.get("type") != "missing" or index < len(location):
                continue
        yield str(part)


def _message(found: Sequence[Json]) -> str:
    if kinds := _kinds(found):
        return f"must be {' or '.join(kinds)}"
    # Of the type that it is; that it is no other says nothing.
    return "; ".join(dict.fromkeys(_told(each) for each in found if not _kinds([each])))


def _told(each: Json) -> str:
    if each.get("type") == "missing" and each.get("loc") == ("body", "body"):
        return "a JSON object is required"
    if each.get("ctx", {}).get("pattern") == r"\S":
        return "must not be empty"
    return str(each.get("msg", "")).removeprefix("Value error, ")  # which is pydantic's


def _kinds(found: Sequence[Json]) -> list[str]:
    """The types it may be of, if that is all that is wrong."""
    kinds = [_KINDS.get(each.get("type", ""), "") for each in found]
    return kinds if all(kinds) else []
