import os
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import (
    OperationalError,
    close_old_connections,
    connection,
    connections,
    transaction,
)
from django.utils import timezone
from django_q.conf import Conf
from django_q.models import OrmQ
from django_q.signing import SignedPackage
from django_q.tasks import async_task
from pytest_django import Settings

from runs.jobs import draining, queue, wakeup
from runs.jobs.database.broker import WokenBroker
from runs.jobs.table import Job, Lane, Queue
from runs.models import machine
from runs.models.statements import delete

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.database]

JOB = Job.ADVANCE_RUN
OTHER_SESSION = 1


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> Iterator[WokenBroker]:
    monkeypatch.setattr(Conf, "POLL", 0.01)
    with closing(WokenBroker()) as broker:
        yield broker


@pytest.fixture
def listener(folder: Path) -> Iterator[wakeup.Listener]:
    with closing(wakeup.listen("default", Lane.STEPS)) as listener:
        yield listener


@pytest.fixture
def folder(settings: Settings, tmp_path: Path) -> Path:
    settings.FABER_DATA_DIR = tmp_path
    return tmp_path


@pytest.fixture
def heeding(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draining, "_known", draining.last_order())


def arguments(taken: list[tuple[int, str]] | None) -> list[tuple[int, ...]]:
    return [SignedPackage.loads(payload)["args"] for _number, payload in taken or []]


def test_a_job_is_queued_when_its_transaction_commits() -> None:
    with transaction.atomic():
        queue.enqueue(JOB, 1)

    assert queue.oldest() is not None


def test_a_job_disappears_with_its_transaction() -> None:
    with transaction.atomic():
        queue.enqueue(JOB, 1)
        transaction.set_rollback(True)

    assert queue.oldest() is None


def test_jobs_are_taken_in_the_order_they_were_queued(broker: WokenBroker) -> None:
    for number in range(5):
        queue.enqueue(JOB, number)

    assert [arguments(broker.dequeue()) for _ in range(5)] == [[(n,)] for n in range(5)]


def test_a_job_is_taken_once(broker: WokenBroker) -> None:
    queue.enqueue(JOB, 1)

    assert broker.dequeue()
    assert not broker.dequeue()
    assert queue.oldest() is None


