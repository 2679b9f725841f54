"""The receiver in the documentation takes what FABER sends, and nothing else."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from pytest_django.fixtures import Settings

from feedback.channels.callbacks import outbound
from feedback.channels.callbacks.addresses import read_allowed
from feedback.channels.webhooks import endpoints, events, sending
from feedback.models import WebhookDelivery, WebhookEndpoint
from tests import factories as f
from tests.documentation import DOCS, block, executed

pytestmark = [pytest.mark.slow, pytest.mark.django_db]

PAGE = (DOCS / "webhooks.md").read_text()


@contextmanager
def receiver(secret: str) -> Iterator[int]:
    """The program as it stands on the page, on a free port."""
    *above, last = block("webhook-receiver").text.strip().split("\n")
    assert last.endswith(".serve_forever()")
    server = last.removesuffix(".serve_forever()").replace("8099", "0")
    told = f"server = {server}\nprint(server.server_port, flush=True)\nserver.serve_forever()"
    process = subprocess.Popen(
        [sys.executable, "-c", "\n".join([*above, told])],
        env={**os.environ, "WEBHOOK_SECRET": secret},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout
    try:
        yield int(process.stdout.readline())
    finally:
        process.kill()
        process.communicate()


def test_the_receiver_takes_what_faber_signed_and_refuses_all_else(settings: Settings) -> None:
    settings.FABER_CALLBACK_ALLOW = read_allowed("127.0.0.1")
    webhook = endpoints.add(
        "http://127.0.0.1:9/", events.read(["run.started"]), project=None, actor=f.STARTER
    )
    f.start(f.five_steps())
    with receiver(endpoints.secret_of(webhook)) as port:
        WebhookEndpoint.objects.update(url=f"http://127.0.0.1:{port}/")
        sending.send_due()
        assert WebhookDelivery.objects.get().response_code == 204

        endpoints.rotate(webhook, f.STARTER)
        sending.send_again(WebhookDelivery.objects.all())
        sending.send_due()
        assert WebhookDelivery.objects.get().response_code == 204, "the old secret fits for a day"

        WebhookEndpoint.objects.update(endpoint_id="wh_another")
        sending.send_again(WebhookDelivery.objects.all())
        sending.send_due()
        assert WebhookDelivery.objects.get().response_code == 401


def test_every_event_is_on_the_page() -> None:
    listed = re.findall(r"^\| `([a-z]+\.[a-z]+)` \|", PAGE, re.MULTILINE)

    assert listed == list(events.WebhookEvent)


def test_every_command_about_webhooks_is_executed(monkeypatch: pytest.MonkeyPatch) -> None:
    # Names are looked up when an address is added, and there may be no network.
    monkeypatch.setattr(outbound, "resolve", lambda _host, _port: ["93.184.215.14"])
    f.start(f.five_steps())
    endpoints.add(
        "https://example.org/one", events.read(["run.started"]), project=None, actor=f.STARTER
    )
    f.start(f.five_steps())
    delivery = WebhookDelivery.objects.get()
    shown = {
        "wh_1f0c9a7b3d52": delivery.endpoint.endpoint_id,
        "msg_8d1c…": delivery.delivery_id,
    }

    executed("webhook-commands", shown)

    assert [webhook.url for webhook in WebhookEndpoint.objects.all()] == [
        "https://example.org/faber"
    ]
