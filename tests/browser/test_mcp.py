"""An agent asks through MCP, a person answers in the browser, and the agent's call returns it."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page
from pytest_django.live_server_helper import LiveServer

from feedback.mcp import http_transport as served
from feedback.models import FeedbackRequest
from runs.accounts import tokens
from runs.domain.values.actors import Scope
from tests.browser.conftest import OpenAs
from tests.mcp_clients import Agent, connected, over_http, over_stdio, text_of, this_database

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture(params=["http", "stdio"])
def agent(
    request: pytest.FixtureRequest, roles: None, live_server: LiveServer, tmp_path: Path
) -> Iterator[Agent]:
    if request.param == "http":
        way = over_http(live_server.url, tokens.create("laptop", scope=Scope.AGENT)[1])
    else:
        way = over_stdio(tmp_path, FABER_DATABASE_URL=this_database())  # type: ignore[assignment]
    with connected(way) as client:
        yield client


def opened(page: Page, request_id: str) -> None:
    page.goto(f"/requests/{request_id}/")


def test_a_person_answers_in_the_browser_and_the_call_returns_it(
    agent: Agent, open_as: OpenAs
) -> None:
    page = open_as("rita")
    asked = agent.call(
        "ask_human",
        type="review",
        prompt="Is the plan good?",
        artifact={"path": "plan.md", "content": "# Plan\n\nDrop the old table.\n"},
    )
    waits = agent.start("wait_for_answer", request_id=asked["request_id"], timeout=50)

    page.goto(f"/requests/{asked['request_id']}/")
    page.get_by_text("Drop the old table.").first.wait_for()
    page.get_by_label("Comment", exact=True).fill("Keep a copy of it.")
    with page.expect_response(re.compile(f"/{asked['request_id']}/$")):
        page.get_by_role("button", name="Request changes").click()
    settled = waits.result(timeout=55).structured_content

    assert settled is not None
    assert settled["settled"] is True
    response = settled["response"]
    assert (response["response"], response["action"]) == ("request_changes", "revise")
    assert response["comment"] == "Keep a copy of it."
    assert (response["provided_by"]["user"], response["provided_by"]["source"]) == ("rita", "web")


def test_a_person_lets_claude_code_use_a_tool(agent: Agent, open_as: OpenAs) -> None:
    page = open_as("rita")
    given = {"command": "make deploy"}
    waits = agent.start("approve_tool_use", tool_name="Bash", input=given, tool_use_id="toolu_1")

    page.goto("/")
    page.get_by_role("link", name=re.compile(r"^Allow Bash: ")).click()
    page.get_by_role("button", name="Confirm").click()

    assert text_of(waits.result(timeout=served.PATIENCE + 5)) == (
        '{"behavior": "allow", "updatedInput": {"command": "make deploy"}}'
    )
    assert FeedbackRequest.objects.get().run.status in ("completed", "in_progress")
