"""What is asked of Redis and of RabbitMQ besides carrying jobs, each in its own way."""

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import Any, Protocol

from amqp.exceptions import NotFound
from django.conf import settings

QUEUED_AT = "queued_at"  # a header of every job


class Broker(Protocol):
    @property
    def timeouts(self) -> tuple[str, ...]:
        """What they are called among the options of a connection."""

    def size(self, connection: Any, queue: str) -> int:
        """How many jobs wait there."""

    def oldest(self, connection: Any, queue: str) -> datetime | None:
        """When the job was queued that is taken next."""

    def clear(self, connection: Any, queue: str) -> None:
        """Remove the jobs that wait there."""


class RedisBroker:
    timeouts = ("socket_connect_timeout", "socket_timeout")

    def size(self, connection: Any, queue: str) -> int:
        number: int = connection.default_channel.client.llen(queue)
        return number

    def oldest(self, connection: Any, queue: str) -> datetime | None:
        # New ones come in on the left.
        found = connection.default_channel.client.lindex(queue, -1)
        return _moment(json.loads(found)["headers"]) if found else None

    def clear(self, connection: Any, queue: str) -> None:
        connection.default_channel.client.delete(queue)


class AmqpBroker:
    timeouts = ("read_timeout", "write_timeout")

    def size(self, connection: Any, queue: str) -> int:
        with _channel(connection) as channel:
            number: int = channel.queue_declare(queue, passive=True).message_count
            return number
        return 0

    def oldest(self, connection: Any, queue: str) -> datetime | None:
        with _channel(connection) as channel:
            if found := channel.basic_get(queue):
                channel.basic_reject(found.delivery_tag, requeue=True)  # to where it was
                return _moment(found.headers)
        return None

    def clear(self, connection: Any, queue: str) -> None:
        with _channel(connection) as channel:
            channel.queue_purge(queue)


def named() -> Broker:
    """The one whose address is set."""
    return AmqpBroker() if is_amqp() else RedisBroker()


def is_amqp() -> bool:
    address: str = settings.FABER_CELERY_BROKER_URL
    return address.startswith("amqp")


@contextmanager
def _channel(connection: Any) -> Iterator[Any]:
    """One of its own: RabbitMQ closes it when there is no such queue, in which nothing waits."""
    with suppress(NotFound), connection.channel() as channel:
        yield channel


def _moment(headers: dict[str, str]) -> datetime:
    return datetime.fromisoformat(headers[QUEUED_AT])
