"""Puts the calls of both apps together as `/api/v1`."""

import hashlib
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, cast

from django.contrib.admin.views.decorators import staff_member_required
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import URLPattern, path, re_path
from django.utils.cache import get_conditional_response, patch_cache_control
from django.views.decorators.csrf import csrf_exempt
from ninja import NinjaAPI

from feedback.api.batches import router as batches_router
from feedback.api.inquiries import router as inquiries_router
from feedback.api.requests import router as requests_router
from feedback.api.tool_calls import router as tool_calls_router
from feedback.api.webhooks import router as webhooks_router
from runs.api import errors
from runs.api.auth import TokenAuth
from runs.api.errors import MethodNotAllowed, refusal
from runs.api.reading import BodyParser
from runs.api.runs import router as runs_router
from runs.api.steps import router as steps_router
from runs.domain.values.errors import NotFound

View = Callable[..., HttpResponse]

DESCRIPTION = """\
FABER's runs and requests, for agents, scripts and CI. Send `Authorization: Bearer TOKEN`. \
Create a token with `faber token create`. All responses are JSON; errors look like `Error`."""


api = NinjaAPI(
    title="FABER",
    version="1",
    description=DESCRIPTION,
    openapi_url="/openapi.json",
    docs_url=None,
    auth=TokenAuth(),
    parser=BodyParser(),
    urls_namespace="api",
)
errors.install(api)
# In this order: the last of the runs' paths would take the others for part of a run's id.
ROUTERS = (
    *(requests_router, inquiries_router, tool_calls_router, batches_router, webhooks_router),
    *(steps_router, runs_router),
)
for router in ROUTERS:
    api.add_router("", router)


def _opened(pattern: URLPattern) -> URLPattern:
    """Without a session, and with our shape for a method that a path does not have."""
    inner: View = pattern.callback

    @csrf_exempt
    @login_not_required
    @wraps(inner, updated=())
    def view(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            response = inner(request, *args, **kwargs)
        except Http404:  # at the bare address of the API
            return refusal(NotFound("See /api/v1/openapi.json for what can be called."))
        if response.status_code != 405:
            return _unless_known(request, response)
        refused = refusal(MethodNotAllowed())
        refused["Allow"] = response["Allow"]
        return refused

    pattern.callback = view
    return pattern


def _unless_known(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """304 for whoever looks again at what did not change; nothing of it is kept in between."""
    patch_cache_control(response, private=True, no_cache=True)
    if request.method != "GET" or response.status_code != 200:
        return response
    etag = f'"{hashlib.sha256(response.content).hexdigest()[:32]}"'
    response["ETag"] = etag
    found = get_conditional_response(request, etag=etag, response=response)
    return cast("HttpResponse", found)


@staff_member_required
def docs(request: HttpRequest) -> HttpResponse:
    """The same as openapi.json, for people; nothing on the page comes from outside."""
    schema = api.get_openapi_schema()
    by_tag: dict[str, list[dict[str, Any]]] = {}
    for address, methods in schema["paths"].items():
        for method, call in methods.items():
            body = call.get("requestBody", {}).get("content", {}).get("application/json", {})
            told = {"method": method.upper(), "address": address, "body": _shape(schema, body)}
            by_tag.setdefault(call["tags"][0], []).append({**call, **told})
    return render(request, "api.html", {"by_tag": by_tag, "about": api.description})


def _shape(schema: Mapping[str, Any], body: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The fields of a body, each with whether it is needed."""
    name = body.get("schema", {}).get("$ref", "").rpartition("/")[2]
    known = schema["components"]["schemas"].get(name, {})
    needed = known.get("required", ())
    return [
        {"name": field, "required": field in needed, "about": about.get("description", "")}
        for field, about in known.get("properties", {}).items()
    ]


@csrf_exempt
@login_not_required
def no_such_call(_request: HttpRequest, rest: str) -> HttpResponse:
    return refusal(NotFound(f"The API has no call /{rest}; /api/v1/openapi.json lists them."))


_patterns, _app_name, _namespace = api.urls
urls = (
    [
        path("docs", docs, name="docs"),
        *(_opened(cast("URLPattern", each)) for each in _patterns),
        re_path(r"^(?P<rest>(?s:.+))$", no_such_call),  # also lines, which no path has
    ],
    _app_name,
    _namespace,
)
