"""The rows of the queue's table, which waits, hides and forgets in the caller's transaction."""

from datetime import timedelta
from typing import Any

from django.db.models import F
from django.utils import timezone
from django_q.conf import Conf
from django_q.models import OrmQ

from runs.jobs import names
from runs.jobs.table import Lane, Queue
from runs.models import clock


def jobs() -> Any:  # a query set of OrmQ, which has no types
    return OrmQ.objects.using(Conf.ORM)


def due(*queues: Queue) -> Any:
    keys = [queue.value for queue in queues or Queue]
    return jobs().filter(key__in=keys, lock__lte=clock.now())


def of(key: str) -> Any:
    return jobs().filter(key=key)


def is_answered(session: int, lane: Lane) -> bool:
    return not of(names.own_queue(lane, session)).exists()


def forget(session: int, *lanes: Lane) -> None:
    jobs().filter(key__in=[names.own_queue(lane, session) for lane in lanes or Lane]).delete()


def bring_forward(by: timedelta) -> None:
    # A job is hidden while it is locked, whoever locked it.
    jobs().filter(lock__gt=timezone.now()).update(lock=F("lock") - by)
