import pytest
from pytest_django.fixtures import Settings

from feedback.channels.callbacks.addresses import read_allowed
from feedback.models import WebhookDelivery, WebhookEndpoint
from runs.domain.values.actors import Role, Scope
from runs.models import Project
from tests import factories as f
from tests.api_client import account, body_of, error_of, program

pytestmark = pytest.mark.django_db

URL = "http://127.0.0.1:9/hook"


@pytest.fixture(autouse=True)
def allowed(settings: Settings) -> None:
    settings.FABER_CALLBACK_ALLOW = read_allowed("127.0.0.1")


def test_a_program_adds_rotates_and_removes_a_webhook() -> None:
    operator = program(Scope.OPERATOR, account("olga", Role.OPERATOR))
    made = operator.post("/webhooks", {"url": URL, "events": ["run.started"]})
    assert made.status_code == 201
    webhook = body_of(made)
    (listed,) = body_of(operator.get("/webhooks"))["items"]
    assert (listed["id"], listed["url"], listed["project"]) == (webhook["id"], URL, None)
    assert "secret" not in listed

    f.start(f.five_steps())
    (sent,) = body_of(operator.get(f"/webhooks/{webhook['id']}/deliveries"))["items"]
    assert sent["event"] == "run.started"
    WebhookDelivery.objects.update(is_due=False, attempts=10)
    again = body_of(operator.post(f"/webhooks/deliveries/{sent['id']}/redeliver"))
    assert (again["id"], again["state"]) == (sent["id"], "waiting")

    secret = body_of(operator.post(f"/webhooks/{webhook['id']}/rotate"))["secret"]
    assert secret != webhook["secret"]
    assert operator.delete(f"/webhooks/{webhook['id']}").status_code == 200
    assert not WebhookEndpoint.objects.exists()


def test_a_private_address_and_an_unknown_event_are_refused() -> None:
    operator = program(Scope.OPERATOR, account("olga", Role.OPERATOR))

    private = operator.post("/webhooks", {"url": "http://10.0.0.1/"})
    unknown = operator.post("/webhooks", {"url": URL, "events": ["run.ended"]})

    assert (private.status_code, unknown.status_code) == (422, 422)
    assert "private or special" in error_of(private)["message"]
    assert "no event 'run.ended'" in error_of(unknown)["message"]


def test_who_does_not_see_every_project_adds_no_webhook_of_the_site() -> None:
    """It would hear of projects that do not exist for its maker."""
    Project.objects.create(name="Acme/Open")
    nobodys = program(Scope.OPERATOR)

    refused = nobodys.post("/webhooks", {"url": URL})

    assert refused.status_code == 403
    assert "Name a project" in error_of(refused)["message"]
    assert nobodys.post("/webhooks", {"url": URL, "project": "Acme/Open"}).status_code == 201