@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL leaves out what is locked")
def test_the_loser_of_a_race_takes_the_next_job(
    broker: WokenBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue.enqueue(JOB, 1)
    queue.enqueue(JOB, 2)
    stolen: list[list[tuple[int, str]] | None] = []

    def delete_after_the_rival(*same: Any, **using: Any) -> int:
        if not stolen:
            stolen.append(None)
            stolen[0] = broker.dequeue()
        return delete(*same, **using)

    monkeypatch.setattr("runs.jobs.database.broker.delete", delete_after_the_rival)

    assert arguments(broker.dequeue()) == [(2,)]
    assert arguments(stolen[0]) == [(1,)]


def test_an_unreachable_database_does_not_end_a_worker(
    broker: WokenBroker, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> list[tuple[int, str]]:
        raise OperationalError("the server went away")

    queue.enqueue(JOB, 1)
    with monkeypatch.context() as outage:
        outage.setattr(broker, "_take", fail)
        assert broker.dequeue() is None
        assert broker.dequeue() is None

    assert caplog.messages == ["The job queue can't be read: the server went away"]
    assert broker.dequeue()


def test_a_job_for_one_cluster_comes_before_the_others(broker: WokenBroker) -> None:
    queue.enqueue(JOB, 1)
    queue.beat(os.getsid(0), Lane.STEPS)

    assert arguments(broker.dequeue()) == [()]


def test_a_short_job_waits_for_no_step(broker: WokenBroker) -> None:
    queue.enqueue(JOB, 1)
    queue.enqueue(Job.TAKE_EFFECT, 2)

    with closing(WokenBroker(Lane.SHORT.value)) as short:
        assert arguments(short.dequeue()) == [(2,)]
        assert not short.dequeue()
    assert arguments(broker.dequeue()) == [(1,)]
    assert not broker.dequeue()


def test_what_people_said_comes_before_errands_and_a_beat_before_both() -> None:
    queue.enqueue(Job.POLL, 1)
    queue.enqueue(Job.ACT_ON_COMMENT, 2)
    queue.beat(os.getsid(0), Lane.SHORT)

    with closing(WokenBroker(Lane.SHORT.value)) as short:
        assert [arguments(short.dequeue()) for _ in range(3)] == [[()], [(2,)], [(1,)]]


def test_a_job_that_was_queued_before_there_were_lanes_is_done(broker: WokenBroker) -> None:
    async_task(Job.TAKE_EFFECT.value, 1)

    assert arguments(broker.dequeue()) == [(1,)]


def test_a_later_job_waits_in_its_own_queue() -> None:
    queue.enqueue_at(timezone.now() + timedelta(minutes=1), Job.TAKE_EFFECT, 1)

    assert [row.key for row in OrmQ.objects.all()] == [Queue.PEOPLE]


def test_a_step_of_this_machine_is_taken_here(broker: WokenBroker) -> None:
    queue.hand_to(machine.name(), JOB, 1)
    queue.hand_to("another", JOB, 2)

    assert arguments(broker.dequeue()) == [(1,)]
    assert not broker.dequeue()


def test_what_is_older_than_all_that_waits_was_lost() -> None:
    now = timezone.now()
    assert queue.lost_before(Job.POLL, now) == now

    queue.enqueue(Job.DELIVER, 1)
    OrmQ.objects.update(lock=now - timedelta(minutes=5))
    queue.enqueue(Job.ACT_ON_COMMENT, 1)

    assert queue.lost_before(Job.POLL, now) == now - timedelta(minutes=5)
    assert queue.lost_before(Job.TAKE_EFFECT, now) == now


def test_who_is_asked_to_drain_takes_beats_and_no_steps(
    broker: WokenBroker, folder: Path, heeding: None
) -> None:
    queue.enqueue(JOB, 1)
    queue.beat(os.getsid(0), Lane.STEPS)
    draining.Draining()

    assert arguments(broker.dequeue()) == [()]
    assert not broker.dequeue()
    assert queue.waiting(Lane.STEPS) == 1


def test_a_job_for_another_cluster_is_left_alone(broker: WokenBroker) -> None:
    queue.beat(OTHER_SESSION, Lane.STEPS)

    assert not broker.dequeue()
    assert queue.oldest() is None


def test_a_job_for_a_cluster_counts_as_answered_when_it_is_acknowledged(
    broker: WokenBroker,
) -> None:
    queue.beat(os.getsid(0), Lane.STEPS)
    taken = broker.dequeue()
    assert taken
    assert not queue.is_answered(os.getsid(0), Lane.STEPS)

    broker.acknowledge(taken[0][0])

    assert queue.is_answered(os.getsid(0), Lane.STEPS)


def test_what_a_cluster_left_unanswered_can_be_forgotten() -> None:
    queue.beat(OTHER_SESSION, Lane.STEPS)
    queue.enqueue(JOB, 1)

    queue.forget(OTHER_SESSION)

    assert queue.is_answered(OTHER_SESSION, Lane.STEPS)
    assert queue.oldest() is not None


def seconds_until_woken(listener: wakeup.Listener) -> float:
    begun = time.monotonic()
    listener.wait(5)
    return time.monotonic() - begun


def test_a_queued_job_wakes_who_waits(listener: wakeup.Listener) -> None:
    queue.enqueue(JOB, 1)

    assert seconds_until_woken(listener) < 2


def test_nobody_is_woken_before_the_commit(listener: wakeup.Listener) -> None:
    with transaction.atomic():
        queue.enqueue(JOB, 1)
        begun = time.monotonic()
        listener.wait(0.2)
        assert time.monotonic() - begun >= 0.2

    assert seconds_until_woken(listener) < 2


def test_every_cluster_on_a_host_is_woken(
    listener: wakeup.Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runs.jobs.wakeup.os.getpid", lambda: 4_000_001)
    with closing(wakeup.listen("default", Lane.STEPS)) as second:
        queue.enqueue(JOB, 1)

        assert seconds_until_woken(listener) < 2
        assert seconds_until_woken(second) < 2


def test_a_forked_process_is_woken_by_itself(
    broker: WokenBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker.dequeue()
    inherited = broker._listener
    assert inherited

    with closing(inherited):
        monkeypatch.setattr("runs.jobs.database.broker.os.getpid", lambda: 4_000_002)
        broker.dequeue()

        assert broker._listener is not inherited


@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL wakes without a socket")
class TestSocket:
    def test_it_is_for_its_owner_only(self, listener: wakeup.Listener, folder: Path) -> None:
        wakeups = folder / "wakeups"

        assert wakeups.stat().st_mode & 0o777 == 0o700
        assert [path.stat().st_mode & 0o777 for path in wakeups.iterdir()] == [0o600]

    def test_a_data_directory_with_a_long_name_is_woken_too(
        self, settings: Settings, tmp_path: Path
    ) -> None:
        settings.FABER_DATA_DIR = tmp_path / ("long" * 30)
        settings.FABER_DATA_DIR.mkdir()
        with closing(wakeup.listen("default", Lane.STEPS)) as listener:
            queue.enqueue(JOB, 1)

            assert seconds_until_woken(listener) < 2

    def test_a_file_that_was_cleared_away_comes_back(
        self, listener: wakeup.Listener, folder: Path
    ) -> None:
        for path in (folder / "wakeups").iterdir():
            path.unlink()

        listener.wait(0.01)
        queue.enqueue(JOB, 1)

        assert seconds_until_woken(listener) < 2

    def test_the_file_of_a_dead_process_is_removed(
        self, listener: wakeup.Listener, folder: Path
    ) -> None:
        dead = folder / "wakeups" / "steps-4000003"
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as its:
            its.bind(str(dead))

        queue.enqueue(JOB, 1)

        assert not dead.exists()
        assert seconds_until_woken(listener) < 2


@pytest.mark.postgres
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no connection to lose")
def test_a_lost_connection_is_made_again(broker: WokenBroker) -> None:
    broker.dequeue()
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE query LIKE 'LISTEN %' AND datname = current_database()"
        )

    assert broker.dequeue() is None
    queue.enqueue(JOB, 1)

    assert broker.dequeue()


@pytest.mark.postgres
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no connection to lose")
def test_the_next_job_makes_a_lost_connection_again() -> None:
    """What django-q2 does before every job, and Django before every request."""
    with ThreadPoolExecutor(1) as elsewhere:
        before = elsewhere.submit(_backend_of_the_next_job).result()
        assert elsewhere.submit(_backend_of_the_next_job).result() == before
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(%s, 5000)", [before])

        assert elsewhere.submit(_backend_of_the_next_job).result() != before
        elsewhere.submit(connections.close_all).result()


@pytest.mark.postgres
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no connection to lose")
def test_a_connection_that_a_statement_found_lost_is_made_again() -> None:
    """Whoever watches the site for months does so over every restart of the database."""
    with ThreadPoolExecutor(1) as elsewhere:
        before = elsewhere.submit(_backend_of_the_next_job).result()
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(%s, 5000)", [before])
        with pytest.raises(OperationalError):
            elsewhere.submit(OrmQ.objects.count).result()

        assert elsewhere.submit(_backend_of_the_next_job).result() != before
        elsewhere.submit(connections.close_all).result()


def _backend_of_the_next_job() -> int:
    close_old_connections()
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        pid: int = cursor.fetchone()[0]
    return pid


@pytest.mark.postgres
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite locks all rows at once")
def test_who_takes_a_job_makes_nobody_wait_for_another(broker: WokenBroker) -> None:
    for number in range(2):
        queue.enqueue(JOB, number)

    def rivals() -> list[tuple[int, str]] | None:
        with closing(WokenBroker()) as rival:
            try:
                return rival.dequeue()
            finally:
                connections.close_all()

    # The row of the first job is locked until the transaction ends.
    with ThreadPoolExecutor(1) as elsewhere, transaction.atomic():
        ours = broker.dequeue()
        theirs = elsewhere.submit(rivals).result(timeout=10)

    assert [arguments(taken) for taken in (ours, theirs)] == [[(0,)], [(1,)]]


@pytest.mark.postgres
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite is of one machine")
@pytest.mark.parametrize("ahead", [timedelta(seconds=30), timedelta(seconds=-30)])
def test_a_job_of_a_host_with_another_clock_is_taken_at_once(
    broker: WokenBroker, ahead: timedelta, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = timezone.now
    with monkeypatch.context() as there:
        there.setattr(timezone, "now", lambda: now() + ahead)
        queue.enqueue(JOB, 1)

    waited_since = queue.oldest(JOB.queue)

    assert waited_since is not None
    assert abs(waited_since - now()) < timedelta(seconds=25)
    assert arguments(broker.dequeue()) == [(1,)]
