"""The pages of runs, the audit and the statistics, in a real browser."""

import re
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, ViewportSize, expect

from runs import engine
from runs.domain.values.actors import Role
from runs.models import Run, StepOutput
from runs.models.live_output import LiveOutput
from tests import factories as f
from tests.browser.conftest import OpenAs, settle

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PHONE: ViewportSize = {"width": 390, "height": 844}
WIDER_THAN_THE_SCREEN = """() =>
  document.documentElement.scrollWidth - document.documentElement.clientWidth
"""

# How many attempts have a link that lies over the time before it.
OVER_THE_TIME = """() => [...document.querySelectorAll(".attempt")].map((attempt) => {
  const time = attempt.querySelector(".attempt-time").getBoundingClientRect();
  const links = [...attempt.querySelectorAll(".attempt-links a")];
  return links.some((link) => link.getBoundingClientRect().left < time.right
    && link.getBoundingClientRect().top < time.bottom);
}).filter(Boolean).length"""


@pytest.fixture
def run(roles: None) -> Run:
    """Revised once, waiting again, with an output that is hard to fit on a page."""
    run = f.started(f.five_steps(), work_id="258")
    run = f.answered(run, "request_changes", "A-word-" * 30)
    StepOutput.objects.create(attempt=run.attempts.all()[0], stdout="x" * 3000, stderr="oops")
    return run


@pytest.fixture
def others(roles: None) -> Run:
    """A run that failed, and one that a person ended."""
    done = f.started(f.workflow({"build": [f.step("x", "tests.steps:fail")]}))
    f.answer(done, "abort", "Not worth it.")
    return f.started(f.workflow({"build": [f.step("make")]}), work_id="77")


def path(run: Run, more: str = "") -> str:
    return f"/runs/{run.run_id}/{more}"


def every_page(run: Run) -> list[str]:
    attempt = run.attempts.all()[0]
    return [
        "/runs/",
        "/runs/?q=nowhere",
        path(run),
        path(run, "?kind=steps&events=all"),
        path(run, f"attempts/{attempt.pk}/output"),
        path(run, "context/3/?with=2"),
        "/audit/",
        "/statistics/",
        "/costs/",
    ]


def test_what_a_step_was_told_is_compared_with_the_time_before(open_as: OpenAs, run: Run) -> None:
    page = open_as()
    page.goto(path(run))
    page.get_by_role("link", name="Package 3", exact=True).click()
    expect(page.get_by_role("heading", name="Package 3")).to_be_visible()
    expect(page.locator("ins")).to_have_count(0)

    page.get_by_label("Changes since").select_option("1")
    page.get_by_role("button", name="Compare").click()

    expect(page.get_by_text("From package 1 (one) to package 3 (two)")).to_be_visible()
    expect(page.locator("ins").first).to_be_visible()
    # Pressed before htmx is there, the plain form opens the same page at the comparison.
    expect(page).to_have_url(re.compile(r"/context/3/\?with=1(#difference)?$"))


def test_a_run_is_followed_live_and_the_focus_stays(open_as: OpenAs) -> None:
    page = open_as("olga", Role.OPERATOR)
    run = f.start(f.workflow({"build": [f.step("make")], "release": [f.step("merge")]}))
    claim = engine.claim(run.pk, "by-hand")
    assert claim
    page.goto(path(run))
    expect(page.get_by_text("0 of 2 steps")).to_be_visible()
    page.get_by_text("Cancel run…").click()
    reason = page.get_by_label("Reason")
    reason.fill("half a rea")

    LiveOutput(claim.attempt.pk).add(["12 of 40 files"])
    expect(page.get_by_label("Step output")).to_contain_text("12 of 40 files")
    expect(reason).to_have_value("half a rea")
    page.locator("#kind-steps").focus()
    LiveOutput(claim.attempt.pk).add(["40 of 40 files"])
    expect(page.get_by_label("Step output")).to_contain_text("40 of 40 files")
    expect(page.locator("#kind-steps")).to_be_focused()

    engine.cancel(run.pk, reason="enough", actor=f.STARTER)
    expect(page.locator("header .status")).to_have_text("cancelled")
    expect(page.get_by_text("Cancel run…")).to_have_count(0)
    expect(page.get_by_role("button", name="Run again")).to_be_visible()


def test_the_output_of_a_running_step_grows_on_its_own_page(open_as: OpenAs) -> None:
    page = open_as()
    run = f.start(f.workflow({"build": [f.step("make")]}))
    claim = engine.claim(run.pk, "by-hand")
    assert claim
    LiveOutput(claim.attempt.pk).add(["one"])
    page.goto(path(run))

    page.get_by_role("link", name="Open", exact=True).click()
    expect(page.get_by_text("one", exact=True)).to_be_visible()
    LiveOutput(claim.attempt.pk).add(["two"])

    expect(page.get_by_label("Latest lines")).to_contain_text("two")


