"""Code changes in a real browser: opened, commented on, viewed."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Route, expect

from feedback.models import ReviewComment, ViewedFile
from runs.workspaces.git import environment
from tests import factories as f
from tests.browser.conftest import OpenAs
from tests.browser.test_accessibility import faults
from tests.browser.test_desk import NARROW_CONTROLS
from tests.browser.test_inbox import TOO_SMALL
from tests.repositories import Repository, reviewed

pytestmark = pytest.mark.browser


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = Repository(tmp_path / "app")
    made.write("src/long.py", "".join(f"line_{n} = {n}\n" for n in range(1, 121)))
    made.write("src/old_name.py", "def kept():\n    return 'the same'\n" * 10)
    made.commit("A long file")
    text = (made.folder / "src/long.py").read_text()
    made.write("src/long.py", text.replace("line_60 = 60", "line_60 = sum(range(60))"))
    made("mv", "src/old_name.py", "src/new_name.py")
    made.write("app.py", "def add(*numbers: float) -> float:\n    return sum(numbers)\n")
    made.write("package-lock.json", '{"locked": true}\n')
    return made


def test_a_line_is_commented_on_and_a_closed_file_loads_when_it_is_opened(
    open_as: OpenAs, repository: Repository
) -> None:
    run = reviewed(repository)
    page = open_as()
    page.goto(f"/requests/{f.pending(run).request_id}/")
    changes = page.get_by_role("region", name="Code changes")

    changes.get_by_role("link", name="Comment on old line 60").dispatch_event("click")
    page.get_by_role("textbox", name="Comment on old line 60").fill("Why a sum?")
    page.get_by_role("button", name="Add comment").click()
    expect(changes.get_by_role("note")).to_contain_text("Why a sum?")
    expect(changes.locator("#remark-form")).to_have_count(0)

    closed = changes.locator('.change[data-path="package-lock.json"]')
    expect(closed.get_by_text("locked")).to_have_count(0)
    closed.locator("summary").click()
    expect(closed.locator(".code-line")).to_contain_text("locked")

    changes.get_by_role("link", name="Show 56 unchanged lines").click()
    expect(changes.locator("#c2-new-1")).to_have_count(1)

    changes.get_by_label("Viewed: app.py").check()
    expect(changes.locator('.change[data-path="app.py"] details')).not_to_have_attribute("open", "")
    expect(page.get_by_role("heading", name="Your comments")).to_be_visible()
    assert ReviewComment.objects.get().side == "old"
    page.wait_for_load_state("networkidle")
    assert ViewedFile.objects.get().path == "app.py"


SELECT = """([from, to]) => getSelection().setBaseAndExtent(
    document.getElementById(from).querySelector("code"), 0,
    document.getElementById(to).querySelector("code"), 1)"""


@pytest.mark.parametrize("layout", ["", "&layout=split"])
def test_selected_lines_of_code_are_commented_on_together(
    open_as: OpenAs, repository: Repository, layout: str
) -> None:
    page = open_as()
    page.goto(f"/requests/{f.pending(reviewed(repository)).request_id}/?tab=changes{layout}")
    expect(page.locator("#c2-new-60")).to_be_visible()

    page.evaluate(SELECT, ["c2-old-60", "c2-new-61"])  # two sides
    expect(page.locator(".select-bar")).to_have_count(0)
    page.evaluate(SELECT, ["c2-new-60", "c2-new-62"])
    page.get_by_role("button", name="Comment on lines 60–62").click()
    form = page.locator("#remark-form")
    form.get_by_label("Suggestion").check()

    expect(form.get_by_label("Replace these lines with")).to_have_value(
        "line_60 = sum(range(60))\nline_61 = 61\nline_62 = 62"
    )
    form.get_by_role("textbox", name="Comment on lines 60–62").fill("Sum them.")
    form.get_by_role("button", name="Add comment").click()
    expect(page.locator(".change").get_by_role("note")).to_contain_text("Sum them.")
    comment = ReviewComment.objects.get()
    assert (comment.side, comment.line, comment.end_line) == ("new", 60, 62)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_changes_have_no_fault_and_fit_a_phone(
    open_as: OpenAs, repository: Repository, scheme: str
) -> None:
    address = f"/requests/{f.pending(reviewed(repository)).request_id}/?tab=changes"
    page = open_as(color_scheme=scheme)

    for query in ("", "&layout=split", "&path=app.py&side=new&line=2"):
        page.goto(f"{address}{query}")
        assert faults(page) == []
    changes = page.get_by_role("region", name="Code changes")
    page.get_by_role("textbox", name="Comment on line 2").fill("Numbers of any kind?")
    page.get_by_role("button", name="Add comment").click()
    expect(changes.get_by_role("note")).to_have_count(1)
    changes.get_by_role("link", name="Comment on line 60", exact=True).dispatch_event("click")
    page.get_by_label("Suggestion").check()
    page.keyboard.press("Escape")
    changes.get_by_role("link", name="Comment on line 61", exact=True).dispatch_event("click")
    page.get_by_label("Suggestion").check()
    assert faults(page) == []
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(address)
    assert page.evaluate(TOO_SMALL) == []
    assert page.evaluate(NARROW_CONTROLS) == []
    page.goto(f"{address}&layout=split")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


SIGNS = """() => Object.fromEntries([...document.querySelectorAll('.code-line')].flatMap(cell => {
    const kind = cell.dataset.kind ?? cell.parentElement.dataset.kind;
    return [[kind, getComputedStyle(cell, '::before').content.replaceAll('"', '')]];
}))"""


@pytest.mark.parametrize("layout", ["", "&layout=split"])
def test_a_sign_tells_what_came_and_went_beside_the_colour(
    open_as: OpenAs, repository: Repository, layout: str
) -> None:
    page = open_as()
    page.goto(f"/requests/{f.pending(reviewed(repository)).request_id}/?tab=changes{layout}")

    signs = page.evaluate(SIGNS)

    assert (signs["added"], signs["removed"], signs["same"]) == ("+", "−", "none")


def test_side_by_side_holds_for_the_next_request(open_as: OpenAs, repository: Repository) -> None:
    address = f"/requests/{f.pending(reviewed(repository)).request_id}/?tab=changes"
    page = open_as()
    page.goto(address)
    halves = page.locator("[data-split]")
    expect(halves).to_have_count(0)

    page.get_by_role("link", name="Side by side").click()
    expect(halves).not_to_have_count(0)
    page.goto(address)
    expect(halves).not_to_have_count(0)
    page.get_by_role("link", name="Unified").click()
    expect(halves).to_have_count(0)
    page.goto(address)
    expect(halves).to_have_count(0)


def test_side_by_side_fits_a_page_at_twice_its_size(
    open_as: OpenAs, repository: Repository
) -> None:
    page = open_as(viewport={"width": 720, "height": 450})
    page.goto(f"/requests/{f.pending(reviewed(repository)).request_id}/?tab=changes&layout=split")

    hidden = "e => e.scrollWidth - e.clientWidth"
    assert page.locator(".change-body").first.evaluate(hidden) == 0


def test_a_thumb_hits_the_mark_of_a_viewed_file(open_as: OpenAs, repository: Repository) -> None:
    page = open_as(viewport={"width": 390, "height": 844})
    page.goto(f"/requests/{f.pending(reviewed(repository)).request_id}/?tab=changes")

    mark = page.get_by_label("Viewed: app.py").bounding_box()

    assert mark
    assert min(mark["width"], mark["height"]) >= 24


def test_what_is_written_about_a_line_fits_a_phone_side_by_side(
    open_as: OpenAs, repository: Repository
) -> None:
    page = open_as(viewport={"width": 390, "height": 844})
    page.goto(f"/requests/{f.pending(reviewed(repository)).request_id}/?tab=changes&layout=split")

    def right_of(element: Locator) -> float:
        box = element.bounding_box()
        assert box
        return box["x"] + box["width"]

    comment = page.get_by_role("link", name="Comment on line 60", exact=True)
    comment.dispatch_event("click")
    assert right_of(page.locator("#remark-form")) <= 390
    page.get_by_role("textbox", name="Comment on line 60").fill("Why a sum? " * 9)
    page.get_by_role("button", name="Add comment").click()
    assert right_of(page.locator(".inline-remark")) <= 390


def test_the_triangle_of_a_renamed_file_is_beside_its_name_on_a_phone(
    open_as: OpenAs, repository: Repository
) -> None:
    page = open_as(viewport={"width": 390, "height": 844})
    page.goto(f"/requests/{f.pending(reviewed(repository)).request_id}/?tab=changes")

    name = page.locator('.change[data-path="src/new_name.py"]')
    below = "e => e.querySelector('.change-name').getBoundingClientRect().y"

    assert name.evaluate(f"e => ({below})(e) - e.getBoundingClientRect().y") < 20


def test_a_comment_that_is_put_aside_leaves_a_mark_and_no_gap(
    open_as: OpenAs, repository: Repository
) -> None:
    page = open_as()
    page.goto(f"/requests/{f.pending(reviewed(repository)).request_id}/?tab=changes")
    page.get_by_role("link", name="Comment on line 60", exact=True).dispatch_event("click")
    page.get_by_role("textbox", name="Comment on line 60").fill("Why a sum?")

    page.keyboard.press("Escape")

    line = page.locator("#changes [data-begun]")
    expect(line).to_have_css("box-shadow", re.compile("inset"))
    for row in page.locator("#changes .code-note").all():
        expect(row).to_be_hidden()


def test_the_change_that_keys_lead_to_stays_in_sight_when_lines_arrive_above_it(
    open_as: OpenAs, repository: Repository
) -> None:
    repository.write("package-lock.json", "{\n" + '  "locked": true,\n' * 90 + "}\n")
    run = reviewed(repository)
    page = open_as()
    page.goto(f"/requests/{f.pending(run).request_id}/?tab=changes")
    page.wait_for_load_state()
    late: list[Route] = []

    def hold(asked: Route) -> None:
        late.append(asked)

    page.route(re.compile("path=package-lock"), hold)
    closed = page.locator('.change[data-path="package-lock.json"]')

    page.keyboard.press("j")
    with page.expect_request(re.compile("path=package-lock")):
        page.keyboard.press("j")
    page.keyboard.press("j")
    control = page.get_by_role("link", name="Comment on old line 60")
    expect(control).to_be_focused()
    late[0].continue_()

    expect(closed.locator(".code-line")).to_have_count(92)
    expect(control).to_be_in_viewport()


def test_the_name_of_a_file_stays_while_its_lines_scroll_past(
    open_as: OpenAs, repository: Repository
) -> None:
    page = open_as(viewport={"width": 1280, "height": 500})
    address = f"/requests/{f.pending(reviewed(repository)).request_id}/?tab=changes"
    page.goto(f"{address}&path=src/long.py&first=1&last=120")
    file = page.locator('.change[data-path="src/long.py"]')

    page.locator("#c2-new-100").scroll_into_view_if_needed()

    # What sticks lies up to half a pixel beside where it is painted.
    expect(file.locator("summary")).to_be_in_viewport(ratio=0.98)
    expect(file.get_by_label("Viewed")).to_be_in_viewport(ratio=0.95)
    file.get_by_role("link", name="Comment on line 90", exact=True).focus()
    top = "e => e.getBoundingClientRect().top"
    bottom = "e => e.getBoundingClientRect().bottom"
    line = file.get_by_role("link", name="Comment on line 90", exact=True)
    assert line.evaluate(top) >= file.locator("summary").evaluate(bottom)


def test_without_scripts_lines_are_read_and_commented_on(
    open_as: OpenAs, repository: Repository
) -> None:
    run = reviewed(repository)
    address = f"/requests/{f.pending(run).request_id}/"
    page = open_as(java_script_enabled=False)

    page.goto(f"{address}?tab=changes&path=package-lock.json")
    expect(page.locator('.change[data-path="package-lock.json"]')).to_contain_text("locked")
    field = page.get_by_role("link", name="Comment on line 2", exact=True).get_attribute("href")
    page.goto(f"{address}{field}")
    page.get_by_role("textbox", name="Comment on line 2").fill("Typed without scripts.")
    page.get_by_role("button", name="Add comment").click()

    expect(page.get_by_role("note")).to_contain_text("Typed without scripts.")


def test_a_suggestion_on_code_begins_with_its_lines_and_is_applied_by_approving(
    open_as: OpenAs, repository: Repository
) -> None:
    run = reviewed(repository)
    page = open_as()
    page.goto(f"/requests/{f.pending(run).request_id}/?tab=changes")
    changes = page.get_by_role("region", name="Code changes")

    changes.get_by_role("link", name="Comment on old line 60").dispatch_event("click")
    expect(page.get_by_label("Suggestion")).to_have_count(0)
    page.keyboard.press("Escape")
    changes.get_by_role("link", name="Comment on line 60", exact=True).dispatch_event("click")
    page.get_by_label("Suggestion").check()
    field = page.get_by_label("Replace these lines with")
    expect(field).to_have_value("line_60 = sum(range(60))")
    field.fill("line_60 = 60 * 59 // 2")
    page.get_by_role("button", name="Add comment").click()
    expect(changes.get_by_role("note")).to_contain_text("line_60 = 60 * 59 // 2")
    page.get_by_role("button", name="Approve with edits").click()

    expect(page.get_by_text("rita chose Approve")).to_be_visible()
    text = (repository.folder / "src/long.py").read_text()
    assert text.split("\n")[58:61] == ["line_59 = 59", "line_60 = 60 * 59 // 2", "line_61 = 61"]


def test_a_comment_on_code_that_was_begun_is_kept_and_continued(
    open_as: OpenAs, repository: Repository
) -> None:
    run = reviewed(repository)
    page = open_as()
    page.goto(f"/requests/{f.pending(run).request_id}/?tab=changes")
    changes = page.get_by_role("region", name="Code changes")

    changes.get_by_role("link", name="Comment on line 60", exact=True).dispatch_event("click")
    page.keyboard.type("Why a sum")
    page.keyboard.press("Escape")
    expect(changes.get_by_role("link", name="Comment on line 60", exact=True)).to_be_focused()
    expect(page.get_by_text("Draft saved")).to_be_visible()
    page.reload()
    begun = page.get_by_role("region", name="Not added yet")
    expect(begun).to_contain_text("src/long.py, line 60")
    begun.get_by_role("button", name="Continue the comment on line 60").click()

    expect(page.get_by_role("textbox", name="Comment on line 60")).to_have_value("Why a sum")


def test_keys_go_from_change_to_change_and_all_lines_are_one_tab_stop(
    open_as: OpenAs, repository: Repository
) -> None:
    run = reviewed(repository)
    page = open_as()
    page.goto(f"/requests/{f.pending(run).request_id}/?tab=changes")
    page.wait_for_load_state()
    changes = page.get_by_role("region", name="Code changes")
    assert changes.locator(".add:not([tabindex='-1'])").count() == 1

    page.keyboard.press("j")
    expect(changes.locator("#c0-old-1 .add")).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(changes.locator("#c0-old-2 .add")).to_be_focused()
    page.keyboard.press("j")
    closed = changes.locator(".change[data-path='package-lock.json']")
    expect(closed.locator("summary")).to_be_focused()
    expect(closed.locator(".code-line")).to_contain_text("locked")
    page.keyboard.press("j")
    expect(closed.locator(".add")).to_be_focused()
    page.keyboard.press("j")
    focused = changes.get_by_role("link", name="Comment on old line 60")
    expect(focused).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("textbox", name="Comment on old line 60")).to_be_focused()
    page.keyboard.press("Escape")
    page.keyboard.press("k")
    expect(closed.locator(".add")).to_be_focused()

    page.keyboard.press("d")
    decision = page.get_by_role("heading", name="Your decision")
    expect(decision).to_be_focused()
    expect(decision).to_have_css("outline-style", "solid")


def test_keys_lead_to_the_code_and_stay_at_the_decision_after_an_answer(
    open_as: OpenAs, repository: Repository
) -> None:
    asked = f.reviewed_list(repository.folder, environment=environment(repository.folder))
    page = open_as()
    page.goto(f"/requests/{asked.request_id}/")
    changes = page.get_by_role("region", name="Code changes")

    page.keyboard.press("t")
    expect(changes).to_be_visible()
    expect(page.get_by_role("link", name="Code changes")).to_be_focused()
    page.keyboard.press("t")
    expect(changes).to_have_count(0)
    page.keyboard.press("1")
    page.keyboard.press("Enter")

    expect(page.get_by_role("complementary")).to_contain_text("rita chose Approve")
    expect(page.locator("#desk-title")).to_be_focused()
