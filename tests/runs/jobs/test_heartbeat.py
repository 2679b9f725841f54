from datetime import timedelta

import pytest
from django.utils import timezone
from pytest_django.fixtures import Settings

from runs.jobs import heartbeat
from runs.jobs.table import Lane
from runs.models import WorkerBeat
from tests import brokers, workers

pytestmark = [pytest.mark.django_db, pytest.mark.database]


def ago(**units: float) -> dict[str, object]:
    then = timezone.now() - timedelta(**units)
    return {"beat_at": then, "short_beat_at": then}


def test_without_a_beat_no_worker_is_alive() -> None:
    assert heartbeat.ages() == dict.fromkeys(Lane)
    assert not heartbeat.worker_is_alive()


def test_whoever_queues_a_job_hears_why_it_waits(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert heartbeat.why_nothing_runs().startswith("No worker is running. Start one")

    brokers.use_none(settings, monkeypatch)
    assert heartbeat.why_nothing_runs().startswith("The broker of the job queue is out of reach.")

    workers.report()
    assert heartbeat.why_nothing_runs() == ""


def test_a_beat_of_each_lane_shows_that_workers_are_alive() -> None:
    heartbeat.record()
    assert heartbeat.silent(heartbeat.ages()) == [Lane.SHORT]

    heartbeat.record_short()

    assert heartbeat.worker_is_alive()


def test_a_beat_of_the_short_lane_says_nothing_about_steps() -> None:
    heartbeat.record_short()

    assert heartbeat.ages()[Lane.STEPS] is None


def test_a_host_has_one_row_with_its_latest_beats() -> None:
    workers.report()
    WorkerBeat.objects.update(**ago(hours=1))

    workers.report()

    ages = [age for age in heartbeat.ages().values() if age is not None]
    assert len(ages) == len(Lane)
    assert max(ages) < timedelta(seconds=5)
    assert WorkerBeat.objects.count() == 1


def test_old_beats_show_nothing() -> None:
    WorkerBeat.objects.create(host="first", **ago(seconds=30))

    age = heartbeat.ages()[Lane.STEPS]
    assert age is not None
    assert timedelta(seconds=29) < age < timedelta(seconds=60)
    assert not heartbeat.worker_is_alive()


def test_a_beat_of_any_host_counts() -> None:
    WorkerBeat.objects.create(host="first", **ago(hours=1))
    WorkerBeat.objects.create(host="second", **ago(seconds=1))

    assert heartbeat.worker_is_alive()
