"""What was posted to Discord or Slack is rewritten when somebody decides."""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler

import pytest
from pytest_django.fixtures import Settings

from feedback.channels.notices import editable
from feedback.models import Notice
from tests import factories as f
from tests import receiver
from tests.jobs import work_off
from tests.receiver import Receiver

pytestmark = pytest.mark.django_db

DISCORD_URL = "discord://4174216298/JHMHI8qBe7bk2ZwO5U711o3dV_js"
SLACK_URL = "slack://xoxb-1234-1234-abcABC/#reviews"


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    with receiver.running() as running:
        monkeypatch.setattr(editable, "DISCORD", f"http://127.0.0.1:{running.port}")
        monkeypatch.setattr(editable, "SLACK", f"http://127.0.0.1:{running.port}")
        yield running


def saying(document: object, status: int = 200) -> receiver.Fault:
    def say(handler: BaseHTTPRequestHandler) -> None:
        body = json.dumps(document).encode()
        handler.send_response(status)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return say


def decide() -> None:
    run = f.started(f.five_steps())
    work_off()
    f.answer(run, "approve", "Fine.")
    work_off()


def test_a_discord_message_is_rewritten(service: Receiver, settings: Settings) -> None:
    settings.FABER_NOTIFY_URLS = (DISCORD_URL,)
    service.faults = [saying({"id": "77"}), saying({"id": "77"}), saying({"id": "78"})]
    decide()

    opened, decided, ended = service.calls
    webhook = "/api/webhooks/4174216298/JHMHI8qBe7bk2ZwO5U711o3dV_js"
    assert (opened.method, opened.path) == ("POST", f"{webhook}?wait=true")
    assert (decided.method, decided.path) == ("PATCH", f"{webhook}/messages/77")
    assert "Waiting for a decision" in opened.document["content"]
    assert opened.document["allowed_mentions"] == {"parse": []}
    assert "Rita answered approve. Fine." in decided.document["content"]
    assert "choose=" not in decided.document["content"]
    assert "Run completed" in ended.document["content"]


def test_a_slack_message_is_rewritten(service: Receiver, settings: Settings) -> None:
    settings.FABER_NOTIFY_URLS = (SLACK_URL,)
    said = saying({"ok": True, "ts": "1.5", "channel": "C1"})
    service.faults = [said, said, said]
    decide()

    opened, decided, _ = service.calls
    assert (opened.path, decided.path) == ("/api/chat.postMessage", "/api/chat.update")
    assert opened.headers["authorization"] == "Bearer xoxb-1234-1234-abcABC"
    assert opened.document["channel"] == "#reviews"
    assert "?choose=approve|Approve>" in opened.document["text"]
    assert (decided.document["channel"], decided.document["ts"]) == ("C1", "1.5")
    assert "Rita answered approve" in decided.document["text"]


def test_what_slack_refuses_is_tried_again(service: Receiver, settings: Settings) -> None:
    settings.FABER_NOTIFY_URLS = (SLACK_URL,)
    service.faults = [saying({"ok": False, "error": "not_in_channel"})]
    f.started(f.five_steps())
    work_off()

    notice = Notice.objects.get()
    assert notice.last_error == "Slack answered not_in_channel"
    assert notice.is_due


def test_a_deleted_message_stays_deleted(service: Receiver, settings: Settings) -> None:
    settings.FABER_NOTIFY_URLS = (DISCORD_URL,)
    service.faults = [saying({"id": "77"}), saying({}, 404), saying({"id": "78"})]
    decide()

    assert not Notice.objects.filter(is_due=True).exists()
    assert [call.method for call in service.calls] == ["POST", "PATCH", "POST"]


def test_text_from_outside_calls_nobody(service: Receiver, settings: Settings) -> None:
    settings.FABER_NOTIFY_URLS = (SLACK_URL,)
    f.started(
        f.workflow({"build": [f.step("a", requires_approval=True, question="<!channel> & go")]})
    )
    work_off()

    assert "<!channel>" not in service.calls[0].document["text"]


@pytest.mark.parametrize(
    ("url", "can"),
    [
        (DISCORD_URL, True),
        ("https://discord.com/api/webhooks/1/abc", True),
        (SLACK_URL, True),
        ("slack://bot@xoxb-1-2-c/%23general/", True),
        ("slack://xoxb-1-2-c/#one/#two", False),
        ("slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ", False),
        ("discord://1/abc?tts=yes", False),
        ("json://127.0.0.1/", False),
    ],
)
def test_only_plain_addresses_can_be_edited(url: str, can: bool) -> None:
    assert editable.can_edit(url) is can
