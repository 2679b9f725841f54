"""The only door to the job queue: a job is a row of the caller's own transaction."""

import logging
import os
import time
from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import InterfaceError, OperationalError, connections
from django.db.models import F, Min
from django.utils import timezone
from django_q.brokers.orm import ORM
from django_q.conf import Conf
from django_q.models import OrmQ
from django_q.tasks import async_task

from runs.jobs import draining, wakeup
from runs.jobs.table import Job, Lane, Queue
from runs.models import clock, machine
from runs.models.statements import Prepared, update

logger = logging.getLogger(__name__)

_Row = tuple[int, str]

# On PostgreSQL each in one statement: a trip to the database would cost more than the work there.
# By its clock, so that a job of a host that is ahead does not wait for the others to catch up.
_QUEUE_AND_WAKE = """
    WITH queued AS (
        INSERT INTO django_q_ormq (key, payload, lock)
        VALUES (%s, %s, statement_timestamp()) RETURNING id
    )
    SELECT id, pg_notify(%s, '') FROM queued
"""
_TAKE = """
    UPDATE django_q_ormq SET lock = %s WHERE id = (
        SELECT id FROM django_q_ormq WHERE key IN (%s, %s, %s) AND lock <= statement_timestamp()
        ORDER BY key COLLATE "C" DESC, id LIMIT 1 FOR UPDATE SKIP LOCKED
    ) RETURNING id, payload
"""


def enqueue(job: Job, *ids: int) -> None:
    """Have a worker do it, once the caller's transaction commits."""
    # By position only: async_task takes keywords such as `group` and `timeout` for itself.
    async_task(job.value, *ids, cluster=job.queue.value)


def enqueue_at(moment: datetime, job: Job, *ids: int) -> None:
    """Have a worker do it when the moment has come."""
    async_task(job.value, *ids, broker=_LaterBroker(moment, job.queue))


def waiting(lane: Lane) -> int:
    """How many jobs of a lane no cluster has taken yet."""
    number: int = _due(*lane.queues).count()
    return number


def waiting_since(*queues: Queue) -> datetime | None:
    """When the oldest job that no cluster has taken yet was queued; None when none waits."""
    oldest: datetime | None = _due(*queues).aggregate(oldest=Min("lock"))["oldest"]
    return oldest


def lost_before(job: Job, now: datetime, patience: timedelta = timedelta(0)) -> datetime:
    """Who was to have such a job before this moment has lost it: jobs are taken in order."""
    return min(now, waiting_since(job.queue) or now) - patience


# The own queue has the longest name: "-key" puts a beat before the waiting jobs.
_WAITING = Prepared(
    lambda first, second, own, now: (
        _jobs().filter(key__in=[first, second, own], lock__lte=now).order_by("-key", "id")[:1]
    ),
    *("first", "second", "own", datetime(2000, 1, 1, tzinfo=UTC)),
    using=Conf.ORM,
)


# Each lane of a cluster also reads a queue of its own: no other can answer a beat that is there.


def enqueue_for(session: int, job: Job) -> None:
    """Have the cluster with this session, and no other, do it."""
    async_task(job.value, cluster=_own_queue(job.lane, session))


def is_answered(session: int, lane: Lane) -> bool:
    """Whether a cluster's lane has taken, executed and acknowledged all that was meant for it."""
    return not _rows(_own_queue(lane, session)).exists()


def remind(session: int, lane: Lane) -> None:
    """Wake it again for what it has not answered; it is a write, as its answer would be."""
    own = _own_queue(lane, session)
    _rows(own).update(key=own)
    wakeup.wake(Conf.ORM, lane)


def forget(session: int, *lanes: Lane) -> None:
    """Remove what a cluster that is gone will not answer any more; of all lanes if none is said."""
    _jobs().filter(key__in=[_own_queue(lane, session) for lane in lanes or Lane]).delete()


# On several machines each has a queue besides the shared one, for the steps that only it can do.


def hand_to(host: str, job: Job, *ids: int) -> None:
    """Have a worker of this machine, and of no other, do it."""
    async_task(job.value, *ids, cluster=_queue_of(Lane.STEPS, host))


def hosts_with_jobs() -> list[str]:
    """Machines for whose workers something waits that was handed to them."""
    if connections[Conf.ORM].vendor != "postgresql":
        return []
    prefix = _queue_of(Lane.STEPS, "")
    waiting = _jobs().filter(key__startswith=prefix, lock__lte=clock.now())
    keys = waiting.exclude(key__contains=":").order_by().values_list("key", flat=True).distinct()
    return [key.removeprefix(prefix) for key in keys]


def take_from(hosts: Collection[str]) -> int:
    """Let everybody have what waits for machines that are gone."""
    waiting = _jobs().filter(key__in=[_queue_of(Lane.STEPS, host) for host in hosts])
    moved: int = waiting.update(key=Queue.STEPS.value, lock=clock.now())
    if moved:
        wakeup.wake(Conf.ORM, Lane.STEPS)
    return moved


