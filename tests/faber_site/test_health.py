from datetime import timedelta

import pytest
from django.db import OperationalError
from django.http import HttpResponse
from django.test import Client, RequestFactory
from django.urls import path
from django.utils import timezone

from faber_site import health
from runs.jobs import heartbeat
from runs.models import WorkerBeat, migrate

urlpatterns = [path("healthz", health.healthz), path("readyz", health.readyz)]
pytestmark = pytest.mark.urls(__name__)


def test_a_living_process_says_ok_to_everybody(client: Client) -> None:
    response = client.get("/healthz")

    assert (response.status_code, response.content) == (200, b"ok")


@pytest.mark.django_db
def test_with_database_and_worker_it_is_ready(client: Client) -> None:
    heartbeat.record()

    response = client.get("/readyz")

    assert response.status_code == 200
    assert response.json()["ready"] is True
    assert response.json()["last_beat_seconds"] < 5


@pytest.mark.django_db
def test_a_silent_worker_is_named_with_the_age_of_its_last_beat(client: Client) -> None:
    WorkerBeat.objects.create(host="first", beat_at=timezone.now() - timedelta(seconds=90))

    response = client.get("/readyz")

    assert response.status_code == 503
    assert response.json()["not_ready"] == {"worker": "No worker has reported for 90 s."}
    assert response.json()["last_beat_seconds"] == pytest.approx(90, abs=5)


@pytest.mark.django_db
def test_a_worker_that_never_reported_is_named(client: Client) -> None:
    assert "worker" in client.get("/readyz").json()["not_ready"]


@pytest.mark.django_db
def test_an_old_database_is_named(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migrate, "is_up_to_date", lambda: False)

    response = client.get("/readyz")

    assert response.status_code == 503
    assert list(response.json()["not_ready"]) == ["migrations"]


def test_an_unreachable_database_is_named_without_its_secrets(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> bool:
        raise OperationalError("no route to db.internal for user faber")

    monkeypatch.setattr(migrate, "is_up_to_date", fail)

    response = client.get("/readyz")

    assert response.status_code == 503
    assert response.json()["not_ready"] == {"database": "The database cannot be read."}


def test_nothing_is_changed_by_asking() -> None:
    post = RequestFactory().post("/healthz")

    answers: list[HttpResponse] = [health.healthz(post), health.readyz(post)]

    assert [answer.status_code for answer in answers] == [405, 405]
