"""Agents that speak MCP in tests, through the official client."""

import json
import os
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
from anyio.from_thread import BlockingPortal, start_blocking_portal
from django.db import connection
from django.http import HttpResponse
from django.test import Client as HttpClient
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent

from tests.commands import FABER, environment

Json = dict[str, Any]


class Agent:
    """A connected client, used from a test that is not asynchronous."""

    def __init__(self, portal: BlockingPortal, client: Client) -> None:
        self._portal, self._client = portal, client

    def tools(self) -> dict[str, str]:
        """Their names, and what a model is told about each."""
        listed = self._portal.call(self._client.list_tools)
        return {tool.name: tool.description or "" for tool in listed.tools}

    def start(self, tool: str, **arguments: Any) -> "Future[CallToolResult]":
        return self._portal.start_task_soon(self._client.call_tool, tool, arguments)

    def call(self, tool: str, **arguments: Any) -> Json:
        """The API's JSON, which is given twice: as structure and as text."""
        result = self.start(tool, **arguments).result(timeout=60)
        assert not result.is_error, result.content
        assert json.loads(text_of(result)) == result.structured_content
        return dict(result.structured_content or {})

    def refused(self, tool: str, **arguments: Any) -> str:
        result = self.start(tool, **arguments).result(timeout=60)
        assert result.is_error
        return text_of(result)


def text_of(result: CallToolResult) -> str:
    [content] = result.content
    assert isinstance(content, TextContent)
    return content.text


@contextmanager
def connected(way: AbstractAsyncContextManager[Client]) -> Iterator[Agent]:
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(way) as client:
        yield Agent(portal, client)


@asynccontextmanager
async def over_http(url: str, secret: str, mode: str = "auto") -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {secret}"}
    async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
        transport = streamable_http_client(f"{url}/mcp", http_client=http)
        async with Client(transport, mode=mode) as client:
            yield client


def over_stdio(folder: Path, mode: str = "auto", **variables: str) -> Client:
    """`faber mcp` as a client starts it, with nothing of ours in its environment but these."""
    server = StdioServerParameters(
        command=str(FABER), args=["mcp"], env={**environment(folder), **variables}
    )
    return Client(stdio_client(server), mode=mode)


def this_database() -> str:
    """Where another process finds the test's own database."""
    name = connection.settings_dict["NAME"]
    if connection.vendor == "sqlite":
        return f"sqlite:///{name}"
    return urlsplit(os.environ["FABER_DATABASE_URL"])._replace(path=f"/{name}").geturl()


class Caller:
    """Sends single messages to `/mcp`, within the test's own process."""

    def __init__(self, secret: str = "") -> None:
        self._client = HttpClient(enforce_csrf_checks=True, raise_request_exception=False)
        own = {"Authorization": f"Bearer {secret}"} if secret else {}
        self._headers = {**own, "Accept": "application/json, text/event-stream"}

    def send(
        self, message: object, method: str = "POST", headers: dict[str, str] | None = None
    ) -> HttpResponse:
        return self._client.generic(  # type: ignore[return-value]
            method,
            "/mcp",
            json.dumps(message),
            content_type="application/json",
            headers={**self._headers, **(headers or {})},
        )

    def result(self, tool: str, **arguments: Any) -> Json:
        called = {"name": tool, "arguments": arguments}
        response = self.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": called})
        assert response.status_code == 200, response.content
        result: Json = json.loads(response.content)["result"]
        return result

    def call(self, tool: str, **arguments: Any) -> Json:
        result = self.result(tool, **arguments)
        assert not result.get("isError"), result
        return dict(result["structuredContent"])

    def refused(self, tool: str, **arguments: Any) -> str:
        result = self.result(tool, **arguments)
        assert result["isError"] is True
        told: str = result["content"][0]["text"]
        assert result["structuredContent"]["error"]["message"] == told
        return told

    def verdict(self, tool_name: str, **given: Any) -> Json:
        """What Claude Code would read from the permission tool."""
        result = self.result("approve_tool_use", tool_name=tool_name, input=given)
        assert not result.get("isError")
        assert "structuredContent" not in result
        [content] = result["content"]
        verdict: Json = json.loads(content["text"])
        return verdict
