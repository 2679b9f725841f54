"""django-q2 as the engine of the queue: a job is a row of the caller's own transaction."""

from collections.abc import Collection
from datetime import datetime

from django.db import connections
from django.db.models import Min
from django_q.conf import Conf
from django_q.tasks import async_task

from runs.jobs import names, wakeup
from runs.jobs.database import rows
from runs.jobs.database.broker import LaterBroker
from runs.jobs.database.rows import bring_forward, forget, is_answered
from runs.jobs.engine import Signs
from runs.jobs.table import Job, Lane, Queue
from runs.models import clock

__all__ = [
    "beat",
    "bring_forward",
    "check",
    "enqueue",
    "enqueue_at",
    "forget",
    "hosts_with_jobs",
    "is_answered",
    "oldest",
    "remind",
    "run_worker",
    "take_from",
    "waiting",
]


def enqueue(job: Job, *ids: int, host: str = "") -> None:
    # By position only: async_task takes keywords such as `group` and `timeout` for itself.
    queue = names.queue_of(Lane.STEPS, host) if host else job.queue.value
    async_task(job.value, *ids, cluster=queue)


def enqueue_at(moment: datetime, job: Job, *ids: int) -> None:
    async_task(job.value, *ids, broker=LaterBroker(moment, job.queue))


def waiting(lane: Lane) -> int:
    number: int = rows.due(*lane.queues).count()
    return number


def oldest(*queues: Queue) -> datetime | None:
    found: datetime | None = rows.due(*queues).aggregate(oldest=Min("lock"))["oldest"]
    return found


def beat(session: int, lane: Lane) -> None:
    async_task(lane.beat.value, cluster=names.own_queue(lane, session))


def check() -> None:
    """Whoever gets so far has a database."""


def remind(session: int, lane: Lane) -> bool:
    """It is a write, as the answer would be."""
    own = names.own_queue(lane, session)
    rows.of(own).update(key=own)
    wakeup.wake(Conf.ORM, lane)
    return True


def hosts_with_jobs() -> list[str]:
    if connections[Conf.ORM].vendor != "postgresql":
        return []
    prefix = names.queue_of(Lane.STEPS, "")
    handed = rows.jobs().filter(key__startswith=prefix, lock__lte=clock.now())
    keys = handed.exclude(key__contains=":").order_by().values_list("key", flat=True).distinct()
    return [key.removeprefix(prefix) for key in keys]


def take_from(hosts: Collection[str]) -> None:
    handed = rows.jobs().filter(key__in=[names.queue_of(Lane.STEPS, host) for host in hosts])
    if handed.update(key=Queue.STEPS.value, lock=clock.now()):
        wakeup.wake(Conf.ORM, Lane.STEPS)


def run_worker(signs: Signs) -> None:
    from runs.jobs.database import lanes  # noqa: PLC0415  the site needs nothing of it

    lanes.run(signs)
