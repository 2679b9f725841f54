"""Code changes in a real browser: opened, commented on, viewed."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from feedback.models import ReviewComment, ViewedFile
from tests import factories as f
from tests.browser.conftest import OpenAs
from tests.browser.test_accessibility import faults
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


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_changes_have_no_serious_fault_and_fit_a_phone(
    open_as: OpenAs, repository: Repository, scheme: str
) -> None:
    address = f"/requests/{f.pending(reviewed(repository)).request_id}/?tab=changes"
    page = open_as(color_scheme=scheme)

    for query in ("", "&layout=split", "&path=app.py&side=new&line=2"):
        page.goto(f"{address}{query}")
        assert faults(page) == []
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(f"{address}&layout=split")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


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
