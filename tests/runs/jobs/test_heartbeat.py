from datetime import timedelta

import pytest
from django.utils import timezone

from runs.jobs import heartbeat
from runs.models import StepAttempt, WorkerBeat
from tests import factories

pytestmark = [pytest.mark.django_db, pytest.mark.database]


def ago(**units: float) -> dict[str, object]:
    return {"beat_at": timezone.now() - timedelta(**units)}


def test_without_a_beat_no_worker_is_alive() -> None:
    assert heartbeat.latest_age() is None
    assert not heartbeat.worker_is_alive()


def test_a_beat_shows_that_a_worker_is_alive() -> None:
    heartbeat.record()

    assert heartbeat.worker_is_alive()


def test_a_host_has_one_beat_its_latest() -> None:
    heartbeat.record()
    WorkerBeat.objects.update(**ago(hours=1))

    heartbeat.record()

    age = heartbeat.latest_age()
    assert age is not None
    assert age < timedelta(seconds=5)
    assert WorkerBeat.objects.count() == 1


def test_an_old_beat_shows_nothing() -> None:
    WorkerBeat.objects.create(host="first", **ago(seconds=30))

    age = heartbeat.latest_age()
    assert age is not None
    assert timedelta(seconds=29) < age < timedelta(seconds=60)
    assert not heartbeat.worker_is_alive()


def test_a_beat_of_any_host_counts() -> None:
    WorkerBeat.objects.create(host="first", **ago(hours=1))
    WorkerBeat.objects.create(host="second", **ago(seconds=1))

    assert heartbeat.worker_is_alive()


def attempt_with_lease(*, seconds: int, is_remote: bool = False) -> None:
    factories.start(factories.five_steps())
    StepAttempt.objects.update(
        status=StepAttempt.Status.RUNNING,
        is_remote=is_remote,
        lease_until=timezone.now() + timedelta(seconds=seconds),
    )


def test_workers_too_busy_for_a_beat_are_alive() -> None:
    attempt_with_lease(seconds=8)

    assert heartbeat.worker_is_alive()


def test_a_lease_that_ran_out_shows_nothing() -> None:
    attempt_with_lease(seconds=-1)

    assert not heartbeat.worker_is_alive()


def test_a_step_of_an_outside_executor_says_nothing_about_workers() -> None:
    attempt_with_lease(seconds=600, is_remote=True)

    assert not heartbeat.worker_is_alive()
