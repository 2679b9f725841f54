"""`make screenshots`: walks the demo in a real browser and keeps what it sees."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from playwright.sync_api import Browser, Page, expect, sync_playwright

from bench.ground.scratch_site import Site, scratch_site
from tests import chromium

FOLDER = Path(__file__).parent / "screenshots"
LAPTOP = {"width": 1280, "height": 860}
PHONE = {"width": 390, "height": 844}
# Where an installed site keeps its data; the pictures say so instead of naming the scratch folder.
DATA = "/home/me/.local/share/faber"
RENAME = """([from, to]) => {
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) texts.currentNode.data = texts.currentNode.data.replaceAll(from, to);
}"""


def main() -> None:
    browser_path = chromium.find()
    if browser_path is None:
        sys.exit("make screenshots needs chromium.")
    FOLDER.mkdir(exist_ok=True)
    with scratch_site(FABER_UNDO_SECONDS="60") as site, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=browser_path, args=list(chromium.FLAGS)
        )
        walk(browser, site)
        browser.close()


def walk(browser: Browser, site: Site) -> None:
    page = opened(browser, site)
    page.locator(".row-link").first.wait_for(timeout=20_000)
    keep(page, site, "inbox")
    first_review(page, site)
    keep(page, site, "undo")
    press(page, "Apply now")
    to_next(page, site)
    keep(page, site, "second-round")
    keep_elsewhere(browser, site, page.url)
    answer(page, "Approve")
    to_next(page, site)
    keep(page, site, "failure")
    answer(page, "Retry")
    to_next(page, site)
    answer(page, "Approve")
    page.get_by_role("link", name="View run", exact=True).click()
    page.locator("header .status", has_text="completed").wait_for(timeout=30_000)
    keep(page, site, "run")
    page.goto(f"{site.url}/audit/")
    keep(page, site, "audit")
    page.goto(f"{site.url}/statistics/")
    keep(page, site, "statistics")


def first_review(page: Page, site: Site) -> None:
    page.locator(".row-link").first.click()
    comment_on(page, "Which separator is used?", "Question")
    page.get_by_label("Comment", exact=True).fill("Say what happens without invoices.")
    expect(page.locator("#draft")).to_have_text("Draft saved")
    keep(page, site, "review")
    press(page, "Request changes")
    page.get_by_text("Takes effect in").wait_for()


def comment_on(page: Page, words: str, kind: str) -> None:
    line = page.locator("[data-commentable] p > .add").first
    line.click()
    form = page.locator("#remark-form")
    form.get_by_role("textbox").fill(words)
    form.get_by_label(kind).check()
    press(page, "Add comment")
    expect(form).to_have_count(0)


def answer(page: Page, name: str) -> None:
    press(page, name)
    press(page, "Apply now")
    page.get_by_text("Takes effect in").wait_for(state="detached")


def to_next(page: Page, site: Site) -> None:
    """The next question of the demo, as soon as it is asked."""
    page.goto(site.url)
    page.locator(".row-link").first.wait_for(timeout=30_000)
    page.locator(".row-link").first.click()
    page.get_by_role("heading", name="Your decision").wait_for()


def keep_elsewhere(browser: Browser, site: Site, address: str) -> None:
    """The same page in the dark, and on a phone."""
    for name, options in (
        ("second-round-dark", {"viewport": LAPTOP, "color_scheme": "dark"}),
        ("second-round-phone", {"viewport": PHONE, "color_scheme": "light"}),
    ):
        page = opened(browser, site, **options)
        page.goto(address)
        keep(page, site, name)
        page.context.close()


def opened(browser: Browser, site: Site, **options: object) -> Page:
    shown = {"viewport": LAPTOP, "color_scheme": "light", **options}
    page = browser.new_context(**shown).new_page()  # type: ignore[arg-type]
    page.goto(site.login_link())
    press(page, "Sign in")
    page.get_by_role("heading", name="Inbox").wait_for()
    return page


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def keep(page: Page, site: Site, name: str) -> None:
    page.wait_for_load_state("networkidle")
    page.evaluate(RENAME, [site.environment["FABER_DATA_DIR"], DATA])
    page.screenshot(path=FOLDER / f"{name}.png")
    print(f"docs/screenshots/{name}.png")


if __name__ == "__main__":
    main()
