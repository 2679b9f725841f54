"""One HTTP exchange with the official server's streamable transport."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import anyio
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import Message

from feedback.mcp import tools

# What the web server decides for itself.
_HOP_BY_HOP = ("connection", "content-length", "keep-alive", "transfer-encoding")


@dataclass(slots=True)
class HttpAnswer:
    status: int = 500
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""


async def exchange(
    headers: Mapping[str, str], body: bytes, *, host: str, origins: Sequence[str]
) -> HttpAnswer:
    """What the server answers to a POST; a page of another origin is refused."""
    app = tools.server().streamable_http_app(
        stateless_http=True,
        json_response=True,
        transport_security=TransportSecuritySettings(
            allowed_hosts=[host], allowed_origins=list(origins)
        ),
    )
    answer = HttpAnswer()
    received = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        if not received:
            await anyio.sleep_forever()  # nobody tells a WSGI process that its client has gone
        return received.pop()

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            answer.status = message["status"]
            answer.headers = _kept(message["headers"])
        else:
            answer.body += message.get("body", b"")

    async with app.router.lifespan_context(app):
        await app(_scope(headers, host), receive, send)
    return answer


def _scope(headers: Mapping[str, str], host: str) -> dict[str, object]:
    sent = {**headers, "host": host}
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": "/mcp",
        "raw_path": b"/mcp",
        "root_path": "",
        "query_string": b"",
        "headers": [
            (name.encode("latin-1"), value.encode("latin-1", "replace"))
            for name, value in sent.items()
        ],
    }


def _kept(headers: Sequence[tuple[bytes, bytes]]) -> dict[str, str]:
    plain = ((name.decode("latin-1"), value.decode("latin-1")) for name, value in headers)
    return {name.title(): value for name, value in plain if name.lower() not in _HOP_BY_HOP}
