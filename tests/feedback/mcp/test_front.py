"""A client is greeted before the server behind is there, in the server's own words."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from feedback.mcp import front, greeting
from tests.commands import CHECKOUT, FABER, environment
from tests.sites import seed

VERSION = "io.modelcontextprotocol/protocolVersion"
ENVELOPE = {VERSION: "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "a", "version": "1"},
}


def asked(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}


def test_the_greeting_is_what_the_server_says() -> None:
    with ThreadPoolExecutor(1) as aside:  # a browser test may have left a loop in this thread
        said = aside.submit(greeting.greeting).result()

    assert front.greeting() == said, greeting.__doc__


@pytest.mark.parametrize(
    ("wanted", "given"), [("2024-11-05", "2024-11-05"), ("2099-01-01", "2025-11-25")]
)
def test_a_known_version_of_the_protocol_is_taken_and_another_answered_with_the_newest(
    wanted: str, given: str
) -> None:
    result = front.answer(asked("initialize", protocolVersion=wanted))

    assert result is not None
    assert result["protocolVersion"] == given


@pytest.mark.parametrize(
    "message",
    [
        asked("tools/call", name="list_pending", arguments={}),
        asked("tools/list", _meta={VERSION: "2099-01-01"}),
        asked("initialize"),
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 1, "result": {}},
    ],
    ids=lambda message: str(message.get("method", "an answer")),
)
def test_what_only_the_server_knows_is_left_to_it(message: dict[str, Any]) -> None:
    assert front.answer(message) is None


def test_a_client_that_never_greets_hears_at_once_what_there_is() -> None:
    found = front.answer(asked("server/discover", _meta=ENVELOPE))
    listed = front.answer(asked("tools/list", _meta=ENVELOPE))

    assert found is not None
    assert listed is not None
    assert found["supportedVersions"] == ["2026-07-28"]
    assert "approve_tool_use" in [tool["name"] for tool in listed["tools"]]
    assert found["resultType"] == listed["resultType"] == "complete"


@pytest.mark.slow
@pytest.mark.parametrize("envelope", [{"_meta": ENVELOPE}, {}], ids=["without", "with"])
def test_who_asks_what_there_is_may_go_on_with_and_without_a_greeting(
    tmp_path: Path, envelope: dict[str, Any]
) -> None:
    seed(tmp_path / "data")
    greets = [] if envelope else [asked("initialize", **HELLO)]
    calls = asked("tools/call", name="list_pending", arguments={}, **envelope)
    said = [asked("server/discover", _meta=ENVELOPE), *greets, calls]

    with subprocess.Popen(
        [FABER, "mcp"],
        env=environment(tmp_path),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as client:
        assert client.stdin
        assert client.stdout
        client.stdin.write("".join(json.dumps(each) + "\n" for each in said))
        client.stdin.flush()
        *_, pending = [json.loads(client.stdout.readline()) for _ in said]
        client.stdin.close()

    assert pending["result"]["structuredContent"] == {"items": [], "next_cursor": None}


@pytest.mark.slow
def test_a_client_is_greeted_even_where_no_server_can_start(tmp_path: Path) -> None:
    hello = json.dumps(asked("initialize", **HELLO)) + "\n" + json.dumps(asked("tools/list")) + "\n"

    done = subprocess.run(
        [FABER, "mcp"],
        env=environment(tmp_path),
        input=hello,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    greeted, listed = map(json.loads, done.stdout.splitlines())
    assert greeted["result"]["protocolVersion"] == "2025-06-18"
    assert "approve_tool_use" in [tool["name"] for tool in listed["result"]["tools"]]
    assert done.returncode == 6
    assert done.stderr.startswith(f"There is no FABER site in {tmp_path}/data/faber.sqlite3.")


@pytest.mark.parametrize("module", ["faber_site.cli", "feedback.mcp.front"])
def test_what_an_agent_waits_for_loads_neither_django_nor_the_protocol(module: str) -> None:
    code = f"import {module}, sys; print({{'django', 'mcp', 'pydantic'}} & {{*sys.modules}})"

    done = subprocess.run(
        [sys.executable, "-c", code], cwd=CHECKOUT, capture_output=True, text=True, check=True
    )

    assert done.stdout == "set()\n"
