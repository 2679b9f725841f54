"""A reviewer at the desk: remarks, drafts, undo, rounds; by mouse, by keyboard, without scripts."""

import re
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, ViewportSize, expect
from pytest_django import Settings

from feedback.models import FeedbackRequest, FeedbackResponse
from runs.domain.values.actors import Role
from tests import factories as f
from tests.browser.conftest import OpenAs
from tests.browser.test_inbox import TOO_SMALL
from tests.browser.test_pages import HARD_TO_READ, WIDER_THAN_THE_SCREEN

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PHONE: ViewportSize = {"width": 390, "height": 844}


@pytest.fixture
def asked(roles: None, tmp_path: Path) -> FeedbackRequest:
    return f.reviewed_list(tmp_path)


@pytest.fixture
def undo_time(settings: Settings) -> None:
    settings.FABER_UNDO_SECONDS = 60  # long enough for the slowest machine


def path(asked: FeedbackRequest) -> str:
    return f"/requests/{asked.request_id}/"


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def comment_on(page: Page, line: int, words: str) -> None:
    page.get_by_role("button", name=f"Comment on line {line}", exact=True).click()
    page.get_by_role("textbox", name=f"Comment on line {line}", exact=True).fill(words)
    press(page, "Add comment")
    expect(page.get_by_role("textbox", name=f"Comment on line {line}")).to_have_count(0)


def second_round(page: Page, asked: FeedbackRequest) -> FeedbackRequest:
    page.goto(path(asked))
    comment_on(page, 3, "red")
    comment_on(page, 6, "by card?")
    press(page, "Request changes")
    expect(page.get_by_role("complementary")).to_contain_text("rita chose Request changes")
    return f.pending(f.work(asked.run))


def test_a_line_is_commented_on_where_it_is_read(open_as: OpenAs, asked: FeedbackRequest) -> None:
    page = open_as()
    page.goto(path(asked))

    comment_on(page, 3, "Which kind?")

    mine = page.get_by_role("region", name="Your comments")
    expect(mine).to_contain_text("line 3")
    expect(page.locator(".file .inline-remark")).to_contain_text("Which kind?")
    page.reload()
    expect(page.locator(".file .inline-remark")).to_contain_text("Which kind?")


def test_a_comment_is_changed_and_deleted(open_as: OpenAs, asked: FeedbackRequest) -> None:
    page = open_as()
    page.goto(path(asked))
    comment_on(page, 3, "Which kind?")

    page.get_by_role("link", name="Edit the comment on line 3").click()
    page.get_by_role("textbox", name="Comment on line 3").fill("Which size?")
    page.get_by_role("radio", name="Question").check()
    press(page, "Save comment")
    expect(page.locator(".file .inline-remark")).to_contain_text("Which size?")

    page.get_by_role("button", name="Delete the comment on line 3").click()
    expect(page.locator(".inline-remark")).to_have_count(0)
    expect(page.get_by_role("region", name="Your comments")).to_be_hidden()


def test_keys_stay_at_the_comments_when_one_is_deleted_or_saved(
    open_as: OpenAs, asked: FeedbackRequest
) -> None:
    page = open_as()
    page.goto(path(asked))
    comment_on(page, 3, "First")
    comment_on(page, 6, "Second")
    comments = page.get_by_role("region", name="Your comments")

    comments.get_by_role("link", name="Edit").nth(1).focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Control+Enter")
    expect(comments.get_by_role("link", name="Edit").nth(1)).to_be_focused()
    comments.get_by_role("button", name="Delete").first.focus()
    page.keyboard.press("Enter")
    edit = comments.get_by_role("link", name="Edit")
    expect(edit).to_have_count(1)
    expect(edit).to_be_focused()
    comments.get_by_role("button", name="Delete").focus()
    page.keyboard.press("Enter")

    expect(page.get_by_role("heading", name="Your decision")).to_be_focused()


def test_a_comment_is_edited_in_full_sight_on_a_phone(
    open_as: OpenAs, asked: FeedbackRequest
) -> None:
    page = open_as(viewport={"width": 390, "height": 844})
    page.goto(path(asked))
    comment_on(page, 3, "First\n" * 12)

    page.get_by_role("link", name="Edit").click()

    hidden = "e => e.scrollHeight - e.clientHeight"
    assert page.locator(".remark-list:visible").last.evaluate(hidden) <= 0
    assert page.get_by_role("textbox", name="Comment on line 3").evaluate(hidden) <= 0


