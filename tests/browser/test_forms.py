"""Forms with types, long lists and the demo's guide, in a browser; with scripts and without."""

from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, ViewportSize, expect
from pytest_django import Settings

from feedback.models import FeedbackRequest, FeedbackResponse
from runs import demo
from runs.domain.values.actors import Role
from tests import factories as f
from tests.browser.conftest import OpenAs
from tests.browser.test_pages import HARD_TO_READ, WIDER_THAN_THE_SCREEN

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PHONE: ViewportSize = {"width": 390, "height": 844}
LOW_CHOICES = """() => [...document.querySelectorAll(".choices label")]
  .filter((e) => e.getBoundingClientRect().height < 44).map((e) => e.textContent.trim())"""
LAPTOP: ViewportSize = {"width": 1440, "height": 900}
NAMES = ("Ada", "Bell", "Curie", "Darwin", "Euler", "Fermi", "Gauss", "Hopper")
TEAMS = [f"Team {name}" for name in NAMES]
FORM: list[f.Json] = [
    {"id": "rows", "question": "How many rows?", "type": "number", "required": True},
    {"id": "until", "question": "Until when?", "type": "date"},
    {"id": "zip", "question": "Zip it?", "type": "boolean"},
    {"id": "for", "question": "For which teams?", "type": "multi", "options": list(TEAMS)},
    {"id": "why", "question": "Why?", "type": "text"},
]


@pytest.fixture
def form(roles: None) -> FeedbackRequest:
    asked = f.pending(f.started(f.workflow({"build": [f.step("ask", "tests.steps:ask")]})))
    asked.context = {**asked.context, "questions": FORM}
    asked.save()
    return asked


@pytest.fixture
def selection(roles: None) -> FeedbackRequest:
    asked = f.pending(f.started(f.five_steps()))
    asked.options = [
        {"value": name, "label": name, "action": "continue", "description": f"Ask {name}"}
        for name in [*TEAMS, *(f"Office {number}" for number in range(4))]
    ]
    asked.type = "selection"
    asked.save()
    return asked


@pytest.fixture
def review(roles: None, settings: Settings, tmp_path: Path) -> FeedbackRequest:
    """The demo's first question."""
    settings.FABER_DATA_DIR = tmp_path
    return f.pending(f.work(demo.start_demo()))


def path(asked: FeedbackRequest) -> str:
    return f"/requests/{asked.request_id}/"


def without_drafts(page: Page) -> None:
    """A draft that is overtaken by the answer is told in the console, and is another's test."""
    page.evaluate("document.getElementById('draft').remove()")


def looks_right(page: Page) -> None:
    assert page.evaluate(WIDER_THAN_THE_SCREEN) == 0
    assert page.evaluate(HARD_TO_READ) == []
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [LAPTOP, PHONE], ids=["desk", "phone"])
def test_forms_lists_and_the_guide_are_readable(
    open_as: OpenAs,
    form: FeedbackRequest,
    selection: FeedbackRequest,
    review: FeedbackRequest,
    scheme: str,
    viewport: ViewportSize,
) -> None:
    page = open_as("olga", Role.OPERATOR, color_scheme=scheme, viewport=viewport)

    for address in ("/", path(form), path(selection), path(review), "/start/"):
        page.goto(address)
        looks_right(page)
        if viewport == PHONE and address == path(form):
            assert page.evaluate(LOW_CHOICES) == []


def test_a_typed_form_is_filled_in_and_what_is_wrong_stands_beside_it(
    open_as: OpenAs, form: FeedbackRequest
) -> None:
    page = open_as()
    page.goto(path(form))

    without_drafts(page)
    page.get_by_label("Until when?").fill("2027-01-31")
    page.get_by_label("Team Curie").check()
    page.get_by_role("button", name="Send answer").click()
    expect(page.get_by_text("This needs an answer.")).to_be_visible()
    expect(page.get_by_label("Until when?")).to_have_value("2027-01-31")
    looks_right(page)
    without_drafts(page)
    page.get_by_label("How many rows?").fill("1200")
    page.get_by_label("Yes").check()
    page.get_by_role("button", name="Send answer").click()

    expect(page.get_by_role("complementary")).to_contain_text("rita answered")
    given = FeedbackResponse.objects.get()
    assert given.values == {"rows": 1200, "until": "2027-01-31", "zip": True, "for": ["Team Curie"]}


def test_typing_leaves_the_options_that_fit(
    open_as: OpenAs, form: FeedbackRequest, selection: FeedbackRequest
) -> None:
    page = open_as()
    page.goto(path(form))
    without_drafts(page)
    page.get_by_label("Filter 8 options").fill("cur")
    expect(page.get_by_label("Team Curie")).to_be_visible()
    expect(page.get_by_label("Team Ada")).to_be_hidden()
    page.get_by_label("Filter 8 options").press("Enter")
    expect(page.get_by_label("Team Curie")).to_be_checked()
    assert not FeedbackResponse.objects.exists()

    page.goto(path(selection))
    page.get_by_label("Filter 12 options").fill("gauss")
    page.get_by_label("Filter 12 options").press("Enter")
    expect(page.get_by_role("button", name="Team Gauss")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("complementary")).to_contain_text("rita chose Team Gauss")


def test_without_scripts_the_whole_list_is_there_and_the_guide_can_be_hidden(
    open_as: OpenAs, form: FeedbackRequest, review: FeedbackRequest
) -> None:
    page = open_as(java_script_enabled=False)
    page.get_by_role("button", name="Hide this guide").click()
    expect(page.get_by_role("heading", name="Inbox")).to_be_visible()
    expect(page.get_by_text("Demo guide")).to_have_count(0)

    page.goto(path(form))
    expect(page.get_by_label("Filter 8 options")).to_be_hidden()
    page.get_by_label("How many rows?").fill("7")
    page.get_by_label("Team Hopper").check()
    page.get_by_role("button", name="Send answer").click()

    expect(page.get_by_role("complementary")).to_contain_text("rita answered")
    assert FeedbackResponse.objects.get().values == {"rows": 7, "for": ["Team Hopper"]}
