"""`make lighthouse`: what Google's page audit says about the pages reviewers live in."""

import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import sync_playwright

from bench.ground.scratch_site import Site, free_port, scratch_site
from tests import chromium

# The last line that runs on Node 20.
LIGHTHOUSE = "lighthouse@12"
CATEGORIES = ("performance", "accessibility", "best-practices")
LEAST = 0.95
ROUNDS = 3  # the median counts: a busy machine is no fault of a page


def main() -> None:
    browser_path = chromium.find()
    if browser_path is None or not shutil.which("npx"):
        sys.exit("make lighthouse needs chromium and npx (Node 18 or newer).")
    print(f"Load average: {os.getloadavg()[0]:.1f}")
    with scratch_site() as site, _signed_in(site, browser_path) as (port, pages):
        worst = min(
            score for name, address in pages.items() for score in _median(name, address, port)
        )
    print(f"Load average: {os.getloadavg()[0]:.1f}")
    if worst < LEAST:
        sys.exit(f"A score is below {LEAST}.")


@contextlib.contextmanager
def _signed_in(site: Site, browser_path: str) -> Iterator[tuple[int, dict[str, str]]]:
    """A browser that stays signed in, and the pages of the demo that reviewers live in.

    Cookies sent as a header are gone with the first cookie the site sets: what a page asks for
    later would end at the sign-in.
    """
    port = free_port()
    flags = [*chromium.FLAGS, f"--remote-debugging-port={port}"]
    with tempfile.TemporaryDirectory(prefix="faber-lighthouse-") as profile, sync_playwright() as p:
        context = p.chromium.launch_persistent_context(
            profile, executable_path=browser_path, args=flags
        )
        page = context.new_page()
        page.goto(site.login_link())
        page.get_by_role("button", name="Sign in").click()
        request = page.locator(".row-link").first
        request.wait_for(timeout=20_000)
        address = f"{site.url}{request.get_attribute('href')}".partition("?")[0]
        page.goto(address)
        run = page.locator(".trail a", has_text="run ").get_attribute("href")
        page.close()
        yield (
            port,
            {
                "inbox": f"{site.url}/",
                "request": address,
                "changes": f"{address}?tab=changes",
                "run": f"{site.url}{run}",
            },
        )
        context.close()


def _median(name: str, address: str, port: int) -> list[float]:
    rounds = [_audited(name, address, port) for _ in range(ROUNDS)]
    medians = [statistics.median(scores) for scores in zip(*rounds, strict=True)]
    print(
        f"{name}, median of {ROUNDS}: performance {medians[0]:.2f}, accessibility {medians[1]:.2f}"
    )
    return medians


def _audited(name: str, address: str, port: int) -> list[float]:
    with tempfile.TemporaryDirectory(prefix="faber-lighthouse-") as folder:
        report = Path(folder) / "report.json"
        command = [
            "npx",
            "--yes",
            LIGHTHOUSE,
            address,
            "--quiet",
            "--output=json",
            f"--output-path={report}",
            f"--only-categories={','.join(CATEGORIES)}",
            f"--port={port}",
            "--disable-storage-reset",  # it would sign the browser out
        ]
        subprocess.run(command, check=True)
        found = json.loads(report.read_text())
    if found["finalDisplayedUrl"] != address:
        sys.exit(f"{name}: {found['finalDisplayedUrl']} was audited instead of {address}.")
    scores = [float(found["categories"][category]["score"]) for category in CATEGORIES]
    told = ", ".join(f"{c} {s:.2f}" for c, s in zip(CATEGORIES, scores, strict=True))
    print(f"{name}: {told}")
    for audit in found["audits"].values():
        if audit["score"] is not None and audit["score"] < LEAST:
            print(f"  {audit['score']:.2f} {audit['title']} {audit.get('displayValue', '')}")
    return scores[:2]  # only what the aim is set for


if __name__ == "__main__":
    main()