def test_no_control_for_a_line_of_the_source_is_cut(
    open_as: OpenAs, asked: FeedbackRequest
) -> None:
    page = open_as()
    page.goto(f"{path(asked)}?view=source")

    outside = "e => e.closest('.source').getBoundingClientRect().x - e.getBoundingClientRect().x"

    assert page.locator(".source .add").first.evaluate(outside) <= 0


def test_a_selection_offers_to_comment_on_its_lines(
    open_as: OpenAs, asked: FeedbackRequest
) -> None:
    page = open_as()
    page.goto(path(asked))

    page.get_by_text("Buy apples.").select_text()
    page.get_by_role("button", name="Comment on lines 3–4").click()
    page.get_by_role("textbox", name="Comment on lines 3–4").fill("Both?")
    press(page, "Add comment")

    expect(page.get_by_role("region", name="Your comments")).to_contain_text("lines 3–4")


def test_words_and_comments_survive_on_another_machine(
    open_as: OpenAs, asked: FeedbackRequest
) -> None:
    page = open_as()
    page.goto(path(asked))
    comment_on(page, 3, "Which kind?")
    page.get_by_label("Comment", exact=True).fill("Half a thought")
    expect(page.get_by_text("Draft saved")).to_be_visible()

    elsewhere = open_as()
    elsewhere.goto(path(asked))

    expect(elsewhere.get_by_label("Comment", exact=True)).to_have_value("Half a thought")
    expect(elsewhere.get_by_role("region", name="Your comments")).to_contain_text("Which kind?")


@pytest.mark.usefixtures("undo_time")
def test_an_answer_is_undone_and_then_given_for_good(
    open_as: OpenAs, asked: FeedbackRequest
) -> None:
    page = open_as()
    page.goto(path(asked))
    page.get_by_label("Comment", exact=True).fill("Fine.")
    press(page, "Approve")
    expect(page.get_by_text("Takes effect in")).to_be_visible()
    expect(page.locator("#open-count")).to_be_hidden()

    press(page, "Undo")

    expect(page.get_by_role("heading", name="Your decision")).to_be_visible()
    expect(page.locator("#open-count")).to_contain_text("1 waiting")
    expect(page.get_by_label("Comment", exact=True)).to_have_value("Fine.")
    assert f.fresh(asked.run).status == "awaiting_feedback"
    press(page, "Approve")
    press(page, "Apply now")
    expect(page.get_by_role("complementary")).to_contain_text("in progress")
    assert [r.state for r in FeedbackResponse.objects.order_by("id")] == ["retracted", "taken"]


def test_the_second_round_opens_on_what_changed(open_as: OpenAs, asked: FeedbackRequest) -> None:
    page = open_as()
    second = second_round(page, asked)

    page.goto(path(second))

    expect(page.locator(".pair ins").first).to_contain_text("red")
    expect(page.get_by_text("revision 2").first).to_be_visible()
    ledger = page.get_by_role("region", name="Response to your review")
    expect(ledger).to_contain_text("Done")
    expect(ledger).to_contain_text("Pears are in season.")
    page.get_by_role("link", name="Changed lines").click()
    expect(page.locator(".file .hunk ins").first).to_be_visible()
    expect(page).to_have_url(f"{page.url.partition('?')[0]}?view=lines")
    page.get_by_role("link", name="Document", exact=True).click()
    comment_on(page, 3, "Redder.")


def test_one_key_arms_an_option_and_only_enter_gives_it(
    open_as: OpenAs, asked: FeedbackRequest
) -> None:
    page = open_as()
    page.goto("/")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    approve = page.get_by_role("button", name="Approve", exact=True)
    expect(approve).to_be_visible()
    page.wait_for_load_state()

    page.keyboard.press("1")
    expect(approve).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.press("1")
    assert not FeedbackResponse.objects.exists()
    page.keyboard.press("Enter")

    expect(page.get_by_text("rita chose Approve")).to_be_visible()


def test_a_key_in_a_field_is_a_letter(open_as: OpenAs, asked: FeedbackRequest) -> None:
    page = open_as()
    page.goto(path(asked))
    page.keyboard.press("c")
    field = page.get_by_label("Comment", exact=True)
    expect(field).to_be_focused()

    page.keyboard.type("1 apple")

    expect(field).to_have_value("1 apple")
    expect(page.locator("[data-armed]")).to_have_count(0)


