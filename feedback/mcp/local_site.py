"""Calls the site in its own process, through the very functions that answer the API."""

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Concatenate, ParamSpec, TypeVar, cast

from django.http import HttpResponse
from pydantic import BaseModel, ValidationError

from feedback.api import inquiries, requests
from feedback.api.schemas import ReplyToQuestion
from feedback.mcp.site import Json, WaitResult
from runs.api import paging, runs, steps
from runs.api.auth import ApiRequest, Caller
from runs.api.schemas import AskAlone, AskInRun, FinishStep, NextStep
from runs.chain import refusals
from runs.domain.values.actors import Source
from runs.domain.values.errors import FaberError, Invalid, Problem
from runs.domain.values.plain_json import storable
from runs.models import AccessToken
from runs.terminal import identity

Sent = TypeVar("Sent", bound=BaseModel)


def account_caller(run_id: str = "") -> Caller:
    """The agent of whoever this process belongs to, or of one run's step."""
    actor = identity.agent_actor(run_id, source=Source.MCP)
    return Caller(token=AccessToken(name=actor.name), actor=actor)


P = ParamSpec("P")
R = TypeVar("R")


def _noting(
    call: Callable[Concatenate["Here", P], R],
) -> Callable[Concatenate["Here", P], R]:
    """Put it on record when an agent tried what it may not do."""
    shape = signature(call)

    @wraps(call)
    def wrapped(self: "Here", /, *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return call(self, *args, **kwargs)
        except FaberError as error:
            run_id = str(shape.bind(self, *args, **kwargs).arguments.get("run_id", ""))
            refusals.note(error, actor=self.actor, what=f"mcp {call.__name__}", run_id=run_id)
            raise

    return wrapped


class Here:
    """The site's own database, as one caller."""

    def __init__(self, caller: Caller) -> None:
        self._request = ApiRequest()
        self._request.auth = caller
        self.actor = caller.actor

    @_noting
    def ask(self, question: Json, *, run_id: str = "") -> Json:
        if run_id:
            body = read(AskInRun, question)
            return requests.ask_in_run(self._request, _plain(run_id), body, "").value
        return requests.ask(self._request, read(AskAlone, question), "").value

    def wait(self, request_id: str, seconds: float) -> WaitResult:
        answer = HttpResponse()
        waited = requests.wait(self._request, answer, _plain(request_id), seconds)
        return WaitResult(
            request=waited.value,
            is_settled=waited.status_code == 200,
            had_seat="Retry-After" not in answer,
        )

    @_noting
    def reply(self, request_id: str, number: int, answer: str) -> Json:
        body = read(ReplyToQuestion, {"answer": answer})
        name = _plain(request_id)
        return inquiries.reply_to_question(self._request, name, number, body, "").value

    @_noting
    def withdraw(self, request_id: str) -> Json:
        return requests.withdraw(self._request, _plain(request_id), "").value

    @_noting
    def next_step(self, run_id: str) -> Json:
        return steps.next_step(self._request, _plain(run_id), NextStep())

    @_noting
    def finish_step(self, run_id: str, finished: Json) -> Json:
        return steps.finish_step(self._request, _plain(run_id), read(FinishStep, finished))

    def run(self, run_id: str) -> Json:
        return runs.get_run(self._request, _plain(run_id))

    def pending(self, *, project: str, cursor: str) -> Json:
        return requests.list_requests(
            self._request,
            limit=paging.MOST,
            cursor=_plain(cursor),
            status="pending",
            project=_plain(project),
        )


def read(model: type[Sent], document: Json) -> Sent:
    """What was sent, as the API would read it from a body."""
    try:
        return model.model_validate(storable(document))
    except ValidationError as error:
        raise Invalid(problems_of(error)) from error
    except ValueError as error:
        raise Invalid([Problem("", str(error))]) from error


def problems_of(error: ValidationError) -> list[Problem]:
    return [Problem(".".join(map(str, each["loc"])), each["msg"]) for each in error.errors()]


def _plain(text: str) -> str:
    return cast("str", storable(text))
