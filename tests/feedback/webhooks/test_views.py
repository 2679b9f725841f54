"""The pages of webhooks, as an operator uses them."""

import pytest
from django.test import Client
from pytest_django.fixtures import Settings

from feedback.channels.callbacks.addresses import read_allowed
from feedback.channels.webhooks import endpoints
from feedback.models import WebhookDelivery, WebhookEndpoint
from runs.domain.values.actors import Role
from runs.models import Project
from tests import factories as f
from tests.api_client import account

pytestmark = pytest.mark.django_db

URL = "http://127.0.0.1:9/hook"


@pytest.fixture(autouse=True)
def allowed(settings: Settings) -> None:
    settings.FABER_CALLBACK_ALLOW = read_allowed("127.0.0.1")


@pytest.fixture
def operator(client: Client) -> Client:
    client.force_login(account("olga", Role.OPERATOR))
    return client


def test_a_webhook_is_added_and_its_secret_shown_once(operator: Client) -> None:
    made = operator.post("/webhooks/", {"url": URL, "project": "", "events": ["run.started"]})

    webhook = WebhookEndpoint.objects.get()
    assert made.status_code == 201
    assert made["Cache-Control"] == "no-store"
    assert endpoints.secret_of(webhook) in made.content.decode()
    assert webhook.events == ["run.started"]
    listed = operator.get("/webhooks/").content.decode()
    assert URL in listed
    assert "whsec_" not in listed


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"url": "http://10.0.0.1/", "events": ["run.started"]}, "This address leads to"),
        ({"url": URL}, "Choose at least one event."),
        ({"url": "", "events": ["run.started"]}, "This field is required."),
        ({"url": URL, "events": ["run.started"], "project": "no/such"}, "Select a valid choice"),
    ],
)
def test_what_is_wrong_is_told_and_changes_nothing(
    operator: Client, fields: dict[str, object], told: str
) -> None:
    refused = operator.post("/webhooks/", fields)

    assert refused.status_code == 422
    assert told in refused.content.decode()
    assert not WebhookEndpoint.objects.exists()


def test_deliveries_are_shown_and_sent_again(operator: Client) -> None:
    webhook = endpoints.add(URL, [], project=None, actor=f.STARTER)
    WebhookEndpoint.objects.update(events=["run.started"])
    run = f.start(f.five_steps())
    WebhookDelivery.objects.update(
        is_due=False, attempts=10, response_code=503, took_ms=37, last_error="it returned 503"
    )

    shown = operator.get(f"/webhooks/{webhook}/").content.decode()
    for part in (run.run_id, "Given up", "HTTP 503", "37 ms", "10 attempts", "It returned 503."):
        assert part in shown
    delivery = WebhookDelivery.objects.get()
    again = operator.post(f"/webhooks/deliveries/{delivery}/redeliver/")

    assert again.status_code == 303
    assert WebhookDelivery.objects.get().is_due


def test_a_webhook_is_rotated_and_removed(operator: Client) -> None:
    webhook = endpoints.add(URL, [], project=None, actor=f.STARTER)
    old = endpoints.secret_of(webhook)

    rotated = operator.post(f"/webhooks/{webhook}/rotate/").content.decode()
    new = endpoints.secret_of(WebhookEndpoint.objects.get())
    assert new != old
    assert new in rotated

    assert operator.post(f"/webhooks/{webhook}/remove/").status_code == 303
    assert not WebhookEndpoint.objects.exists()


def test_who_operates_one_project_sees_its_webhooks_and_no_others(client: Client) -> None:
    head = account("hanna", Role.VIEWER)
    own = Project.objects.create(name="Acme/Own", members=["hanna:operator"])
    other = Project.objects.create(name="Acme/Other")
    for project in (None, own, other):
        name = project.name if project else "site"
        endpoints.add(f"{URL}/{name}", [], project=project, actor=f.STARTER)
    client.force_login(head)

    shown = client.get("/webhooks/").content.decode()

    assert "hook/Acme/Own" in shown
    assert "hook/site" not in shown
    assert "hook/Acme/Other" not in shown
    assert "All projects" not in shown
    everywhere = {"url": URL, "project": "", "events": ["run.started"]}
    assert client.post("/webhooks/", everywhere).status_code == 422