@pytest.mark.usefixtures("undo_time")
def test_news_of_an_answer_does_not_overtake_applying_it(
    open_as: OpenAs, asked: FeedbackRequest
) -> None:
    page = open_as()
    page.goto(path(asked))
    press(page, "Approve")
    expect(page.get_by_text("Takes effect in")).to_be_visible()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))

    def answer_late(route: Route) -> None:
        response = route.fetch()
        time.sleep(2.2)  # the page would ask twice meanwhile
        route.fulfill(response=response)

    page.route("**/go-now/", answer_late)
    press(page, "Apply now")

    expect(page.get_by_text("Takes effect in")).to_have_count(0)
    page.wait_for_timeout(500)
    assert problems == []


@pytest.mark.usefixtures("undo_time")
def test_from_the_inbox_every_answer_opens_the_next_request(
    open_as: OpenAs, asked: FeedbackRequest
) -> None:
    other = f.pending(f.started(f.workflow({"build": [f.step("x", "tests.steps:fail")]})))
    page = open_as()
    page.locator(".row-link").first.click()

    press(page, "Approve")

    expect(page.get_by_text(other.prompt)).to_be_visible()
    expect(page.get_by_text("Takes effect in")).to_be_visible()
    press(page, "Undo")
    expect(page.locator("h1.prompt")).to_have_text(asked.title)
    expect(page.get_by_role("heading", name="Your decision")).to_be_visible()


def test_two_tabs_give_one_response(open_as: OpenAs, asked: FeedbackRequest) -> None:
    one = open_as()
    one.goto(path(asked))
    two = one.context.new_page()
    two.goto(path(asked))

    press(one, "Approve")
    expect(one.get_by_text("rita chose Approve")).to_be_visible()
    expect(two.get_by_text("rita chose Approve")).to_be_visible()

    expect(two.get_by_role("button", name="Approve", exact=True)).to_have_count(0)
    assert FeedbackResponse.objects.count() == 1


@pytest.mark.usefixtures("undo_time")
def test_all_of_it_works_without_javascript(open_as: OpenAs, asked: FeedbackRequest) -> None:
    page = open_as(java_script_enabled=False)
    page.goto(path(asked))

    page.get_by_role("link", name="Source", exact=True).click()
    page.get_by_role("link", name="Comment on line 3", exact=True).click()
    page.get_by_role("textbox", name="Comment on line 3").fill("Which kind?")
    press(page, "Add comment")
    expect(page.locator("#L3")).to_contain_text("Which kind?")
    page.get_by_label("Comment", exact=True).fill("Nearly.")
    press(page, "Save draft")
    expect(page.get_by_label("Comment", exact=True)).to_have_value("Nearly.")
    press(page, "Request changes")
    press(page, "Undo")
    expect(page.get_by_role("region", name="Your comments")).to_contain_text("Which kind?")
    press(page, "Request changes")
    press(page, "Apply now")

    expect(page.get_by_text("1 line comment")).to_be_visible()
    assert f.fresh(asked.run).status == "in_progress"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_second_round_fits_a_phone_and_can_be_read(
    open_as: OpenAs, asked: FeedbackRequest, scheme: str
) -> None:
    page = open_as(viewport=PHONE, color_scheme=scheme)
    second = second_round(page, asked)

    for view in ("changes", "lines", "document", "source"):
        page.goto(f"{path(second)}?view={view}")
        assert page.evaluate(WIDER_THAN_THE_SCREEN) == 0, view
        assert page.evaluate(HARD_TO_READ) == [], f"{view} ({scheme})"


# Reading


def test_whatever_a_finger_presses_is_large_enough(open_as: OpenAs, asked: FeedbackRequest) -> None:
    page = open_as(viewport=PHONE, has_touch=True)
    page.goto(path(asked))
    comment_on(page, 3, "red")
    page.get_by_role("button", name="Comment on line 6", exact=True).click()
    page.get_by_label("Suggestion").check()
    assert page.evaluate(TOO_SMALL) == []
    assert page.evaluate(NARROW_CONTROLS) == []
    page.goto(f"{path(asked)}?view=source")
    page.wait_for_load_state()
    page.get_by_role("link", name="Comment on line 6", exact=True).click()
    assert page.evaluate(TOO_SMALL) == []
    assert page.evaluate(NARROW_CONTROLS) == []


