"""Celery as the engine of the queue, on a real Redis and a real RabbitMQ."""

import base64
import json
import os
import socket
import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from unittest.mock import MagicMock

import pytest
import redis
from django.db import transaction
from django.utils import timezone
from django_q.models import OrmQ
from pytest_django import Settings

from runs.jobs import names, queue
from runs.jobs.celery import app, later, publisher
from runs.jobs.celery import engine as celery
from runs.jobs.engine import OutOfReach
from runs.jobs.table import Job, Lane, Queue
from tests import brokers
from tests.brokers import BrokerServer, RabbitServer, RedisServer

pytestmark = pytest.mark.django_db(transaction=True)

JOB = Job.ADVANCE_RUN


@pytest.fixture(scope="module")
def redis_server() -> Iterator[BrokerServer]:
    with brokers.running(RedisServer) as server:
        yield server


@pytest.fixture(scope="module")
def rabbit_server() -> Iterator[BrokerServer]:
    with brokers.running(RabbitServer) as server:
        yield server


@pytest.fixture
def broker(
    redis_server: BrokerServer, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> redis.Redis:
    brokers.use(redis_server.address, settings, monkeypatch)
    client = redis.Redis(port=redis_server.port)
    client.flushall()
    return client


@pytest.fixture
def no_broker(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    brokers.use_none(settings, monkeypatch)


def jobs_in(broker: Any, name: str) -> list[tuple[str, list[int]]]:
    """What waits there, the oldest first."""
    publisher.own().flush(10)
    found = [json.loads(each) for each in broker.lrange(app.called(name), 0, -1)]
    return [
        (each["headers"]["task"], json.loads(base64.b64decode(each["body"]))[0])
        for each in reversed(found)
    ]


def test_a_job_is_sent_when_its_transaction_has_committed(broker: Any) -> None:
    with transaction.atomic():
        queue.enqueue(JOB, 1)
        assert jobs_in(broker, Queue.STEPS) == []

    assert jobs_in(broker, Queue.STEPS) == [(JOB.value, [1])]


def test_a_job_disappears_with_its_transaction(broker: Any) -> None:
    with transaction.atomic():
        queue.enqueue(JOB, 1)
        transaction.set_rollback(True)

    assert jobs_in(broker, Queue.STEPS) == []


def test_jobs_are_json_in_the_queues_of_the_table(broker: Any) -> None:
    for job in (JOB, Job.TAKE_EFFECT, Job.DELIVER):
        queue.enqueue(job, 7)
    queue.hand_to("other", JOB, 8)

    assert jobs_in(broker, Queue.PEOPLE) == [(Job.TAKE_EFFECT.value, [7])]
    assert jobs_in(broker, Queue.ERRANDS) == [(Job.DELIVER.value, [7])]
    assert jobs_in(broker, names.queue_of(Lane.STEPS, "other")) == [(JOB.value, [8])]
    sent = json.loads(broker.lrange(app.called(Queue.STEPS), 0, -1)[0])
    assert sent["content-type"] == "application/json"
    assert app.made().conf.accept_content == ["json"]


def test_sites_that_share_a_broker_have_queues_of_their_own(
    broker: Any, settings: Settings
) -> None:
    queue.enqueue(JOB, 1)
    publisher.own().flush(10)

    settings.SECRET_KEY = "that of another site, which nobody knows"

    assert jobs_in(broker, Queue.STEPS) == []
    assert queue.oldest() is None


def test_what_is_older_than_all_that_waits_was_lost(broker: Any) -> None:
    now = timezone.now()
    assert queue.lost_before(JOB, now) == now

    queue.enqueue(JOB, 1)
    queue.enqueue(JOB, 2)
    publisher.own().flush(10)
    first = queue.oldest(JOB.queue)
    broker.rpop(app.called(Queue.STEPS))
    second = queue.oldest(JOB.queue)

    assert first
    assert second
    assert now <= first <= second
    assert queue.lost_before(JOB, timezone.now()) == second
    assert (queue.waiting(Lane.STEPS), queue.waiting(Lane.SHORT)) == (1, 0)


def test_a_job_that_waits_for_a_moment_is_a_row_until_it_has_come(broker: Any) -> None:
    send = publisher.own().link.send
    with transaction.atomic():
        queue.enqueue_at(timezone.now() + timedelta(minutes=1), Job.TAKE_EFFECT, 3)
        queue.enqueue_at(timezone.now() - timedelta(seconds=1), Job.TAKE_EFFECT, 2)

    later.send_due(lambda job, ids: send(job.queue.value, job, ids))

    assert jobs_in(broker, Queue.PEOPLE) == [(Job.TAKE_EFFECT.value, [2])]
    assert OrmQ.objects.count() == 1


def test_what_could_not_be_sent_in_its_moment_stays(no_broker: None) -> None:
    queue.enqueue_at(timezone.now() - timedelta(seconds=1), Job.TAKE_EFFECT, 2)

    with pytest.raises(OutOfReach):
        later.send_due(lambda job, ids: publisher.own().link.send(job.queue.value, job, ids))

    assert OrmQ.objects.count() == 1


def test_a_broker_that_is_down_neither_fails_nor_delays_a_decision(
    no_broker: None, caplog: pytest.LogCaptureFixture
) -> None:
    begun = time.monotonic()
    for number in range(100):
        with transaction.atomic():
            queue.enqueue(JOB, number)
    took = time.monotonic() - begun
    publisher.own().flush(10)

    assert took < 5
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "They are queued again when it is back." in caplog.messages[0]


def test_while_the_broker_is_down_nothing_counts_as_lost(no_broker: None) -> None:
    now = timezone.now()

    assert queue.lost_before(JOB, now) < now - timedelta(days=365)
    with pytest.raises(OutOfReach, match="refused") as told:
        queue.check()
    assert "s3cr3t" not in str(told.value)


def test_a_broker_that_was_restarted_is_used_at_once(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    with brokers.running(RedisServer) as server:
        brokers.use(server.address, settings, monkeypatch)
        queue.check()
        server.kill()
        server.start()

        queue.enqueue(JOB, 1)
        publisher.own().flush(10)

        assert queue.waiting(Lane.STEPS) == 1


def test_a_beat_is_answered_when_its_row_is_gone_and_sent_again_where_it_was_lost(
    broker: Any,
) -> None:
    session = os.getsid(0)
    own = names.own_queue(Lane.STEPS, session)
    queue.beat(session, Lane.STEPS)
    assert jobs_in(broker, own) == [(Job.BEAT.value, [])]

    assert queue.remind(session, Lane.STEPS)
    assert len(jobs_in(broker, own)) == 1, "it waits for a worker that is busy"
    broker.flushall()
    assert queue.remind(session, Lane.STEPS)

    assert len(jobs_in(broker, own)) == 1
    assert not queue.is_answered(session, Lane.STEPS)
    queue.forget(session)
    assert queue.is_answered(session, Lane.STEPS)
    assert jobs_in(broker, own) == []


def test_silence_means_nothing_while_the_broker_is_down(no_broker: None) -> None:
    queue.beat(1, Lane.STEPS)

    assert not queue.remind(1, Lane.STEPS)


def test_rabbitmq_is_asked_in_its_own_way(
    rabbit_server: BrokerServer, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    brokers.use(rabbit_server.address, settings, monkeypatch)
    assert queue.oldest() is None, "there are no queues yet"
    celery.take_from(["gone"])

    queue.enqueue(JOB, 1)
    queue.enqueue(JOB, 2)
    queue.hand_to("gone", JOB, 3)
    publisher.own().flush(10)

    link = publisher.own().link
    assert queue.waiting(Lane.STEPS) == 2
    assert queue.oldest(JOB.queue) == queue.oldest(JOB.queue), "it is put back"
    assert queue.waiting(Lane.STEPS) == 2
    assert link.size(names.queue_of(Lane.STEPS, "gone")) == 1
    link._connection.connection.transport.sock.shutdown(socket.SHUT_RDWR)
    celery.take_from(["gone"])
    assert link.size(names.queue_of(Lane.STEPS, "gone")) == 0, "it connects again"


@pytest.mark.parametrize(
    ("server", "limits"),
    [
        ({"version": "3.12.1"}, {"x-consumer-timeout": 86_400_000}),
        ({"version": "4.2.9"}, {"x-consumer-timeout": 86_400_000}),
        ({"version": "4.3.6"}, {}),
        ({}, {}),
    ],
)
def test_rabbitmq_is_told_of_long_steps_where_it_limits_them(
    server: dict[str, str], limits: dict[str, int]
) -> None:
    channel = MagicMock()
    channel.connection.server_properties = server
    channel.prepare_queue_arguments.side_effect = lambda given, **_more: given

    app.queue("faber").queue_declare(channel=channel)

    assert channel.queue_declare.call_args.kwargs["arguments"] == limits
