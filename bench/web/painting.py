"""How long a browser takes with a long document: to paint it, to open the field of a comment."""

import json
import os
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

import django

from bench.ground.scratch_site import scratch_site
from bench.web.pages import SECTION
from tests import chromium

SIZE = 300_000
ROUNDS = 5
# As much text between lists, tables and code as people write.
PROSE = "The shop sells what it has, and orders what it has not. " * 12 + "\n\n"

# Set before the page's own scripts run.
_WATCH = "new PerformanceObserver(list => { self.painted = list.getEntries().at(-1).startTime })"
_WATCH += ".observe({ type: 'largest-contentful-paint', buffered: true })"
_OPENED = """line => new Promise(resolve => {
    const began = performance.now();
    new MutationObserver((_, self) => {
        if (!document.querySelector('#remark-form textarea')) return;
        self.disconnect();
        requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - began)));
    }).observe(document.body, { childList: true, subtree: true });
    document.querySelector(`[aria-label="Comment on line ${line}"]`).click();
})"""


def main() -> None:
    browser_path = chromium.find()
    if browser_path is None:
        sys.exit("This needs chromium.")
    django.setup()
    address, link = _filled()
    with scratch_site(FABER_DATA_DIR=os.environ["FABER_DATA_DIR"]) as site:
        print(json.dumps(_measured(site.url, address, link, browser_path)))


def _filled() -> tuple[str, str]:
    """A request about the document, and where its reviewer signs in."""
    from django.core.management import call_command  # noqa: PLC0415  after the settings

    from runs.accounts import users  # noqa: PLC0415
    from runs.domain.values.actors import Role  # noqa: PLC0415
    from tests import factories  # noqa: PLC0415

    call_command("migrate", verbosity=0)
    with tempfile.TemporaryDirectory() as folder:
        asked = factories.reviewed_list(Path(folder))
    text = "".join(SECTION.format(n=number) + PROSE for number in range(SIZE // 200))[:SIZE]
    asked.artifacts.update(content=text.encode(), size=SIZE)
    link = users.login_link(users.create("rita", role=Role.REVIEWER))[0]
    return f"/requests/{asked.request_id}/", f"/login/link/{link.partition('/login/link/')[2]}"


def _measured(url: str, address: str, link: str, browser_path: str) -> dict[str, Any]:
    from playwright.sync_api import sync_playwright  # noqa: PLC0415

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=browser_path, args=list(chromium.FLAGS)
        )
        context = browser.new_context(base_url=url)
        context.add_init_script(_WATCH)
        page = context.new_page()
        page.goto(link)
        page.get_by_role("button", name="Sign in").click()
        page.get_by_role("heading", name="Inbox").wait_for()
        painted, first, opened, sizes = [], [], [], []
        for _ in range(ROUNDS):
            page.goto(address)
            page.locator(".commentable .add").first.wait_for(state="attached")
            paint = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
            first.append(page.evaluate(paint))
            painted.append(page.evaluate("self.painted"))
            size = "performance.getEntriesByType('navigation')[0].transferSize"
            sizes.append(page.evaluate(size))
            page.evaluate("new Promise(resolve => requestIdleCallback(() => resolve()))")
            opened.append(page.evaluate(_OPENED, 3))
        browser.close()
    return {
        "first_paint_ms": round(statistics.median(first)),
        "largest_paint_ms": round(statistics.median(painted)),
        "comment_form_ms": round(statistics.median(opened)),
        "transferred_kb": round(statistics.median(sizes) / 1000),
    }


if __name__ == "__main__":
    main()
