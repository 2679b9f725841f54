from datetime import timedelta

import pytest
from django.db import OperationalError
from django.http import HttpResponse
from django.test import Client, RequestFactory
from django.urls import path
from django.utils import timezone
from pytest_django import Settings

from faber_site.monitoring import health
from runs import engine
from runs.jobs import agreement
from runs.jobs.agreement import Disagreement, Matter
from runs.jobs.table import Lane
from runs.models import WorkerBeat, migrate
from runs.worker.advance import worker_name
from tests import brokers, factories, workers

urlpatterns = [path("healthz", health.healthz), path("readyz", health.readyz)]
pytestmark = pytest.mark.urls(__name__)


def test_a_living_process_says_ok_to_everybody(client: Client) -> None:
    response = client.get("/healthz")

    assert (response.status_code, response.content) == (200, b"ok")


@pytest.mark.django_db
def test_with_database_and_worker_it_is_ready(client: Client) -> None:
    workers.report()

    response = client.get("/readyz")

    assert response.status_code == 200
    assert response.json()["ready"] is True
    assert response.json()["last_beat_seconds"] < 5


@pytest.mark.django_db
def test_a_silent_worker_is_named_with_the_age_of_its_last_beat(client: Client) -> None:
    then = timezone.now() - timedelta(seconds=90)
    WorkerBeat.objects.create(host="first", beat_at=then, short_beat_at=then)

    response = client.get("/readyz")

    assert response.status_code == 503
    assert response.json()["not_ready"] == {"worker": "No worker has reported for 90 s."}
    assert response.json()["last_beat_seconds"] == pytest.approx(90, abs=5)


@pytest.mark.django_db
def test_what_a_probe_is_told_is_no_error_of_the_log(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    assert client.get("/readyz").status_code == 503

    assert caplog.messages == []


@pytest.mark.django_db
def test_a_broker_that_is_down_is_named_without_its_address(
    client: Client,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    workers.report()
    brokers.use_none(settings, monkeypatch)

    response = client.get("/readyz")

    assert response.status_code == 503
    assert response.json()["not_ready"] == {"queue": "The broker of the job queue is out of reach."}
    assert caplog.messages == []


@pytest.mark.django_db
def test_a_worker_that_never_reported_is_named(client: Client) -> None:
    assert "worker" in client.get("/readyz").json()["not_ready"]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("lane", "told"),
    [
        (Lane.SHORT, "No worker handles steps."),
        (Lane.STEPS, "No worker handles answers, comments and deliveries."),
    ],
)
def test_a_lane_that_is_silent_alone_is_named(client: Client, lane: Lane, told: str) -> None:
    workers.report(lane)

    response = client.get("/readyz")

    assert response.status_code == 503
    assert response.json()["not_ready"] == {"worker": told}


@pytest.mark.django_db
def test_a_run_that_a_terminal_executes_is_no_worker(client: Client) -> None:
    run = factories.start(factories.five_steps())
    assert engine.claim(run.pk, worker_name())

    response = client.get("/readyz")

    assert response.status_code == 503
    assert "worker" in response.json()["not_ready"]


@pytest.mark.django_db
def test_an_old_database_is_named(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migrate, "is_up_to_date", lambda: False)

    response = client.get("/readyz")

    assert response.status_code == 503
    assert list(response.json()["not_ready"]) == ["migrations"]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("about", "status"), [(Matter.KEYS, 503), (Matter.CLOCKS, 200), (Matter.FOLDERS, 200)]
)
def test_what_machines_disagree_about_is_told_without_their_names(
    client: Client, monkeypatch: pytest.MonkeyPatch, about: Matter, status: int
) -> None:
    workers.report()
    found = Disagreement(about=about, what="Of db-3", cause="/srv", repair="Mend db-3.", hosts=())
    monkeypatch.setattr(agreement, "disagreements", lambda: [found])

    response = client.get("/readyz")

    assert response.status_code == status
    assert response.json()["warnings"] == {about.name.lower(): str(about)}
    assert list(response.json()["not_ready"]) == (["keys"] if about is Matter.KEYS else [])
    assert "db-3" not in response.text


def test_an_unreachable_database_is_named_without_its_secrets(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> bool:
        raise OperationalError("no route to db.internal for user faber")

    monkeypatch.setattr(migrate, "is_up_to_date", fail)

    response = client.get("/readyz")

    assert response.status_code == 503
    assert response.json()["not_ready"] == {"database": "The database can't be read."}


def test_nothing_is_changed_by_asking() -> None:
    post = RequestFactory().post("/healthz")

    answers: list[HttpResponse] = [health.healthz(post), health.readyz(post)]

    assert [answer.status_code for answer in answers] == [405, 405]
