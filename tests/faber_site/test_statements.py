"""What pages and calls cost in statements: the same for one row and for two hundred."""

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from bench.ground import filling
from feedback.models import FeedbackRequest, WebhookEndpoint
from runs.accounts import tokens, users
from runs.domain.values.actors import Role, Scope
from runs.models import AccessToken, Batch, Event, Project, Run
from tests import factories as f

pytestmark = [pytest.mark.django_db, pytest.mark.database, pytest.mark.slow]

FEW, MANY = 3, 200

# Every list, and every page or call whose length depends on rows of the site.
PLACES = (
    "/",
    "/?q=acme",
    "/?mine=1",
    "/?sort=title",
    "/waiting/",
    "/requests/REQUEST/",
    "/runs/",
    "/runs/?q=acme",
    "/runs/?status=completed",
    "/runs/?project=acme/app-1",
    "/runs/RUN/",
    "/batches/BATCH/",
    "/projects/",
    "/projects/acme/app-1/",
    "/start/",
    "/audit/",
    "/audit/?q=approve",
    "/statistics/",
    "/costs/",
    "/rules/",
    "/webhooks/",
    "/doctor/",
    "/account/tokens/",
    "/account/sessions/",
    "/account/notices/",
    "/account/notices/newest/?after=0",
    "/api/v1/runs?limit=200",
    "/api/v1/runs?limit=200&q=acme",
    "/api/v1/runs?limit=200&work_id=1",
    "/api/v1/runs/RUN",
    "/api/v1/runs/RUN/state",
    "/api/v1/runs/RUN/events?limit=1000",
    "/api/v1/runs/RUN/verification",
    "/api/v1/runs/RUN/context",
    "/api/v1/requests?limit=200",
    "/api/v1/requests?limit=200&assigned=me",
    "/api/v1/requests/REQUEST",
    "/api/v1/batches/BATCH",
    "/api/v1/webhooks",
)
# A list that is empty at first has no rows to ask for.
ALLOWED = 1


@pytest.fixture
def program() -> dict[str, str]:
    user = users.create("olga", role=Role.ADMIN)
    user.is_staff = user.is_superuser = True
    user.save()
    _, secret = tokens.create("bench", scope=Scope.OPERATOR, user=user)
    return {"Authorization": f"Bearer {secret}"}


def grow(run: Run, wanted: int) -> None:
    """So many of everything that a list may show."""
    filling.fill_up_to(wanted, waiting_each=2)
    asked = {"project": run.project, "workflow_id": run.workflow_id, "started_by": "olga"}
    batch, _ = Batch.objects.get_or_create(batch_id="many", defaults=asked)
    copies = Run.objects.filter(pk__gt=run.pk, pk__lte=run.pk + MANY // 2)
    copies.update(batch=batch, project=run.project)
    for number in range(wanted):
        Project.objects.get_or_create(name=f"acme/app-{number}")
        AccessToken.objects.get_or_create(name=f"t{number}", digest=f"{number:064}", scope="agent")
        WebhookEndpoint.objects.get_or_create(endpoint_id=f"wh-{number}", url="https://192.0.2.1/")
    last = run.events.latest("number")
    Event.objects.bulk_create(
        filling.like(last, number=number) for number in range(last.number + 1, wanted)
    )


def test_everything_costs_as_many_statements_for_many_rows_as_for_one(
    client: Client, program: dict[str, str]
) -> None:
    client.force_login(users.find("olga"))
    run = f.answered(f.started(f.five_steps()), "approve")
    counted: list[dict[str, int]] = []
    for wanted in (FEW, MANY):
        grow(run, wanted)
        asked = FeedbackRequest.objects.filter(status="pending")[0]
        named = {"RUN": run.run_id, "REQUEST": asked.request_id, "BATCH": "many"}
        counted.append({place: _statements(client, place, named, program) for place in PLACES})

    few, many = counted
    assert {
        place: (few[place], many[place]) for place in PLACES if many[place] > few[place] + ALLOWED
    } == {}


def _statements(client: Client, place: str, named: dict[str, str], program: dict[str, str]) -> int:
    for word, name in named.items():
        place = place.replace(word, name)
    headers = program if place.startswith("/api/") else {}
    client.get(place, headers=headers)  # what is remembered in the process is not what it costs
    with CaptureQueriesContext(connection) as made:
        response = client.get(place, headers=headers)
    assert response.status_code in (200, 204), place
    return len(made)
