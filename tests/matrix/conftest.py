"""One open and one closed project, each with a run that asks and one that waits for an executor."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest
from django.core.cache import cache
from django.db import transaction

from feedback.models import FeedbackRequest, StandingRule, WebhookDelivery, WebhookEndpoint
from runs.accounts.rate_limit import Buckets
from runs.api import auth
from runs.engine import Start, start
from runs.models import Batch, Project, Run
from tests import factories as f
from tests.matrix.people import make_people


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What stands in one project."""

    project: Project
    asking: Run
    remote: Run
    batch: Batch
    webhook: WebhookEndpoint
    delivery: WebhookDelivery

    @property
    def request(self) -> FeedbackRequest:
        return f.pending(self.asking)


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    open: Place
    closed: Place

    def place(self, name: str) -> Place:
        return self.open if name == "open" else self.closed


@contextmanager
def taken_back() -> Iterator[None]:
    """Whatever is done inside never was."""
    cache.clear()
    with transaction.atomic():
        yield
        transaction.set_rollback(True)
    cache.clear()


@pytest.fixture
def site(
    db: None, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Site:
    monkeypatch.setattr(auth, "BUCKETS", Buckets(burst=10_000, per_second=1000))
    folder = tmp_path_factory.mktemp("work")
    places = {}
    for name, visibility in (("open", "everyone"), ("closed", "members")):
        project = Project.objects.create(name=f"Acme/{name}", visibility=visibility)
        StandingRule.objects.create(
            project=project, tool="Bash", pattern="ls", effect="allow", mode="on", made_by="x"
        )
        batch = Batch.objects.create(
            batch_id=f"coord-20261116-{name}", project=project, workflow_id="small", started_by="x"
        )
        step = f.step(
            "two",
            "tests.steps:revise_list",
            artifact="list.md",
            requires_approval=True,
            approval_type="review",
        )
        asking = f.work(_started(project, f.workflow({"build": [step]}), folder, batch))
        away: list[f.Json] = [{"id": "away", "remote": True}]
        remote = _started(project, f.workflow({"build": away}), folder, None)
        webhook = WebhookEndpoint.objects.create(
            endpoint_id=f"wh_{name}", url="https://192.0.2.1/", project=project, created_by="x"
        )
        delivery = WebhookDelivery.objects.create(
            delivery_id=f"msg_{name}", endpoint=webhook, event="run.started", event_key="x"
        )
        places[name] = Place(
            project=project,
            asking=asking,
            remote=remote,
            batch=batch,
            webhook=webhook,
            delivery=delivery,
        )
    make_people(*(place.project for place in places.values()))
    return Site(**places)


def _started(project: Project, document: f.Json, folder: object, batch: Batch | None) -> Run:
    order = Start(
        plan=f.plan_of(document),
        project=project,
        workspace=folder,  # type: ignore[arg-type]
        actor=f.STARTER,
        workflow_ref="core",
        batch=batch,
    )
    return start(order)[0]
