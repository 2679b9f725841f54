"""An operator adds a webhook, looks at what was sent and sends it again."""

import pytest
from playwright.sync_api import ViewportSize, expect
from pytest_django.fixtures import Settings

from feedback.channels.callbacks.addresses import read_allowed
from feedback.channels.webhooks import endpoints, events, sending
from feedback.models import WebhookDelivery, WebhookEndpoint
from runs.domain.values.actors import Role
from tests import factories as f
from tests.browser.conftest import OpenAs
from tests.browser.test_accessibility import faults
from tests.receiver import running

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PHONE: ViewportSize = {"width": 390, "height": 844}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_webhook_is_added_looked_at_rotated_and_removed(
    open_as: OpenAs, roles: None, settings: Settings, scheme: str
) -> None:
    settings.FABER_CALLBACK_ALLOW = read_allowed("127.0.0.1")
    page = open_as("olga", Role.OPERATOR, color_scheme=scheme)
    page.goto("/webhooks/")
    page.get_by_label("Address").fill("http://10.0.0.1/")
    page.get_by_role("button", name="Add webhook").click()
    expect(page.get_by_text("leads to an address of a private or special network")).to_be_visible()

    with running() as receiver:
        page.get_by_label("Address").fill(receiver.url)
        page.get_by_role("button", name="Add webhook").click()
        webhook = WebhookEndpoint.objects.get()
        secret = page.get_by_label("The secret")
        expect(secret).to_have_text(endpoints.secret_of(webhook))
        assert faults(page) == []
        f.started(f.five_steps())
        f.started(f.five_steps())
        receiver.faults = [204, 422]
        sending.send_due()
        page.get_by_role("link", name=receiver.url).click()
        expect(page.get_by_text("Delivered", exact=True)).to_have_count(3)
        expect(page.get_by_text("It returned 422.")).to_be_visible()
        assert faults(page) == []

        failed = WebhookDelivery.objects.get(delivered_at=None)
        page.get_by_role("button", name=f"Redeliver {failed.event} of {failed.subject}").click()
        expect(page.get_by_text("Waiting", exact=True)).to_be_visible()
        sending.send_due()
        page.reload()
        expect(page.get_by_text("Delivered", exact=True)).to_have_count(4)

    page.get_by_role("button", name="Rotate secret").click()
    expect(page.get_by_role("heading", name="New secret")).to_be_visible()
    webhook.refresh_from_db()
    expect(secret).to_have_text(endpoints.secret_of(webhook))
    page.get_by_text("Remove webhook").click()
    page.get_by_role("button", name="Remove permanently").click()
    expect(page.get_by_text("No webhooks yet.")).to_be_visible()


def test_the_pages_fit_a_phone(open_as: OpenAs, roles: None, settings: Settings) -> None:
    settings.FABER_CALLBACK_ALLOW = read_allowed("127.0.0.1")
    url = f"http://127.0.0.1:9/{'long' * 30}"
    webhook = endpoints.add(url, events.read([]), project=None, actor=f.STARTER)
    f.started(f.five_steps())
    page = open_as("olga", Role.OPERATOR, viewport=PHONE)
    for address in ("/webhooks/", f"/webhooks/{webhook}/"):
        page.goto(address)
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    page.get_by_role("button", name="Rotate secret").click()
    expect(page.get_by_label("The secret")).to_be_visible()
    page.wait_for_load_state()  # without its styles a page has another width
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
