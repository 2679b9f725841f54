"""`/mcp`: each request is a whole exchange of the official server, within the web process."""

from collections.abc import Callable
from typing import TypeVar

from asgiref.sync import async_to_sync, sync_to_async
from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt

from feedback.mcp import site
from feedback.mcp.local_site import Here
from feedback.mcp.site import Session
from runs.accounts import tokens
from runs.api.auth import Caller, identify
from runs.api.errors import MethodNotAllowed, TooLarge, refusal
from runs.domain.values.actors import Source
from runs.domain.values.errors import FaberError, Refused

T = TypeVar("T")

# A call holds one of the few web threads, so it ends when every client and proxy still listens.
PATIENCE = 50.0
NOT_INSTALLED = "MCP is not installed with this FABER. Install faber-review[mcp]."


@csrf_exempt
@login_not_required
def mcp(request: HttpRequest) -> HttpResponse:
    """Streamable HTTP without sessions: POST is answered with JSON, there is no stream to GET."""
    try:
        token = identify(request).token
        if request.method != "POST":
            raise MethodNotAllowed("Send each message with POST; this server has no sessions.")
        caller = Caller(token=token, actor=tokens.agent_of(token, Source.MCP))
        session = Session(
            site=Here(caller), in_thread=in_thread, patience=PATIENCE, asker=f"token {token.pk}"
        )
        return async_to_sync(_served)(session, request, request.body)
    except RequestDataTooBig:
        return refusal(TooLarge())
    except FaberError as error:
        response = refusal(error)
        if isinstance(error, MethodNotAllowed):
            response["Allow"] = "POST"
        return response


async def in_thread(work: Callable[[], T]) -> T:
    """In the thread that answers the request: its database connection is cared for by Django."""
    return await sync_to_async(work, thread_sensitive=True)()


async def _served(session: Session, request: HttpRequest, body: bytes) -> HttpResponse:
    try:
        from feedback.mcp import asgi  # noqa: PLC0415  a second and 50 MB that few sites need
    except ModuleNotFoundError as error:
        raise Refused(NOT_INSTALLED) from error

    site.current.set(session)
    host = request.get_host()  # which Django has checked against ALLOWED_HOSTS
    origins = {f"{request.scheme}://{host}", *settings.CSRF_TRUSTED_ORIGINS}
    headers = {name.lower(): value for name, value in request.headers.items()}
    answer = await asgi.exchange(headers, body, host=host, origins=sorted(origins))
    return HttpResponse(
        answer.body, status=answer.status, headers={"Content-Type": "text/plain", **answer.headers}
    )
