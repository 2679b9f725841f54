"""Finds out which program calls, and whether it calls too often."""

from dataclasses import dataclass

from django.http import HttpRequest
from ninja.security import HttpBearer

from runs.accounts import tokens
from runs.accounts.rate_limit import Buckets
from runs.domain.values.actors import Actor, Source
from runs.domain.values.errors import FaberError, NotFound
from runs.models import AccessToken

BUCKETS = Buckets(burst=300, per_second=20)


class Unauthorised(FaberError):
    """A token is needed: send it as `Authorization: Bearer TOKEN`."""

    code = "unauthorised"


class TooManyCalls(FaberError):
    """This token calls too often; wait as long as Retry-After says."""

    code = "too_many_calls"

    def __init__(self, seconds: float) -> None:
        super().__init__(retry_after=max(1, round(seconds + 0.5)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    token: AccessToken
    actor: Actor


class ApiRequest(HttpRequest):
    """A request whose token was found."""

    auth: Caller


class TokenAuth(HttpBearer):
    openapi_description = "A token created with `faber token create`."

    def __call__(self, request: HttpRequest) -> Caller:
        return identify(request)

    def authenticate(self, request: HttpRequest, token: str) -> Caller:
        raise NotImplementedError


def identify(request: HttpRequest) -> Caller:
    """Who calls, from the header alone: no cookie ever opens the API."""
    scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not secret.strip():
        raise Unauthorised
    token = tokens.find(secret.strip())
    if token is None:
        raise Unauthorised("This token is unknown, expired or revoked.")
    if seconds := BUCKETS.take(token.digest):  # a row's number is given out again
        raise TooManyCalls(seconds)
    if "\0" in request.path_info:  # which PostgreSQL would fail on
        raise NotFound
    tokens.touch(token)
    return Caller(token=token, actor=_actor(token, request))


def _actor(token: AccessToken, request: HttpRequest) -> Actor:
    """A program may say that it only hands on what an agent wants, and then does no more."""
    if request.headers.get("Faber-Source") == Source.MCP.value:
        return tokens.agent_of(token, Source.MCP)
    return tokens.actor_of(token)
