"""django-q2's queue in the database: in order, and woken instead of polling."""

import logging
import os
import time
from datetime import UTC, datetime

from django.db import InterfaceError, OperationalError, connections
from django.utils import timezone
from django_q.brokers.orm import ORM
from django_q.conf import Conf
from django_q.models import OrmQ

from runs.jobs import draining, names, wakeup
from runs.jobs.database import rows
from runs.jobs.table import Lane, Queue
from runs.models import machine
from runs.models.statements import Prepared, delete, insert, update

logger = logging.getLogger(__name__)

# A job as django-q2 hands it on: what is to be acknowledged when it is done, and what it says.
_Taken = tuple[int, str]
NOTHING = 0

# On PostgreSQL each in one statement: a trip to the database would cost more than the work there.
# By its clock, so that a job of a host that is ahead does not wait for the others to catch up.
_QUEUE_AND_WAKE = """
    WITH queued AS (
        INSERT INTO django_q_ormq (key, payload, lock)
        VALUES (%s, %s, statement_timestamp()) RETURNING id
    )
    SELECT id, pg_notify(%s, '') FROM queued
"""
# Whoever takes a job does not wait for the disk: one that a power cut gives back finds nothing
# to do, or its step not done.
_TAKE = """
    WITH next AS (
        SELECT id, key FROM django_q_ormq WHERE key IN (%(first)s, %(second)s, %(own)s)
        AND lock <= statement_timestamp()
        ORDER BY key COLLATE "C" DESC, id LIMIT 1 FOR UPDATE SKIP LOCKED
    ), gone AS (
        DELETE FROM django_q_ormq USING next
        WHERE django_q_ormq.id = next.id AND next.key <> %(own)s
        RETURNING 0 AS id, payload, set_config('synchronous_commit', 'off', true)
    ), hidden AS (
        UPDATE django_q_ormq SET lock = %(until)s FROM next
        WHERE django_q_ormq.id = next.id AND next.key = %(own)s
        RETURNING django_q_ormq.id, payload, set_config('synchronous_commit', 'off', true)
    )
    SELECT id, payload FROM gone UNION ALL SELECT id, payload FROM hidden
"""

# The own queue has the longest name: "-key" puts a beat before the waiting jobs.
_WAITING = Prepared(
    lambda first, second, own, now: (
        rows.jobs().filter(key__in=[first, second, own], lock__lte=now).order_by("-key", "id")[:1]
    ),
    *("first", "second", "own", datetime(2000, 1, 1, tzinfo=UTC)),
    using=Conf.ORM,
)


class WokenBroker(ORM):  # type: ignore[misc]  # django-q2 has no types
    """Whoever takes jobs from one reads all queues of the lane that it is called by."""

    _listener: wakeup.Listener | None = None
    _listener_pid = 0
    _is_down = False

    def enqueue(self, task: str) -> int:
        if connections[Conf.ORM].vendor == "postgresql":
            return self._enqueue_waking(task)
        row = OrmQ(key=self.list_key, payload=task, lock=timezone.now())
        insert(row)
        wakeup.wake(Conf.ORM, names.lane_of(self.list_key))
        number: int = row.pk
        return number

    def _enqueue_waking(self, task: str) -> int:
        with connections[Conf.ORM].cursor() as cursor:
            channel = wakeup.CHANNELS[names.lane_of(self.list_key)]
            cursor.execute(_QUEUE_AND_WAKE, [self.list_key, task, channel])
            number: int = cursor.fetchone()[0]
        return number

    def dequeue(self) -> list[_Taken] | None:
        """The next job; none after at most Conf.POLL, when its worker must see whether to stop.

        It is gone from the queue: were its worker to die, the sweep finds what it was about. Only
        a beat stays, hidden, until it is acknowledged.
        """
        try:
            # Listening before the look: a job that comes between the two still wakes.
            listener = self._listening()
            taken = self._take()
            self._is_down = False
            if not taken:
                listener.wait(Conf.POLL)
        except (InterfaceError, OperationalError) as error:
            self._wait_for_the_database(error)
            return None
        return taken

    def close(self) -> None:
        if self._listener and self._listener_pid == os.getpid():
            self._listener.close()
        self._listener = None

    def _listening(self) -> wakeup.Listener:
        if self._listener is None or self._listener_pid != os.getpid():
            self._listener = wakeup.listen(Conf.ORM, Lane(self.list_key))
            self._listener_pid = os.getpid()
        return self._listener

    def _take(self) -> list[_Taken]:
        first, second, own = self._queues()
        if connections[Conf.ORM].vendor == "postgresql":
            return self._take_at_once(first, second, own)
        # A write takes the only lock of SQLite even when nothing waits, so look first.
        while row := _WAITING.first(first, second, own, timezone.now()):
            if self._is_taken(row, is_beat=row.key == own):
                return [(row.pk if row.key == own else NOTHING, row.payload)]
        return []

    def _is_taken(self, row: OrmQ, *, is_beat: bool) -> bool:
        same = {"id": row.pk, "lock": row.lock}  # unless somebody else was quicker
        if is_beat:
            hidden = {"lock": self.timeout(row)}
            return bool(update(OrmQ, same, hidden, using=Conf.ORM, waits=False))
        return bool(delete(OrmQ, same, using=Conf.ORM, waits=False))

    def _queues(self) -> tuple[str, str, str]:
        lane = Lane(self.list_key)
        own = names.own_queue(lane, os.getsid(0))
        if lane is Lane.SHORT:
            return Queue.ERRANDS.value, Queue.PEOPLE.value, own
        if draining.is_asked():
            return own, own, own
        return Queue.STEPS.value, names.queue_of(lane, machine.name()), own

    def _take_at_once(self, first: str, second: str, own: str) -> list[_Taken]:
        queues = {"first": first, "second": second, "own": own, "until": self.timeout(None)}
        with connections[Conf.ORM].cursor() as cursor:
            cursor.execute(_TAKE, queues)
            taken: list[_Taken] = cursor.fetchall()
        return taken

    def _wait_for_the_database(self, error: Exception) -> None:
        if not self._is_down:
            logger.warning("The job queue can't be read: %s", error)
        self._is_down = True
        self.close()
        connections[Conf.ORM].close()
        time.sleep(Conf.POLL)


class LaterBroker(WokenBroker):
    """Puts a job into the queue that nobody sees before its time."""

    def __init__(self, moment: datetime, queue: Queue) -> None:
        super().__init__(queue.value)
        self._moment = moment

    def enqueue(self, task: str) -> int:
        # A job is hidden while it is locked, whoever locked it.
        row = rows.jobs().create(key=self.list_key, payload=task, lock=self._moment)
        number: int = row.pk
        return number