NARROW_CONTROLS = """() => [...document.querySelectorAll(".add")]
  .filter((e) => e.getBoundingClientRect().width < 44).map((e) => e.ariaLabel)
"""


def test_the_decision_is_two_tab_stops_away_however_long_the_document_is(
    open_as: OpenAs, asked: FeedbackRequest
) -> None:
    text = "".join(f"## Part {number}\n\nWhat it says.\n\n" for number in range(300))
    asked.artifacts.update(content=text.encode(), size=len(text))
    page = open_as()
    page.goto(path(asked))
    page.wait_for_load_state()

    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    skip = page.get_by_role("link", name="Skip to the decision")
    expect(skip).to_be_focused()
    expect(skip).to_be_in_viewport()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Your decision")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.get_by_label("Comment", exact=True)).to_be_focused()
    assert page.locator("#shown .add:not([tabindex='-1'])").count() == 1


def test_the_outline_stays_in_sight_and_says_where_one_is(
    open_as: OpenAs, asked: FeedbackRequest
) -> None:
    text = "".join(f"## Part {number}\n\n{'What it says. ' * 400}\n\n" for number in range(9))
    asked.artifacts.update(content=text.encode(), size=len(text))
    page = open_as(viewport={"width": 1600, "height": 800})
    page.goto(path(asked))
    outline = page.locator(".toc")

    page.get_by_role("heading", name="Part 5").evaluate("(e) => e.scrollIntoView()")
    expect(outline.locator("summary")).to_contain_text("Part 5")
    expect(outline).to_be_in_viewport()
    page.locator(".toc > summary").click()
    page.get_by_role("link", name="Part 7").click()
    expect(outline.locator("summary")).to_contain_text("Part 7")
    expect(outline.locator("ol")).to_be_hidden()

    page.keyboard.press("w")
    expect(outline.locator("ol")).to_be_visible()
    page.reload()
    expect(outline.get_by_role("link", name="Part 8")).to_be_visible()
    assert page.evaluate("document.querySelector('main').offsetWidth") > 1500


def test_a_key_goes_from_change_to_change_in_a_document(
    open_as: OpenAs, asked: FeedbackRequest
) -> None:
    page = open_as()
    page.goto(path(second_round(page, asked)))
    page.wait_for_load_state()

    page.keyboard.press("j")
    expect(page.locator("[data-here]")).to_have_attribute("data-kind", re.compile("added|changed"))
    expect(page.locator("[data-here] .add").first).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("textbox", name="Comment on line")).to_be_focused()


def test_times_are_the_readers_with_utc_behind_them(
    open_as: OpenAs, asked: FeedbackRequest
) -> None:
    f.answer(asked.run, "approve")
    moment = datetime(2026, 3, 1, 22, 30, tzinfo=UTC)
    FeedbackResponse.objects.update(received_at=moment)
    page = open_as(timezone_id="Asia/Tokyo")
    page.goto(path(asked))

    exact = page.locator("time[data-exact]").first
    expect(exact).to_have_text("2 Mar 2026, 07:30:00")
    expect(exact).to_have_attribute("title", "1 Mar 2026, 22:30:00 UTC")


def test_nothing_in_the_bar_stands_over_anything_else(open_as: OpenAs) -> None:
    page = open_as("a-rather-long-name-of-somebody", Role.ADMIN)
    for width in (390, 640, 700, 760, 820, 870, 960, 1060):
        page.set_viewport_size({"width": width, "height": 400})
        page.reload()
        assert page.evaluate(OVERLAPPING) == [], width
        assert page.evaluate(WIDER_THAN_THE_SCREEN) == 0, width


OVERLAPPING = """() => {
  const boxes = [...document.querySelectorAll(".bar nav a, .wordmark, .bar-user > *")]
    .filter((e) => e.checkVisibility())
    .map((e) => ({ name: e.textContent.trim(), ...e.getBoundingClientRect().toJSON() }));
  const meet = (a, b) => a.left < b.right - 1 && b.left < a.right - 1
    && a.top < b.bottom - 1 && b.top < a.bottom - 1;
  return boxes.flatMap((a, at) => boxes.slice(at + 1).filter((b) => meet(a, b))
    .map((b) => `${a.name} / ${b.name}`));
}"""
