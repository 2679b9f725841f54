"""Asking the agent in a real browser: nothing typed is lost, the answer comes by itself."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from feedback.models import FeedbackRequest
from feedback.requests.inquiries import asking
from tests import factories as f
from tests.browser.conftest import OpenAs
from tests.fake_agents.programs import FakeAgents
from tests.jobs import work_off

pytestmark = pytest.mark.browser


def planned(agents: FakeAgents, folder: Path) -> FeedbackRequest:
    agents.will_say({"status": "success", "message": "Planned."}, "Nobody **filters** by it.")
    step: f.Json = {"id": "plan", "prompt": "Plan it.", "requires_approval": True}
    return f.pending(f.started(f.workflow({"architect": [step]}), folder))


def test_a_question_is_sent_beside_a_comment_in_the_making(
    open_as: OpenAs, agents: FakeAgents, tmp_path: Path
) -> None:
    asked = planned(agents, tmp_path)
    page = open_as()
    page.goto(f"/requests/{asked.request_id}/")
    page.get_by_label("Comment", exact=True).fill("In the making")
    page.get_by_text("Ask the agent").click()
    question = page.get_by_label("Message to the agent")
    question.fill("Why no index?")

    page.get_by_role("button", name="Ask", exact=True).click()

    expect(page.get_by_text("Waiting for claude")).to_be_visible()
    expect(page.locator("#thread-news")).to_contain_text("Question sent to claude")
    expect(question).to_have_value("")
    question.fill("One more")
    work_off()
    answer = page.locator("#thread-entries strong", has_text="filters")
    expect(answer).to_be_visible(timeout=15_000)
    expect(question).to_have_value("One more")
    expect(page.get_by_label("Comment", exact=True)).to_have_value("In the making")
    page.reload()
    expect(page.get_by_label("Message to the agent")).to_have_value("One more")
    expect(page.get_by_role("button", name="Approve")).to_be_visible()


def test_a_long_thread_leaves_the_decision_in_sight(
    open_as: OpenAs, agents: FakeAgents, tmp_path: Path
) -> None:
    asked = planned(agents, tmp_path)
    agents.will_say("\n\n".join(f"Reason {number}." for number in range(60)))
    asking.ask(asked.request_id, "Why no index?", actor=f.STARTER)
    work_off()
    page = open_as(viewport={"width": 1440, "height": 900})
    page.goto(f"/requests/{asked.request_id}/")

    expect(page.get_by_text("Reason 59.")).to_be_visible()
    page.get_by_text("Reason 59.").scroll_into_view_if_needed()

    expect(page.get_by_role("button", name="Reject")).to_be_in_viewport(ratio=1)
    assert page.locator("#desk").evaluate("desk => desk.scrollHeight <= desk.clientHeight")
