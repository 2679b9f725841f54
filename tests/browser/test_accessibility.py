"""axe-core looks at every page, in the light and in the dark."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Frame, Page

from feedback.models import FeedbackRequest
from runs.domain.values.actors import Role
from tests import factories as f
from tests.browser.conftest import OpenAs
from tests.browser.test_thread import planned
from tests.fake_agents.programs import FakeAgents
from tests.jobs import work_off

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def asked(roles: None, tmp_path: Path) -> FeedbackRequest:
    """The second round of a review, so that every part of the desk is on the page."""
    first = f.reviewed_list(tmp_path)
    f.answer(first.run, "request_changes", "Name the shop.")
    return f.pending(f.work(first.run))


# All that the colour scheme has to do with.
COLOURS = ("color-contrast", "link-in-text-block")
COLOURS_HAVE_CHANGED = "() => Promise.all(document.getAnimations().map(({ finished }) => finished))"


def faults(page: Page | Frame, *, frames: bool = True, rules: Sequence[str] = ()) -> list[str]:
    """What is wrong with a page, by these rules or by all."""
    page.wait_for_load_state()  # before its style sheets are there, nothing has its colour
    options: dict[str, Any] = {"iframes": frames, "preload": frames}
    options["resultTypes"] = ["violations"]  # to describe what is right takes longest
    if rules:
        options["runOnly"] = list(rules)
    found: dict[str, Any] = Axe().run(page, options=options).response
    return [
        f"{fault['id']}: {fault['help']} {[node['target'] for node in fault['nodes'][:3]]}"
        for fault in found["violations"]
        if isinstance(page, Page) or fault["id"] != "page-has-heading-one"  # a frame is no page
    ]


def test_axe_sees_a_fault_when_there_is_one(page: Page) -> None:
    page.set_content("<main><button></button></main>")

    assert "button-name" in " ".join(faults(page))


def every_page(asked: FeedbackRequest) -> Iterator[str]:
    failed = f.pending(f.started(f.workflow({"build": [f.step("x", "tests.steps:fail")]})))
    question = f.pending(f.started(f.workflow({"build": [f.step("x", "tests.steps:ask")]})))
    done = f.started(f.workflow({"build": [f.step("x")]}))
    answered = asked.run.requests.earliest("id")
    yield from ("/", "/?q=nothing-like-this", "/runs/", "/audit/", "/statistics/", "/costs/")
    yield from ("/account/sessions/", "/account/tokens/", "/account/notices/", "/api/v1/docs")
    yield from ("/start/", "/projects/", "/projects/Acme/App/", "/batches/", "/doctor/")
    yield from ("/account/stand-in/", "/rules/", "/webhooks/", "/github/setup")
    yield from ("/docs/", "/docs/tutorial/", "/docs/workflow-keys/", "/docs/search/?q=gate")
    for view in ("changes", "lines", "document", "source"):
        yield f"/requests/{asked.request_id}/?view={view}"
    yield f"/requests/{asked.request_id}/?view=source&line=3"
    for request in (failed, question, answered):
        yield f"/requests/{request.request_id}/"
    for run in (asked.run, failed.run, done):
        yield f"/runs/{run.run_id}/"
    for package in ("1/", "2/?with=1"):
        yield f"/runs/{asked.run.run_id}/context/{package}"


@pytest.mark.timeout(300)
def test_no_page_has_a_fault(open_as: OpenAs, asked: FeedbackRequest) -> None:
    page = open_as("olga", Role.OPERATOR)

    found = {}
    for address in every_page(asked):
        page.emulate_media(color_scheme="light")
        page.goto(address)
        found[address] = faults(page)
        page.emulate_media(color_scheme="dark")
        page.evaluate(COLOURS_HAVE_CHANGED)
        found[f"{address} in the dark"] = faults(page, rules=COLOURS)

    assert {address: wrong for address, wrong in found.items() if wrong} == {}


def test_the_pages_before_signing_in_have_no_fault(
    roles: None, live_server: Any, page: Page
) -> None:
    for address in ("/login/", "/login/link/nonsense/", "/nowhere/"):
        page.goto(f"{live_server.url}{address}")
        assert faults(page) == [], address


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_thread_of_questions_has_no_fault(
    open_as: OpenAs, agents: FakeAgents, tmp_path: Path, scheme: str
) -> None:
    asked = planned(agents, tmp_path)
    page = open_as(color_scheme=scheme)
    page.goto(f"/requests/{asked.request_id}/")
    page.get_by_text("Ask the agent").click()
    page.get_by_label("Message to the agent").fill("Why no index?")
    page.get_by_role("button", name="Ask", exact=True).click()
    page.get_by_text("Waiting for claude").wait_for()
    assert faults(page) == []
    work_off()
    page.locator("#thread-entries strong", has_text="filters").wait_for()

    assert faults(page) == []


def test_an_open_field_for_a_remark_has_no_fault(open_as: OpenAs, asked: FeedbackRequest) -> None:
    page = open_as()
    page.goto(f"/requests/{asked.request_id}/?view=document")
    page.get_by_role("button", name="Comment on line 3", exact=True).click()
    page.get_by_role("textbox", name="Comment on line 3").wait_for()

    assert faults(page) == []
