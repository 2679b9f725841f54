"""What pages and calls cost in statements: the same for one row and for two hundred."""

import re
from collections.abc import Iterator
from http import HTTPStatus
from uuid import uuid4

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import URLResolver, get_resolver, resolve

from bench.ground import filling
from feedback.models import FeedbackRequest, WebhookEndpoint
from runs.accounts import tokens, users
from runs.domain.values.actors import Role, Scope
from runs.models import AccessToken, Batch, Event, Project, Run
from tests import factories as f
from tests.faber_site import belongings

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
    "/requests/REQUEST/held/",
    "/requests/REQUEST/remarks/?line=1",
    "/runs/",
    "/runs/?q=acme",
    "/runs/?status=completed",
    "/runs/?project=acme/app-1",
    "/runs/RUN/",
    "/runs/RUN/state.json",
    "/runs/RUN/files/1/notes-0.md",
    "/batches/?runs=SELECTED",
    "/batches/prompt/?runs=SELECTED",
    "/batches/draft/?runs=SELECTED",
    "/batches/peek/REQUEST/?runs=SELECTED",
    "/batches/BATCH/",
    "/batches/BATCH/prompt/",
    "/batches/BATCH/draft/",
    "/batches/BATCH/peek/REQUEST/",
    "/projects/",
    "/projects/acme/app-1/",
    "/start/",
    "/audit/",
    "/audit/?q=approve",
    "/audit.csv",
    "/statistics/",
    "/costs/",
    "/rules/",
    "/webhooks/",
    "/webhooks/wh-0/",
    "/doctor/",
    "/account/stand-in/",
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
    "/api/v1/requests/REQUEST/wait?timeout=0",
    "/api/v1/batches?runs=SELECTED",
    "/api/v1/batches/prompt?runs=SELECTED",
    "/api/v1/batches/BATCH",
    "/api/v1/batches/BATCH/prompt",
    "/api/v1/webhooks",
    "/api/v1/webhooks/wh-0/deliveries",
    "/metrics",
)
# Where nothing depends on how many rows there are: one file, one form, no database at all.
NO_LIST = (
    "admin/",
    "docs/",
    "github/",
    "theme/",
    "favicon",
    "schemas/",
    "login/",
    "diagram/",
    "doctor/proxy/",
    *(f"requests/<slug:request_id>/{part}/" for part in ("artifacts", "changes", "draft")),
    "requests/<slug:request_id>/remarks/<int:pk>/",
    *(f"runs/<run_id:run_id>/{part}/" for part in ("artifacts", "attempts", "context", "pictures")),
    "api/v1/runs/<path:run_id>/changes",
    "api/v1/docs",
    "api/v1/openapi.json",
    "api/v1/^(?P<rest>(?s:.+))$",
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
    olga = users.find("olga")
    belongings.of_run(run, wanted)
    belongings.of_request(asked_first(), olga, wanted)
    belongings.of_site(run, olga, wanted)


def asked_first() -> FeedbackRequest:
    return FeedbackRequest.objects.filter(status="pending").earliest("pk")


def test_everything_costs_as_many_statements_for_many_rows_as_for_one(
    client: Client, program: dict[str, str]
) -> None:
    client.force_login(users.find("olga"))
    f.answered(f.started(f.five_steps()), "approve")  # the one that is copied
    run = f.answered(f.started(f.five_steps()), "approve")
    counted: list[dict[str, int]] = []
    for wanted in (FEW, MANY):
        grow(run, wanted)
        named = names(run)
        counted.append({place: _statements(client, place, named, program) for place in PLACES})

    few, many = counted
    assert {
        place: (few[place], many[place]) for place in PLACES if many[place] > few[place] + ALLOWED
    } == {}


def test_every_page_and_call_that_can_be_read_is_counted(
    client: Client, program: dict[str, str]
) -> None:
    """What is missing here either only takes what is sent, or has to come into the list."""
    client.force_login(users.find("olga"))
    counted = {resolve(_filled(place).partition("?")[0]).route for place in PLACES}
    others = [route for route in _routes(get_resolver()) if route not in {*counted, "api/v1/"}]

    assert [
        route
        for route in others
        if not route.startswith(NO_LIST)
        and client.get(_filled(f"/{route}"), headers=program).status_code
        != HTTPStatus.METHOD_NOT_ALLOWED
    ] == []


def _routes(resolver: URLResolver, before: str = "") -> Iterator[str]:
    for each in resolver.url_patterns:
        route = f"{before}{each.pattern}"
        if isinstance(each, URLResolver):
            yield from _routes(each, route)
        else:
            yield route


def _filled(place: str) -> str:
    """With a name of the right form wherever one belongs."""
    place = (
        place.replace("RUN", f"acme/app/{uuid4()}").replace("BATCH", "b").replace("REQUEST", "r")
    )
    place = re.sub("<run_id:[a-z_]+>", f"acme/app/{uuid4()}", place)
    return re.sub("<stream:[a-z_]+>", "stdout", re.sub("<[a-z_:]+>", "1", place))


def names(run: Run) -> dict[str, str]:
    """What the words in capitals stand for."""
    asked = asked_first()
    return {
        "RUN": run.run_id,
        "REQUEST": asked.request_id,
        "SELECTED": ",".join(Run.objects.order_by("pk").values_list("run_id", flat=True)[:100]),
        "BATCH": "many",
    }


def _statements(client: Client, place: str, named: dict[str, str], program: dict[str, str]) -> int:
    for word, name in named.items():
        place = place.replace(word, name)
    headers = program if place.startswith(("/api/", "/metrics")) else _of_fragment(place)
    client.get(place, headers=headers)  # what is remembered in the process is not what it costs
    with CaptureQueriesContext(connection) as made:
        response = client.get(place, headers=headers)
    assert response.status_code in (200, 202, 204), place
    return len(made)


def _of_fragment(place: str) -> dict[str, str]:
    """Who asks for it without JavaScript is led to the whole page."""
    return {"HX-Request": "true"} if "/peek/" in place else {}
