"""A clock that is set back keeps nothing waiting for the moment at which it was set."""

import time
from datetime import datetime, timedelta

import pytest
from django.db import OperationalError, connection
from django.utils import timezone
from django_q.models import OrmQ

from faber_site.runtime import set_back
from faber_site.runtime.set_back import ClockWatch
from feedback.models import Delivery, InboundComment, Webhook
from runs.jobs import queue
from runs.jobs.table import Job

pytestmark = pytest.mark.django_db

AHEAD = timedelta(minutes=10)
on_one_host = pytest.mark.skipif(
    connection.vendor != "sqlite", reason="hosts that share a database go by its clock"
)


def turn(monkeypatch: pytest.MonkeyPatch, by: timedelta) -> None:
    wrong = time.time() + by.total_seconds()
    monkeypatch.setattr(time, "time", lambda: wrong)


def stamped(moment: datetime) -> tuple[Delivery, InboundComment, Webhook]:
    """What somebody noted whose clock was ahead."""
    said = Delivery.objects.create(mark="m", repository="acme/app", issue=1, next_try_at=moment)
    heard = InboundComment.objects.create(
        repository="acme/app",
        issue=1,
        comment_id=1,
        author="rita",
        commented_at=timezone.now(),
        try_at=moment,
    )
    brought = Webhook.objects.create(delivery_id="d", event="e", body=b"", try_at=moment)
    return said, heard, brought


@on_one_host
def test_what_was_due_by_a_clock_that_was_ahead_is_due_by_the_right_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    watch = ClockWatch()
    queue.enqueue_at(timezone.now() + AHEAD, Job.DELIVER, 1)
    rows = stamped(timezone.now() + AHEAD)

    turn(monkeypatch, -AHEAD - timedelta(seconds=1))
    watch.catch_up()

    now = timezone.now()
    assert OrmQ.objects.get().lock <= now
    for row in rows:
        row.refresh_from_db()
    said, heard, brought = rows
    assert max(said.next_try_at, heard.try_at, brought.try_at) <= now


@on_one_host
def test_what_waits_goes_on_waiting_for_as_long_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    watch, pause = ClockWatch(), timedelta(minutes=5)
    said, _, _ = stamped(timezone.now() + AHEAD + pause)

    turn(monkeypatch, -AHEAD)
    watch.catch_up()

    said.refresh_from_db()
    assert abs(said.next_try_at - timezone.now() - pause) < timedelta(minutes=1)


@pytest.mark.parametrize("by", [AHEAD, timedelta(seconds=-1)])
def test_a_clock_that_is_put_forward_or_slewed_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, by: timedelta
) -> None:
    watch, moment = ClockWatch(), timezone.now() + 2 * AHEAD
    said, _, _ = stamped(moment)

    turn(monkeypatch, by)
    watch.catch_up()

    said.refresh_from_db()
    assert said.next_try_at == moment


@on_one_host
def test_what_could_not_be_brought_forward_is_at_the_next_look(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    watch = ClockWatch()
    said, _, _ = stamped(timezone.now() + AHEAD)
    turn(monkeypatch, -AHEAD)

    def locked(by: timedelta) -> None:
        raise OperationalError("database is locked")

    with monkeypatch.context() as patched:
        patched.setattr(set_back, "bring_forward", locked)
        with pytest.raises(OperationalError):
            watch.catch_up()
    watch.catch_up()

    said.refresh_from_db()
    assert said.next_try_at <= timezone.now() + timedelta(seconds=5)


def test_hosts_that_share_a_database_go_by_its_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    watch, moment = ClockWatch(), timezone.now() + AHEAD
    said, _, _ = stamped(moment)
    monkeypatch.setattr(connection, "vendor", "postgresql")

    turn(monkeypatch, -AHEAD)
    watch.catch_up()

    said.refresh_from_db()
    assert said.next_try_at == moment
