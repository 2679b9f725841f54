"""A connection to the broker on which nobody waits long: a call ends in time, or it is down."""

import threading
import time
from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeVar

from amqp.exceptions import AMQPError
from django.conf import settings
from django.utils import timezone
from kombu import Connection
from kombu.exceptions import KombuError
from redis.exceptions import RedisError

from runs.jobs.celery import app, brokers
from runs.jobs.engine import OutOfReach
from runs.jobs.table import Job

T = TypeVar("T")

# Seconds to connect, and for each answer of the broker.
_TIMEOUT = 1.0
# After a failure nobody tries again before; a sweep asks several times.
_PAUSE = 1.0
_TROUBLES = (OSError, AMQPError, KombuError, RedisError)


class BrokerLink:
    """For any thread of one process."""

    def __init__(self) -> None:
        self._broker = brokers.named()
        self._lock = threading.Lock()
        self._connection: Any = None
        self._trouble: OutOfReach | None = None
        self._try_at = 0.0

    def send(self, queue: str, job: Job, ids: tuple[int, ...]) -> None:
        headers = {brokers.QUEUED_AT: timezone.now().isoformat()}

        def publish(connection: Any) -> None:
            with connection.Producer() as producer:
                app.made().send_task(
                    *(job.value, ids),
                    queue=app.queue(queue),
                    producer=producer,
                    headers=headers,
                )

        self._asking(publish)

    def size(self, queue: str) -> int:
        """How many jobs wait there."""
        return self._asking(lambda connection: self._broker.size(connection, app.called(queue)))

    def oldest(self, queue: str) -> datetime | None:
        """When the job was queued that is taken next."""
        return self._asking(lambda connection: self._broker.oldest(connection, app.called(queue)))

    def clear(self, queue: str) -> None:
        """Remove the jobs that wait there."""
        self._asking(lambda connection: self._broker.clear(connection, app.called(queue)))

    def _asking(self, question: Callable[[Any], T]) -> T:
        with self._lock:
            if self._trouble and time.monotonic() < self._try_at:
                raise self._trouble
            try:
                answer = self._answer(question)
            except _TROUBLES as error:
                self._close()
                # Without the address: it holds a password.
                self._trouble = OutOfReach(str(error).rstrip(".") or type(error).__name__)
                self._try_at = time.monotonic() + _PAUSE
                raise self._trouble from error
            self._trouble = None
            return answer

    def _answer(self, question: Callable[[Any], T]) -> T:
        if self._connection:
            try:
                return question(self._connection)
            except _TROUBLES:
                self._close()  # the broker may have been restarted
        self._connection = _connected(self._broker.timeouts)
        return question(self._connection)

    def _close(self) -> None:
        connection, self._connection = self._connection, None
        if connection:
            connection.collect(socket_timeout=_TIMEOUT)


def _connected(timeouts: tuple[str, ...]) -> Any:
    made = Connection(
        settings.FABER_CELERY_BROKER_URL,
        connect_timeout=_TIMEOUT,
        transport_options=app.of_transport() | dict.fromkeys(timeouts, _TIMEOUT),
    )
    at_once = {"interval_start": 0, "interval_step": 0, "interval_max": 0}
    made.ensure_connection(max_retries=1, **at_once, reraise_as_library_errors=False)
    return made
