"""One read is queued for what waits, however often and by how many machines is looked."""

from datetime import timedelta

import pytest
from django.utils import timezone
from django_q.models import OrmQ
from pytest_django import Settings

from feedback.channels.trackers import schedule
from feedback.models import Listening, Webhook
from runs.jobs.table import Job
from runs.trackers import Tracker

pytestmark = [pytest.mark.django_db, pytest.mark.database]

LONG_AGO = timedelta(minutes=10)


def queued(job: Job) -> int:
    return [row.task["func"] for row in OrmQ.objects.all()].count(job.value)


def let_time_pass() -> None:
    """All that waits has waited for long."""
    then = timezone.now() - LONG_AGO
    OrmQ.objects.update(lock=then)
    Webhook.objects.update(try_at=then)
    Listening.objects.update(polled_at=then)


def test_deliveries_that_wait_are_read_by_one_job() -> None:
    for name in ("one", "two"):
        Webhook.objects.create(delivery_id=name, event="issue_comment", body=b"{}")
    let_time_pass()
    for _ in range(3):
        schedule.catch_up([Tracker.GITHUB])
        assert queued(Job.READ_WEBHOOKS) == 1

    let_time_pass()
    schedule.catch_up([Tracker.GITHUB])

    assert queued(Job.READ_WEBHOOKS) == 1


def test_a_repository_gets_no_second_read_while_its_first_waits(settings: Settings) -> None:
    settings.FABER_GITHUB_POLL_SECONDS = 60
    schedule.listen_to(Tracker.GITHUB, "acme/app")
    for _ in range(3):
        schedule.catch_up([Tracker.GITHUB])
        let_time_pass()

    assert queued(Job.POLL) == 1


def test_a_read_that_was_lost_is_queued_again(settings: Settings) -> None:
    settings.FABER_GITHUB_POLL_SECONDS = 60
    schedule.listen_to(Tracker.GITHUB, "acme/app")
    schedule.catch_up([Tracker.GITHUB])
    OrmQ.objects.all().delete()
    let_time_pass()

    schedule.catch_up([Tracker.GITHUB])

    assert queued(Job.POLL) == 1
