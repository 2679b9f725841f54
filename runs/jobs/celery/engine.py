"""Celery as the engine of the queue: jobs are sent when the caller's transaction has committed."""

from collections.abc import Collection
from contextlib import suppress
from datetime import datetime
from functools import partial

from django.db import transaction
from django.utils import timezone

from runs.jobs import names
from runs.jobs.celery import later, publisher
from runs.jobs.celery.publisher import SentJob
from runs.jobs.database import rows
from runs.jobs.database.rows import bring_forward, is_answered
from runs.jobs.engine import OutOfReach, Signs
from runs.jobs.table import Job, Lane, Queue
from runs.models import StepAttempt

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
    queue = names.queue_of(Lane.STEPS, host) if host else job.queue.value
    transaction.on_commit(partial(publisher.own().publish, SentJob(queue, job, ids)))


def enqueue_at(moment: datetime, job: Job, *ids: int) -> None:
    later.put(moment, job, ids)


def oldest(*queues: Queue) -> datetime | None:
    link = publisher.own().link
    found = (link.oldest(queue.value) for queue in queues or Queue)
    return min((moment for moment in found if moment), default=None)


def waiting(lane: Lane) -> int:
    return sum(publisher.own().link.size(queue.value) for queue in lane.queues)


def check() -> None:
    publisher.own().link.size(Queue.STEPS.value)


# A beat is a row until it is answered, so that the answer is seen where the broker is not.


def beat(session: int, lane: Lane) -> None:
    own = names.own_queue(lane, session)
    rows.jobs().create(key=own, payload="", lock=timezone.now())
    publisher.own().publish(SentJob(own, lane.beat, ()))


def remind(session: int, lane: Lane) -> bool:
    """Send it again where the broker has lost it."""
    own = names.own_queue(lane, session)
    try:
        if not publisher.own().link.size(own):
            publisher.own().publish(SentJob(own, lane.beat, ()))
    except OutOfReach:
        return False
    return True


def forget(session: int, *lanes: Lane) -> None:
    rows.forget(session, *lanes)
    with suppress(OutOfReach):
        for lane in lanes or Lane:
            publisher.own().link.clear(names.own_queue(lane, session))


def hosts_with_jobs() -> list[str]:
    queued = StepAttempt.objects.filter(status=StepAttempt.Status.QUEUED, is_remote=False)
    hosts = queued.exclude(host="").order_by().values_list("host", flat=True).distinct()
    with suppress(OutOfReach):
        return [host for host in hosts if publisher.own().link.size(_queue_of(host))]
    return list(hosts)


def take_from(hosts: Collection[str]) -> None:
    """Their runs are queued again by the sweep, for everybody."""
    with suppress(OutOfReach):
        for host in hosts:
            publisher.own().link.clear(_queue_of(host))


def run_worker(signs: Signs) -> None:
    from runs.jobs.celery import lanes  # noqa: PLC0415  the site needs nothing of it

    lanes.run(signs)


def _queue_of(host: str) -> str:
    return names.queue_of(Lane.STEPS, host)