def test_a_search_narrows_while_it_is_typed_and_stays_in_the_address(
    open_as: OpenAs, run: Run, others: Run
) -> None:
    page = open_as()
    page.goto("/runs/")
    expect(page.locator(".run-row")).to_have_count(3)

    page.get_by_label("Search", exact=True).press_sequentially("#258")
    expect(page.locator(".run-row")).to_have_count(1)
    expect(page.locator("#found")).to_have_text("1 run")
    expect(page).to_have_url(f"{page.url.partition('/runs/')[0]}/runs/?q=%23258")
    expect(page.get_by_label("Search", exact=True)).to_be_focused()

    page.reload()
    expect(page.locator(".run-row")).to_have_count(1)
    expect(page.get_by_label("Search", exact=True)).to_have_value("#258")
    page.get_by_label("Search", exact=True).fill("")
    expect(page.locator(".run-row")).to_have_count(3)
    page.get_by_role("link", name="Completed").click()
    expect(page.locator(".run-row")).to_have_count(1)
    expect(page.locator(".run-row")).to_contain_text("Acme/App #77")
    settle(page)
    page.get_by_label("Workflow").select_option("small")
    expect(page).to_have_url(
        f"{page.url.partition('/runs/')[0]}/runs/?workflow=small&status=completed"
    )
    page.go_back()
    expect(page.locator("#chip-completed")).to_have_attribute("aria-current", "true")


def test_the_list_hears_of_a_run_and_keeps_the_focus(open_as: OpenAs, others: Run) -> None:
    page = open_as()
    page.goto("/runs/")
    link = page.locator(".run-row", has_text="Acme/App #77").locator(".row-link")
    link.focus()

    f.started(f.five_steps(), work_id="300")

    # The list asks every five seconds, which is also how long an expectation waits by itself.
    new = page.locator(".run-row", has_text="Acme/App #300")
    expect(new).to_be_visible(timeout=15_000)
    expect(link).to_be_focused()


def test_the_audit_is_searched_and_saved(open_as: OpenAs, run: Run, others: Run) -> None:
    page = open_as("vera", Role.VIEWER)
    page.get_by_role("link", name="Audit").click()
    expect(page.locator(".ledger tbody tr")).to_have_count(2)
    page.wait_for_load_state()  # a filter hears nothing before the scripts are in place

    page.get_by_label("Type").select_option("error_resolution")
    expect(page.locator(".ledger tbody tr")).to_have_count(1)
    expect(page.get_by_text("Not worth it.")).to_be_visible()
    with page.expect_download() as saving:
        page.get_by_role("link", name="CSV").click()

    lines = saving.value.path().read_text().splitlines()
    assert saving.value.suggested_filename == "decisions.csv"
    assert len(lines) == 2
    assert "Not worth it." in lines[1]


def test_a_chart_gives_its_figures_as_a_table(open_as: OpenAs, run: Run) -> None:
    page = open_as()
    page.goto("/statistics/")

    chart = page.get_by_role("img", name="Waiting time per gate and type")
    expect(chart).to_be_visible()
    page.get_by_text("Show as table").first.click()
    expect(page.get_by_role("rowheader", name="After a step · Review")).to_be_visible()


def test_everything_is_found_without_javascript(open_as: OpenAs, run: Run, others: Run) -> None:
    page = open_as("olga", Role.OPERATOR, java_script_enabled=False)
    page.goto("/runs/")
    page.get_by_label("Search", exact=True).fill("#258")
    page.get_by_role("button", name="Apply").click()
    expect(page.locator(".run-row")).to_have_count(1)

    page.locator(".run-row .row-link").click()
    page.get_by_role("link", name="Decisions", exact=False).first.click()
    expect(page.locator(".chronicle-type").first).to_contain_text("feedback request")
    page.get_by_role("link", name="Output of attempt 1, one").click()
    expect(page.get_by_text("oops")).to_be_visible()

    page.goto("/audit/?type=error_resolution")
    expect(page.locator(".ledger tbody tr")).to_have_count(1)
    page.goto("/statistics/")
    page.get_by_role("link", name="All time").click()
    expect(page.get_by_role("heading", name="Answers per person")).to_be_visible()
    page.goto(path(run))
    page.get_by_text("Cancel run…").click()
    page.get_by_label("Reason").fill("a duplicate")
    page.get_by_role("button", name="Cancel run", exact=True).click()
    expect(page.locator("header .status")).to_have_text("cancelled")


def test_every_page_fits_a_phone(open_as: OpenAs, run: Run, others: Run) -> None:
    page = open_as(viewport=PHONE, has_touch=True)

    for address in every_page(run):
        page.goto(address)
        assert page.evaluate(WIDER_THAN_THE_SCREEN) == 0, address


def test_nothing_of_a_step_covers_another_on_a_phone(open_as: OpenAs, run: Run) -> None:
    page = open_as(viewport=PHONE, has_touch=True)
    page.goto(path(run))

    expect(page.locator(".attempt-links a").nth(1)).to_be_visible()
    assert page.evaluate(OVER_THE_TIME) == 0
    assert page.evaluate(WIDER_THAN_THE_SCREEN) == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_keeps_anybody_out(open_as: OpenAs, run: Run, others: Run, scheme: str) -> None:
    page = open_as("olga", Role.OPERATOR, color_scheme=scheme)

    for address in every_page(run):
        page.goto(address)
        assert barriers(page) == [], address


def barriers(page: Page) -> list[tuple[Any, ...]]:
    """What axe finds, with the place of it."""
    found = Axe().run(page).response["violations"]
    return [
        (one["id"], one["nodes"][0]["target"], one["nodes"][0]["failureSummary"]) for one in found
    ]
