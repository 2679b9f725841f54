import json

import pytest
from pytest_django.fixtures import Settings

from feedback.channels.callbacks.addresses import read_allowed
from feedback.channels.webhooks import endpoints
from feedback.models import WebhookDelivery, WebhookEndpoint
from runs.models import AuditEntry, Project
from tests import factories as f
from tests.commands import faber

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def allowed(settings: Settings) -> None:
    settings.FABER_CALLBACK_ALLOW = read_allowed("127.0.0.1")


def added(*more: str) -> dict[str, object]:
    done = faber("webhook", "add", "http://127.0.0.1:9/hook", *more, "--json")
    assert done.code == 0, done.err
    document: dict[str, object] = json.loads(done.out)
    return document


def test_a_webhook_is_added_with_a_secret_that_is_shown_once() -> None:
    made = added("--event", "request.opened,run.finished")

    assert set(made) == {"id", "url", "events", "secret"}
    assert made["events"] == ["request.opened", "run.finished"]
    assert str(made["secret"]).startswith("whsec_")
    listed = faber("webhook", "list", "--json")
    assert str(made["id"]) in listed.out
    assert str(made["secret"]) not in listed.out
    assert str(made["secret"]).removeprefix("whsec_") not in str(WebhookEndpoint.objects.values())
    told = AuditEntry.objects.get(what__startswith="added webhook")
    assert str(made["id"]) in told.what
    assert "/hook" not in told.what, "the path may hold a secret"


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("http://10.0.0.1/", "private or special"),
        ("https://[::1]/", "private or special"),
        ("ftp://example.org/", "is not a URL"),
        ("http://9.9.9.9/", "must start with https://"),
    ],
)
def test_an_address_that_will_not_be_called_is_refused(url: str, told: str) -> None:
    done = faber("webhook", "add", url)

    assert done.code == 2
    assert told in done.err
    assert not WebhookEndpoint.objects.exists()


def test_an_unknown_event_is_refused() -> None:
    done = faber("webhook", "add", "http://127.0.0.1:9/", "--event", "run.finish")

    assert done.code == 2
    assert "Did you mean run.finished?" in done.err
    assert not WebhookEndpoint.objects.exists()


def test_a_webhook_can_be_for_one_project() -> None:
    Project.objects.create(name="Acme/App")

    assert added("--project", "acme/app")["project"] == "Acme/App"
    assert faber("webhook", "add", "http://127.0.0.1:9/", "--project", "acme/no").code == 6


def test_a_webhook_is_rotated_and_removed() -> None:
    made = added()
    rotated = json.loads(faber("webhook", "rotate", str(made["id"]), "--json").out)
    assert rotated["secret"] != made["secret"]
    assert rotated["secret"] == endpoints.secret_of(WebhookEndpoint.objects.get())

    assert faber("webhook", "remove", str(made["id"])).code == 0
    assert not WebhookEndpoint.objects.exists()
    assert faber("webhook", "remove", str(made["id"])).code == 6
    assert faber("webhook", "list").out.strip() == "There are no webhooks."


def test_deliveries_are_listed_and_sent_again() -> None:
    made = added()
    run = f.started(f.five_steps())
    listed = json.loads(faber("webhook", "deliveries", str(made["id"]), "--json").out)["items"]

    assert [each["event"] for each in listed] == ["request.opened", "run.started"]
    assert (listed[1]["about"], listed[1]["state"]) == (run.run_id, "waiting")
    WebhookDelivery.objects.update(is_due=False, last_error="it returned 500", attempts=10)
    assert "given up" in faber("webhook", "deliveries").out

    done = json.loads(faber("webhook", "redeliver", listed[0]["id"], "--json").out)
    assert (done["id"], done["state"], done["attempts"]) == (listed[0]["id"], "waiting", 0)
    assert WebhookDelivery.objects.filter(is_due=True).count() == 1
    assert faber("webhook", "redeliver", "msg_nothing").code == 6
