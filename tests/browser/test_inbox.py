"""The inbox in a real browser: with keys only, on a phone, in the dark, and without scripts."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Locator, Page, ViewportSize, expect

from feedback.models import FeedbackRequest, FeedbackResponse
from runs.domain.values.actors import Role
from runs.models import Project, Run
from tests import factories as f
from tests.browser.conftest import OpenAs, settle
from tests.browser.test_accessibility import faults
from tests.browser.test_pages import HARD_TO_READ, IS_DARK, WIDER_THAN_THE_SCREEN

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PHONE: ViewportSize = {"width": 390, "height": 844}
PROMPTS = ("Review the plan", "It failed, what now?", "Which one of the three?")


def asks(prompt: str, *, hours: int = 0, project: str = "Acme/App", **fields: object) -> Run:
    run = f.started(f.five_steps(), work_id="258")
    of, _ = Project.objects.get_or_create(name=project)
    Run.objects.filter(pk=run.pk).update(project=of)
    moment = timezone.now() - timedelta(hours=hours)
    FeedbackRequest.objects.filter(run=run).update(
        project=of, prompt=prompt, own_title=prompt, requested_at=moment, ranked_at=moment, **fields
    )
    return run


@pytest.fixture
def three(roles: None) -> list[Run]:
    plan, failed, which = PROMPTS
    return [
        asks(plan, hours=30, project="Acme/Shop"),
        asks(failed, hours=2, type="error_resolution", phase="build"),
        asks(which, hours=1, type="selection", reviewers=["otto"]),
    ]


def opened(open_as: OpenAs, **options: Any) -> Page:
    """The inbox with its scripts in place, as it is before anybody can press a key."""
    page = open_as(**options)
    page.wait_for_load_state()
    return page


def link(page: Page, prompt: str) -> Locator:
    return page.get_by_role("link", name=prompt)


def titles(page: Page) -> Locator:
    return page.locator(".row-link")


@pytest.mark.usefixtures("three")
def test_the_whole_way_with_keys_only(open_as: OpenAs) -> None:
    page = opened(open_as)

    page.keyboard.press("j")
    expect(link(page, PROMPTS[0])).to_be_focused()
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("j")
    expect(link(page, PROMPTS[2])).to_be_focused()
    page.keyboard.press("k")
    expect(link(page, PROMPTS[1])).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name=PROMPTS[1])).to_be_visible()

    page.wait_for_load_state()
    page.keyboard.press("g")
    page.keyboard.press("r")
    expect(page.get_by_role("heading", name="Runs", exact=True)).to_be_visible()
    page.wait_for_load_state()
    page.keyboard.press("g")
    page.keyboard.press("i")
    expect(page.get_by_role("heading", name="Inbox")).to_be_visible()
    assert not FeedbackResponse.objects.exists()


@pytest.mark.usefixtures("three")
def test_a_search_by_keys_ends_in_what_it_found(open_as: OpenAs) -> None:
    page = opened(open_as)

    page.keyboard.press("/")
    search = page.get_by_role("searchbox")
    expect(search).to_be_focused()
    page.keyboard.type("jk? failed")
    expect(search).to_have_value("jk? failed")
    expect(page.get_by_text("No matching requests")).to_be_visible()
    search.fill("failed")
    expect(titles(page)).to_have_text([PROMPTS[1]])
    page.keyboard.press("Enter")
    expect(link(page, PROMPTS[1])).to_be_focused()


@pytest.mark.usefixtures("three")
def test_keys_with_a_modifier_are_left_to_the_browser(open_as: OpenAs) -> None:
    page = opened(open_as)

    for keys in ("Control+j", "Alt+k", "Meta+j"):
        page.keyboard.press(keys)

    assert page.evaluate("document.activeElement === document.body")


@pytest.mark.usefixtures("three")
def test_help_is_a_key_and_a_button_away_and_keys_can_be_switched_off(open_as: OpenAs) -> None:
    page = opened(open_as)
    keys = page.get_by_role("dialog", name="Keyboard shortcuts")

    page.keyboard.press("?")
    expect(keys).to_contain_text("Open the selected request")
    page.keyboard.press("j")
    page.keyboard.press("Escape")
    expect(keys).to_be_hidden()
    page.get_by_role("button", name="Keyboard shortcuts").click()
    page.get_by_label("Use single-key shortcuts").uncheck()
    page.get_by_role("button", name="Close").click()

    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.className") != "row-link"
    page.reload()
    page.wait_for_load_state()
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.className") != "row-link"


@pytest.mark.usefixtures("three")
def test_a_filter_works_at_once_and_is_in_the_address(open_as: OpenAs) -> None:
    page = opened(open_as)
    page.evaluate("window.stayed = true")

    page.get_by_label("Phase").select_option("Build")
    expect(titles(page)).to_have_text([PROMPTS[1]])
    expect(page.get_by_role("status").filter(has_text="1 of 3 open")).to_be_visible()
    expect(page).to_have_url(re.compile(r"/\?phase=build$"))

    page.get_by_label("Phase").select_option("")
    page.get_by_label("For me").check(force=True)
    expect(titles(page)).to_have_text(list(PROMPTS[:2]))
    expect(page).to_have_url(re.compile(r"/\?mine=1$"))
    page.get_by_role("link", name="Review 1").click()
    expect(titles(page)).to_have_text([PROMPTS[0]])
    expect(page).to_have_url(re.compile(r"/\?type=review&mine=1$"))
    settle(page)
    page.get_by_label("Project", exact=True).select_option("Acme/Shop")
    expect(page).to_have_url(re.compile(r"/\?project=Acme%2FShop&type=review&mine=1$"))
    assert page.evaluate("window.stayed")

    page.reload()
    expect(page.get_by_label("For me")).to_be_checked()
    expect(titles(page)).to_have_text([PROMPTS[0]])


@pytest.mark.usefixtures("three")
def test_going_back_takes_the_filter_off_again(open_as: OpenAs) -> None:
    page = opened(open_as)
    page.get_by_role("link", name="Selection 1").click()
    expect(titles(page)).to_have_text([PROMPTS[2]])

    page.go_back()

    expect(titles(page)).to_have_text(list(PROMPTS))
    expect(page).to_have_url(re.compile(r"/$"))


@pytest.mark.usefixtures("three")
def test_typing_keeps_the_focus_and_one_address(open_as: OpenAs) -> None:
    page = opened(open_as)
    before = page.evaluate("history.length")

    page.get_by_role("searchbox").press_sequentially("plan", delay=120)

    expect(titles(page)).to_have_text([PROMPTS[0]])
    expect(page).to_have_url(re.compile(r"/\?q=plan$"))
    expect(page.get_by_role("searchbox")).to_be_focused()
    assert page.evaluate("history.length") == before + 1


def test_a_new_request_arrives_and_the_selection_stays(open_as: OpenAs, three: list[Run]) -> None:
    page = opened(open_as)
    page.evaluate("window.stayed = true")
    page.keyboard.press("j")
    page.keyboard.press("j")

    asks("Much older than all", hours=99)

    expect(titles(page)).to_have_text(["Much older than all", *PROMPTS])
    expect(link(page, PROMPTS[1])).to_be_focused()
    expect(page.get_by_role("status").filter(has_text="4 open")).to_be_visible()
    expect(page.locator("#open-count")).to_contain_text("4")
    expect(page).to_have_title("(4) Inbox · FABER")
    assert page.evaluate("window.stayed")

    f.answer(three[1], "approve")
    expect(titles(page)).to_have_count(3)
    expect(link(page, PROMPTS[2])).to_be_focused()


HIDE = """() => {
    Object.defineProperty(document, "hidden", {get: () => true, configurable: true});
    document.dispatchEvent(new Event("visibilitychange"));
}"""


@pytest.mark.usefixtures("three")
def test_a_hidden_tab_still_counts_in_its_title_and_its_icon(open_as: OpenAs) -> None:
    page = opened(open_as)
    page.clock.install()
    page.goto("/runs/")
    expect(page).to_have_title("(3) Runs · FABER")
    page.evaluate(
        "document.addEventListener('waiting', (event) => { window.heard = event.detail; })"
    )
    page.evaluate(HIDE)

    asks("A fourth")
    page.clock.run_for(21_000)

    expect(page).to_have_title("(4) Runs · FABER")
    expect(page.locator("link[rel=icon]")).to_have_attribute("href", "/favicon/4.svg")
    expect(page.locator("#open-count")).to_have_text("4 waiting")
    assert page.evaluate("[window.heard.before, window.heard.count]") == [3, 4]


@pytest.mark.usefixtures("three")
def test_what_is_in_sight_does_not_move_when_something_arrives_above_it(open_as: OpenAs) -> None:
    for number in range(20):
        asks(f"Number {number}")
    page = opened(open_as, viewport={"width": 1000, "height": 500})
    seen = link(page, "Number 19")
    seen.focus()
    before = seen.bounding_box()

    asks("Much older than all", hours=99)
    expect(titles(page).first).to_have_text("Much older than all")

    after = seen.bounding_box()
    assert before
    assert after
    assert abs(after["y"] - before["y"]) < 2


@pytest.mark.usefixtures("three")
def test_a_filter_stays_while_news_arrive_and_new_projects_can_be_chosen(open_as: OpenAs) -> None:
    page = opened(open_as)
    page.goto("/?q=plan")

    asks("A second plan", project="Acme/New")
    asks("Something else")

    expect(titles(page)).to_have_text([PROMPTS[0], "A second plan"])
    expect(page.get_by_role("status").filter(has_text="2 of 5 open")).to_be_visible()
    settle(page)
    page.get_by_label("Project", exact=True).select_option("Acme/New")
    expect(titles(page)).to_have_text(["A second plan"])


@pytest.mark.parametrize("query", ["q=nowhere&phase=build", "q=plan&type=review"])
@pytest.mark.usefixtures("three")
def test_clear_filters_brings_everything_back(open_as: OpenAs, query: str) -> None:
    page = opened(open_as)
    page.goto(f"/?{query}")

    page.get_by_role("link", name="Clear filters").click()

    expect(titles(page)).to_have_count(3)
    expect(page.get_by_role("searchbox")).to_have_value("")


def test_the_first_request_of_all_arrives_in_an_empty_inbox(open_as: OpenAs) -> None:
    page = opened(open_as)
    expect(page.get_by_text("faber run demo")).to_be_visible()
    expect(page.get_by_role("searchbox")).to_be_hidden()

    asks("The first of all")

    expect(link(page, "The first of all")).to_be_visible()
    expect(page.get_by_role("searchbox")).to_be_visible()
    expect(page.get_by_text("faber run demo")).to_have_count(0)


def test_a_theme_is_chosen_in_the_menu_and_stays(open_as: OpenAs) -> None:
    page = opened(open_as, color_scheme="light")
    assert page.evaluate(IS_DARK) is False

    page.get_by_label("Account of rita").click()
    page.get_by_role("button", name="Dark").click()
    expect(page.get_by_role("button", name="Dark")).to_have_attribute("aria-pressed", "true")
    assert page.evaluate(IS_DARK) is True

    page.reload()
    assert page.evaluate(IS_DARK) is True
    page.get_by_label("Account of rita").click()
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Sign out")).to_be_hidden()


@pytest.mark.usefixtures("three")
def test_without_javascript_everything_is_a_form_or_a_link(open_as: OpenAs) -> None:
    page = open_as(java_script_enabled=False)

    page.get_by_label("Search").fill("plan")
    page.get_by_label("Phase").select_option("Architect")
    page.get_by_role("button", name="Apply").click()
    expect(titles(page)).to_have_text([PROMPTS[0]])
    expect(page).to_have_url(re.compile(r"\?q=plan&"))
    page.get_by_label("Search").fill("")
    page.get_by_role("button", name="Apply").click()
    page.get_by_role("link", name="Selection 1").click()
    expect(titles(page)).to_have_text([PROMPTS[2]])
    expect(page.get_by_role("button", name="Keyboard shortcuts")).to_be_hidden()

    page.get_by_label("Account of rita").click()
    page.get_by_role("button", name="Dark").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    expect(titles(page)).to_have_text([PROMPTS[2]])


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.usefixtures("three")
def test_it_fits_a_phone_and_a_finger_and_can_be_read(open_as: OpenAs, scheme: str) -> None:
    asks("A-very-long-word-" * 20, hours=50, project="an-organisation/" + "a-long-name" * 8)
    options: dict[str, Any] = {"viewport": PHONE, "has_touch": True, "is_mobile": True}
    page = open_as("ada", Role.ADMIN, color_scheme=scheme, **options)

    for address in ("/", "/?q=nowhere", "/?type=review&mine=1"):
        page.goto(address)
        assert page.evaluate(WIDER_THAN_THE_SCREEN) == 0, address
        assert page.evaluate(HARD_TO_READ) == [], address
        assert page.evaluate(TOO_SMALL) == [], address
    page.get_by_label("Account of ada").click()
    assert page.evaluate(WIDER_THAN_THE_SCREEN) == 0
    assert page.evaluate(HARD_TO_READ) == []
    assert page.evaluate(TOO_SMALL) == []
    assert page.evaluate(IS_DARK) is (scheme == "dark")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_state_of_it_can_be_read(open_as: OpenAs, three: list[Run], scheme: str) -> None:
    page = opened(open_as, color_scheme=scheme)
    for address in ("/", "/?q=nowhere"):
        page.goto(address)
        assert page.evaluate(HARD_TO_READ) == [], address
    page.goto("/")
    page.keyboard.press("j")
    page.get_by_label("Account of rita").click()
    assert page.evaluate(HARD_TO_READ) == []
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    assert page.evaluate(HARD_TO_READ) == []
    FeedbackRequest.objects.all().delete()
    page.goto("/")
    assert page.evaluate(HARD_TO_READ) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.usefixtures("three")
def test_axe_finds_nothing(open_as: OpenAs, scheme: str) -> None:
    page = opened(open_as, color_scheme=scheme)
    for address in ("/", "/?q=nowhere", "/?type=review&mine=1"):
        page.goto(address)
        page.wait_for_load_state()
        assert faults(page) == [], address
    page.get_by_label("Account of rita").click()
    assert faults(page) == []
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    assert faults(page) == []


# What can be pressed and is smaller than a fingertip, unless it stands in a sentence.
TOO_SMALL = """() => [...document.querySelectorAll("a, button, input, select, summary")]
  .filter((e) => e.checkVisibility() && !e.matches(".skip-link, [type=hidden], :disabled"))
  .filter((e) => !e.closest("p") && e.checkVisibility({ contentVisibilityAuto: true }))
  .map((e) => e.closest("label, .row") || e)
  .map((e) => [e.textContent.trim().slice(0, 30) || e.name, e.getBoundingClientRect().height])
  .filter(([, height]) => height < 44)
"""


def test_the_inbox_is_sorted_and_narrowed_where_it_stands(open_as: OpenAs) -> None:
    asks("Beta", hours=3, agent="claude", cost_usd=0.5)
    asks("Alpha", hours=2, agent="codex", round=2)
    page = opened(open_as)
    expect(titles(page)).to_have_text(["Beta", "Alpha"])

    page.get_by_label("Sort by").select_option("title")
    expect(titles(page)).to_have_text(["Alpha", "Beta"])
    settle(page)
    page.get_by_label("Agent").select_option("claude")

    expect(titles(page)).to_have_text(["Beta"])
    expect(page).to_have_url(re.compile(r"\?agent=claude&sort=title$"))
    page.reload()
    expect(titles(page)).to_have_text(["Beta"])
    expect(page.get_by_label("Sort by")).to_have_value("title")
