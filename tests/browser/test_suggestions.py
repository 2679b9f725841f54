"""Comments on code, tables and long lines, suggestions, and approving with one's own edits."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, ViewportSize, expect

from feedback.models import FeedbackRequest, FeedbackResponse
from tests import factories as f
from tests.browser.conftest import OpenAs
from tests.browser.test_accessibility import faults
from tests.browser.test_desk import comment_on, path, press

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PHONE: ViewportSize = {"width": 390, "height": 844}
DESK: ViewportSize = {"width": 1440, "height": 900}
DOCUMENT = f"""# Plan

| field | kind |
|---|---|
| name | text |

```python
first = 1
second = 2
```

A long line: {"word " * 80}
"""
IS_ON_TOP = """(control) => {
  const box = control.getBoundingClientRect();
  return document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2) === control;
}"""


@pytest.fixture
def asked(roles: None, tmp_path: Path) -> FeedbackRequest:
    return f.reviewed_list(tmp_path)


@pytest.fixture
def document(roles: None, tmp_path: Path) -> FeedbackRequest:
    (tmp_path / "list.md").write_text(DOCUMENT)
    return f.reviewed_list(tmp_path)


def test_a_line_of_code_and_a_row_of_a_table_are_commented_on(
    open_as: OpenAs, document: FeedbackRequest
) -> None:
    page = open_as()
    page.goto(f"{path(document)}?view=document")
    control = page.get_by_role("button", name="Comment on line 9", exact=True)
    control.scroll_into_view_if_needed()
    assert control.evaluate(IS_ON_TOP)
    comment_on(page, 9, "why two?")
    widths = "() => [...document.querySelectorAll('.prose td')].map((cell) => cell.offsetWidth)"
    before = page.evaluate(widths)

    page.get_by_role("button", name="Comment on line 5", exact=True).click()
    page.get_by_role("textbox", name="Comment on line 5").fill("a longer comment on a row")

    assert page.evaluate(widths) == before
    press(page, "Add comment")
    expect(page.get_by_role("button", name="Comment on line 5", exact=True)).to_be_focused()
    assert page.evaluate(widths) == before


@pytest.mark.parametrize("viewport", [DESK, PHONE], ids=["desk", "phone"])
def test_the_field_is_inside_the_window_in_the_source_view(
    open_as: OpenAs, document: FeedbackRequest, viewport: ViewportSize
) -> None:
    page = open_as(viewport=viewport)
    page.goto(f"{path(document)}?view=source")
    page.get_by_role("link", name="Comment on line 12", exact=True).click()

    box = page.locator("#remark-form").bounding_box()

    assert box
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= viewport["width"]


@pytest.mark.parametrize("viewport", [DESK, PHONE], ids=["desk", "phone"])
def test_the_field_is_inside_the_window_in_a_long_document(
    open_as: OpenAs, roles: None, tmp_path: Path, viewport: ViewportSize
) -> None:
    (tmp_path / "list.md").write_text("# Long\n\n" + "A paragraph of it.\n\n" * 60)
    page = open_as(viewport=viewport)
    page.goto(f"{path(f.reviewed_list(tmp_path))}?view=document")
    control = page.get_by_role("button", name="Comment on line 41", exact=True)
    control.evaluate("e => scrollBy(0, e.getBoundingClientRect().bottom - innerHeight + 10)")
    control.click()

    form = page.locator("#remark-form")
    expect(form).to_be_in_viewport(ratio=1)

    form.get_by_label("Suggestion").check()

    expect(form.get_by_label("Replace these lines with")).to_have_value("A paragraph of it.")
    expect(form).to_be_in_viewport(ratio=1)


def test_the_buttons_stay_where_they_are_when_a_draft_is_saved(
    open_as: OpenAs, asked: FeedbackRequest
) -> None:
    page = open_as()
    page.goto(f"{path(asked)}?view=source")
    page.get_by_role("link", name="Comment on line 3", exact=True).click()
    form = page.locator("#remark-form")
    button = form.get_by_role("button", name="Add comment")
    before = button.bounding_box()

    form.get_by_role("textbox").fill("Why?")

    expect(form.get_by_role("status")).to_have_text("Draft saved")
    assert button.bounding_box() == before


def test_code_of_a_long_document_is_scrolled_by_keys(
    open_as: OpenAs, roles: None, tmp_path: Path
) -> None:
    code = f'```python\nlong = "{"x" * 400}"\n```\n\n'
    (tmp_path / "list.md").write_text("# Long\n\n" + "A paragraph of it.\n\n" * 60 + code)
    page = open_as()
    page.goto(f"{path(f.reviewed_list(tmp_path))}?view=document")
    block = page.locator("pre.has-gutter")
    expect(block).to_have_count(1)
    expect(block).not_to_be_in_viewport()

    block.scroll_into_view_if_needed()

    expect(block).to_have_attribute("tabindex", "0")
    assert faults(page) == []
    block.press("ArrowRight")
    page.wait_for_timeout(300)
    assert block.evaluate("e => e.scrollLeft") > 0


def test_two_revisions_are_scrolled_by_keys_on_a_phone(
    open_as: OpenAs, roles: None, tmp_path: Path
) -> None:
    wide = f"| {' | '.join(['a wide cell'] * 12)} |\n"
    table = f"{wide}|{'---|' * 12}\n{wide}"
    document = '# Code\n\n```python\nlong = "{}"\n```\n\n' + table
    (tmp_path / "list.md").write_text(document.format("one" * 99))
    asked = f.reviewed_list(tmp_path)
    (tmp_path / "list.md").write_text(document.format("two" * 99))
    f.answer(asked.run, "request_changes", "More.")
    second = f.pending(f.work(asked.run))
    page = open_as(viewport=PHONE)

    page.goto(f"{path(second)}?view=changes")

    expect(page.locator(".pair-new pre").first).to_be_visible()
    page.wait_for_timeout(300)
    assert faults(page) == []


def test_all_controls_for_a_comment_look_alike_on_a_phone(
    open_as: OpenAs, document: FeedbackRequest
) -> None:
    page = open_as(viewport=PHONE)
    page.goto(f"{path(document)}?view=document")
    expect(page.locator(".code-gutter .add").first).to_be_attached()

    looks = page.locator(".add").evaluate_all(
        "all => [...new Set(all.map(e => getComputedStyle(e).backgroundColor))]"
    )

    assert looks == ["rgba(0, 0, 0, 0)"]


def suggest(page: Page, line: int, words: str) -> None:
    page.get_by_role("button", name=f"Comment on line {line}", exact=True).click()
    page.get_by_label("Suggestion").check()
    field = page.get_by_label("Replace these lines with")
    expect(field).not_to_have_value("")
    field.fill(words)
    page.keyboard.press("Control+Enter")
    expect(field).to_have_count(0)


def test_suggestions_are_sent_as_replacements_and_lines_can_be_deleted(
    open_as: OpenAs, asked: FeedbackRequest
) -> None:
    page = open_as()
    page.goto(path(asked))
    suggest(page, 3, "Buy pears.")
    page.get_by_role("button", name="Comment on line 6", exact=True).click()
    page.get_by_label("Suggestion").check()
    press(page, "Delete this")
    expect(page.get_by_role("region", name="Your comments")).to_contain_text("Delete these lines")

    press(page, "Request changes")

    expect(page.get_by_text("rita chose Request changes")).to_be_visible()
    items = FeedbackResponse.objects.get().items
    assert [(item["kind"], item["replacement"]) for item in items] == [
        ("suggestion", "Buy pears."),
        ("suggestion", ""),
    ]


def test_a_suggestion_begins_in_its_field_and_stands_beside_its_line_with_the_words(
    open_as: OpenAs, asked: FeedbackRequest
) -> None:
    page = open_as()
    page.goto(path(asked))
    page.get_by_role("button", name="Comment on line 3", exact=True).click()
    page.get_by_label("Suggestion").click()
    field = page.get_by_label("Replace these lines with")
    expect(field).to_be_focused()
    expect(field).not_to_have_value("")
    field.fill("Buy pears.")
    page.get_by_role("textbox", name="Comment on line 3").fill("They last longer.")
    press(page, "Add comment")

    for _ in ("added", "loaded"):
        expect(page.get_by_role("note")).to_contain_text("They last longer.")
        expect(page.get_by_role("note").get_by_label("Suggested text")).to_have_text("Buy pears.")
        page.goto(f"{path(asked)}?view=source")


def test_arrows_go_past_the_suggestion_among_the_kinds(
    open_as: OpenAs, asked: FeedbackRequest
) -> None:
    page = open_as()
    page.goto(path(asked))
    page.get_by_role("button", name="Comment on line 3", exact=True).click()
    page.keyboard.press("Tab")

    page.keyboard.press("ArrowUp")
    expect(page.get_by_label("Suggestion")).to_be_checked()
    expect(page.get_by_label("Replace these lines with")).not_to_have_value("")

    expect(page.get_by_label("Suggestion")).to_be_focused()


def test_approving_with_edits_writes_ones_own_suggestions(
    open_as: OpenAs, asked: FeedbackRequest, tmp_path: Path
) -> None:
    page = open_as()
    page.goto(path(asked))
    suggest(page, 3, "Buy pears.")

    press(page, "Approve with edits")

    expect(page.get_by_text("rita chose Approve")).to_be_visible()
    assert (tmp_path / "list.md").read_text().split("\n")[2] == "Buy pears."
    assert asked.run.revisions.latest("revision").text.split("\n")[2] == "Buy pears."


def test_who_says_must_change_is_asked_once_before_approving(
    open_as: OpenAs, asked: FeedbackRequest
) -> None:
    page = open_as()
    page.goto(path(asked))
    changes = page.get_by_role("button", name="Request changes", exact=True)
    expect(changes).to_have_attribute("data-weight", "plain")
    comment_on(page, 3, "red")
    expect(changes).to_have_attribute("data-weight", "main")

    press(page, "Approve")
    press(page, "Go back")
    assert not FeedbackResponse.objects.exists()
    press(page, "Approve")
    press(page, "Approve anyway")

    expect(page.get_by_text("rita chose Approve")).to_be_visible()
