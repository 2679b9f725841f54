"""Somebody says how to be reached, and their browser shows new requests by itself."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect
from pytest_django.fixtures import Settings

from feedback.channels.callbacks.addresses import read_allowed
from tests import factories as f
from tests import receiver
from tests.browser.conftest import OpenAs
from tests.browser.test_inbox import HIDE
from tests.jobs import work_off

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

# What a person would see beside the window, and whether they were asked.
WATCHED = """
window.shown = [];
window.asked = 0;
window.Notification = class extends EventTarget {
  static permission = "default";
  static async requestPermission() {
    window.asked += 1;
    return (Notification.permission = "granted");
  }
  constructor(title, { body, tag }) {
    super();
    window.shown.push({ title, body, tag });
    document.documentElement.dataset.shown = window.shown.length;
  }
  close() {}
};
"""


def test_a_hidden_tab_shows_a_new_request_that_waits_for_whoever_looks(
    open_as: OpenAs, tmp_path: Path
) -> None:
    page = open_as()
    page.clock.install()
    page.add_init_script(WATCHED)
    f.reviewed_list(tmp_path)
    page.goto("/account/notices/")
    expect(page.get_by_text("Off in this browser.")).to_be_visible()
    assert page.evaluate("window.asked") == 0

    with page.expect_response("**/account/notices/newest/"):
        page.get_by_role("button", name="Enable browser notifications").click()
    expect(page.get_by_text("You are notified here")).to_be_visible()
    page.evaluate(HIDE)
    request = f.pending(f.started(f.five_steps()))
    page.clock.run_for(21_000)

    expect(page.locator("html")).to_have_attribute("data-shown", "1")
    (shown,) = page.evaluate("window.shown")
    assert shown == {
        "title": request.title,
        "body": "Acme/App waits for your decision",
        "tag": request.request_id,
    }
    assert page.evaluate("window.asked") == 1


def test_somebody_adds_an_address_and_tests_it(open_as: OpenAs, settings: Settings) -> None:
    settings.FABER_CALLBACK_ALLOW = read_allowed("127.0.0.1")
    page = open_as()
    with receiver.running() as phone:
        page.goto("/account/notices/")
        page.get_by_label("Services").fill(f"json://127.0.0.1:{phone.port}/s3cr3t")
        page.get_by_label("Quiet from").fill("22:00")
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_text("Quiet hours need a beginning and an end.")).to_be_visible()

        page.get_by_label("Quiet until").fill("07:00")
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_text("Saved.")).to_be_visible()
        expect(page.get_by_label("Services")).to_have_value(re.compile(r"json://…[0-9a-f]{4}"))

        page.get_by_role("button", name="Send a test notice").click()
        expect(page.get_by_text("Test notice queued")).to_be_visible()
        work_off()
        expect(page.locator("#sent .row")).to_contain_text("sent")
        assert len(phone.calls) == 1
