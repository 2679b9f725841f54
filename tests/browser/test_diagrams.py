"""Diagrams of a document: drawn in a frame that can reach nothing, their source never far."""

from pathlib import Path

import pytest
from playwright.sync_api import FrameLocator, Page, expect

from feedback.models import FeedbackRequest
from tests import factories as f
from tests.browser.conftest import OpenAs
from tests.browser.test_accessibility import faults

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

DIAGRAM = "```mermaid\nflowchart LR\n    shop[Shop] --> till[Till]\n```\n"
HOSTILE = """```mermaid
flowchart LR
    a["<script>parent.postMessage('out','*')</script>Shop"] --> b[Till]
    click a href "javascript:alert(1)"
```
"""


@pytest.fixture
def asked(roles: None, tmp_path: Path) -> FeedbackRequest:
    return f.reviewed_list(tmp_path)


def opened(page: Page, asked: FeedbackRequest, document: str) -> Page:
    artifact = asked.artifacts.get()
    artifact.content = document.encode()
    artifact.save()
    page.goto(f"/requests/{asked.request_id}/")
    return page


def board(page: Page) -> FrameLocator:
    return page.frame_locator(".diagram iframe")


def test_a_diagram_is_drawn_in_a_frame_of_no_origin(
    open_as: OpenAs, asked: FeedbackRequest
) -> None:
    page = opened(open_as(), asked, f"# Shop\n\n{DIAGRAM}")

    expect(board(page).locator("svg")).to_contain_text("Till")
    expect(page.locator(".diagram iframe")).to_have_attribute("sandbox", "allow-scripts")
    assert board(page).locator("body").evaluate("() => self.origin") == "null"
    expect(page.get_by_text("flowchart LR")).to_be_hidden()
    page.get_by_role("button", name="Show source").click()
    expect(page.get_by_text("flowchart LR")).to_be_visible()
    page.get_by_role("button", name="Show diagram").click()
    expect(page.get_by_text("flowchart LR")).to_be_hidden()


def test_a_diagram_is_drawn_when_it_comes_into_view(
    open_as: OpenAs, asked: FeedbackRequest
) -> None:
    page = opened(open_as(), asked, "# Shop\n\n" + "Wait.\n\n" * 400 + DIAGRAM)
    expect(page.locator(".diagram")).to_have_count(1)
    expect(page.locator("iframe")).to_have_count(0)

    page.locator(".diagram").scroll_into_view_if_needed()

    expect(board(page).locator("svg")).to_contain_text("Till")


def test_a_diagram_that_cannot_be_read_shows_its_source(
    open_as: OpenAs, asked: FeedbackRequest
) -> None:
    page = opened(open_as(), asked, "# Shop\n\n```mermaid\nflowchart LR\n  a -->\n```\n")

    expect(page.get_by_text("Could not draw this diagram: ")).to_be_visible()
    expect(page.get_by_text("flowchart LR")).to_be_visible()
    expect(page.locator("iframe")).to_have_count(0)


def test_nothing_in_a_diagram_runs_or_leads_anywhere(
    open_as: OpenAs, asked: FeedbackRequest
) -> None:
    page = open_as()
    page.add_init_script("self.heard = []; addEventListener('message', e => heard.push(e.data))")
    opened(page, asked, f"# Shop\n\n{HOSTILE}")

    expect(board(page).locator("svg")).to_contain_text("Till")
    expect(board(page).locator("svg script, [href^=javascript]")).to_have_count(0)
    assert "out" not in page.evaluate("heard")


def test_a_diagram_is_commented_on_where_it_is_drawn(
    open_as: OpenAs, asked: FeedbackRequest
) -> None:
    page = opened(open_as(), asked, f"# Shop\n\n{DIAGRAM}")
    expect(board(page).locator("svg")).to_contain_text("Till")

    page.locator(".diagram").hover()
    page.get_by_role("button", name="Comment on line 3", exact=True).click()
    page.get_by_role("textbox", name="Comment on line 3").fill("And the shelf?")
    page.get_by_role("button", name="Add comment").click()

    expect(page.locator(".diagram .inline-remark")).to_contain_text("And the shelf?")


IS_CUT = "() => drawing.scrollWidth - drawing.clientWidth"


def test_on_a_phone_nothing_stands_over_a_diagram_and_it_fits_its_place(
    open_as: OpenAs, asked: FeedbackRequest
) -> None:
    nodes = " --> ".join(f"n{number}[Node {number}]" for number in range(3))
    wide = f"```mermaid\nflowchart LR\n    {nodes}\n```\n"
    page = opened(open_as(viewport={"width": 390, "height": 844}), asked, f"# Shop\n\n{wide}")
    expect(board(page).locator("svg")).to_contain_text("Node 2")

    toggle = page.get_by_role("button", name="Show source").bounding_box()
    place = page.locator(".diagram-place").bounding_box()
    assert toggle
    assert place
    assert toggle["y"] + toggle["height"] <= place["y"]
    assert page.frames[1].evaluate(IS_CUT) == 0
    shown = page.frames[1].evaluate(
        "() => { const svg = document.querySelector('svg');"
        " return 15 * svg.getBoundingClientRect().width / svg.viewBox.baseVal.width; }"
    )
    assert 8 <= shown < 15
    page.get_by_role("button", name="Show source").click()
    source = page.locator(".diagram pre").bounding_box()
    other = page.get_by_role("button", name="Show diagram").bounding_box()
    assert source
    assert other
    assert other["y"] + other["height"] <= source["y"]


def test_a_diagram_that_cannot_shrink_and_be_read_is_moved_by_keys(
    open_as: OpenAs, asked: FeedbackRequest
) -> None:
    nodes = " --> ".join(f"n{number}[Node {number}]" for number in range(12))
    wide = f"```mermaid\nflowchart LR\n    {nodes}\n```\n"
    page = opened(open_as(viewport={"width": 390, "height": 844}), asked, f"# Shop\n\n{wide}")
    expect(board(page).locator("svg")).to_contain_text("Node 11")

    assert page.frames[1].evaluate(IS_CUT) > 0
    expect(board(page).locator("#drawing")).to_have_attribute("tabindex", "0")


def test_without_scripts_a_diagram_is_its_source(open_as: OpenAs, asked: FeedbackRequest) -> None:
    page = opened(open_as(java_script_enabled=False), asked, f"# Shop\n\n{DIAGRAM}")

    expect(page.get_by_text("flowchart LR")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_fault_with_a_drawn_diagram(
    open_as: OpenAs, asked: FeedbackRequest, scheme: str
) -> None:
    page = opened(open_as(color_scheme=scheme), asked, f"# Shop\n\n{DIAGRAM}")
    expect(board(page).locator("svg")).to_contain_text("Till")

    # axe cannot speak to a frame of no origin, so each is looked at by itself.
    assert faults(page, frames=False) == []
    assert faults(page.frames[1], frames=False) == []