def bring_forward(by: timedelta) -> None:
    """Let jobs that wait for a moment, or to be given to another worker, wait so much less."""
    _jobs().filter(lock__gt=timezone.now()).update(lock=F("lock") - by)


class WokenBroker(ORM):  # type: ignore[misc]  # django-q2 has no types
    """django-q2's queue in the database: in order, and woken instead of polling.

    Whoever takes jobs from one reads all queues of the lane that it is called by.
    """

    _listener: wakeup.Listener | None = None
    _listener_pid = 0
    _is_down = False

    def enqueue(self, task: str) -> int:
        if connections[Conf.ORM].vendor == "postgresql":
            return self._enqueue_waking(task)
        number: int = super().enqueue(task)
        wakeup.wake(Conf.ORM, _lane_of(self.list_key))
        return number

    def _enqueue_waking(self, task: str) -> int:
        with connections[Conf.ORM].cursor() as cursor:
            channel = wakeup.CHANNELS[_lane_of(self.list_key)]
            cursor.execute(_QUEUE_AND_WAKE, [self.list_key, task, channel])
            number: int = cursor.fetchone()[0]
        return number

    def dequeue(self) -> list[_Row] | None:
        """The next job; none after at most Conf.POLL, when the pusher must see whether to stop."""
        time.sleep(0)  # lets the thread go first that hands the job before on to a worker
        try:
            # Listening before the look: a job that comes between the two still wakes.
            listener = self._listening()
            taken = self._take()
            self._is_down = False
            if not taken:
                listener.wait(Conf.POLL)
        except (InterfaceError, OperationalError) as error:
            # django-q2's pusher would sleep ten seconds and end itself.
            self._wait_for_the_database(error)
            return None
        return taken

    def close(self) -> None:
        if self._listener and self._listener_pid == os.getpid():
            self._listener.close()
        self._listener = None

    def _listening(self) -> wakeup.Listener:
        if self._listener is None or self._listener_pid != os.getpid():
            _commit_without_waiting()
            self._listener = wakeup.listen(Conf.ORM, Lane(self.list_key))
            self._listener_pid = os.getpid()
        return self._listener

    def _take(self) -> list[_Row]:
        queues = self._queues()
        if connections[Conf.ORM].vendor == "postgresql":
            return self._take_at_once(*queues)
        # An update takes the only lock of SQLite even when nothing waits, so look first.
        while True:
            row = _WAITING.first(*queues, timezone.now())
            if row is None:
                return []
            same = {"id": row.pk, "lock": row.lock}
            if update(OrmQ, same, {"lock": self.timeout(row)}, using=Conf.ORM):
                return [(row.pk, row.payload)]

    def _queues(self) -> tuple[str, str, str]:
        lane = Lane(self.list_key)
        own = _own_queue(lane, os.getsid(0))
        if lane is Lane.SHORT:
            return Queue.ERRANDS.value, Queue.PEOPLE.value, own
        if draining.is_asked():
            return own, own, own
        return Queue.STEPS.value, _queue_of(lane, machine.name()), own

    def _take_at_once(self, *queues: str) -> list[_Row]:
        with connections[Conf.ORM].cursor() as cursor:
            cursor.execute(_TAKE, [self.timeout(None), *queues])
            taken: list[_Row] = cursor.fetchall()
        return taken

    def _wait_for_the_database(self, error: Exception) -> None:
        if not self._is_down:
            logger.warning("The job queue can't be read: %s", error)
        self._is_down = True
        self.close()
        connections[Conf.ORM].close()
        time.sleep(Conf.POLL)


class _LaterBroker(WokenBroker):
    """Puts a job into the queue that no pusher sees before its time."""

    def __init__(self, moment: datetime, queue: Queue) -> None:
        super().__init__(queue.value)
        self._moment = moment

    def enqueue(self, task: str) -> int:
        # A job is hidden while it is locked, whoever locked it.
        row = _jobs().create(key=self.list_key, payload=task, lock=self._moment)
        number: int = row.pk
        return number


def _own_queue(lane: Lane, session: int) -> str:
    return f"{_queue_of(lane, machine.name())}:{session}"


def _queue_of(lane: Lane, host: str) -> str:
    return f"{lane}@{host[:60]}"


def _lane_of(key: str) -> Lane:
    return Lane.SHORT if key.startswith(Lane.SHORT) else Lane.STEPS


def _due(*queues: Queue) -> Any:
    keys = [queue.value for queue in queues or Queue]
    return _jobs().filter(key__in=keys, lock__lte=clock.now())


def _rows(key: str) -> Any:
    return _jobs().filter(key=key)


def _jobs() -> Any:  # a query set of OrmQ, which has no types
    return OrmQ.objects.using(Conf.ORM)


def _commit_without_waiting() -> None:
    """The pusher only marks jobs as taken: one that a power cut gives back is taken again."""
    connection = connections[Conf.ORM]
    relaxed = {
        "postgresql": "SET synchronous_commit TO off",
        "sqlite": "PRAGMA synchronous=NORMAL",
    }
    with connection.cursor() as cursor:
        cursor.execute(relaxed[connection.vendor])
