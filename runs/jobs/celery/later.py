"""Jobs that wait for a moment: rows of the caller's transaction, sent when it has come.

A broker would hold them in a worker's memory, or lose them when it is restarted.
"""

import json
from collections.abc import Callable
from datetime import datetime, timedelta

from runs.jobs.database import rows
from runs.jobs.table import Job
from runs.models import clock

_KEY = "celery.later"
# Of several machines one sends it; when it dies meanwhile, another does.
_TURN = timedelta(seconds=3)
_MOST = 100


def put(moment: datetime, job: Job, ids: tuple[int, ...]) -> None:
    rows.jobs().create(key=_KEY, payload=json.dumps([job.value, *ids]), lock=moment)


def send_due(send: Callable[[Job, tuple[int, ...]], None]) -> None:
    now = clock.now()
    for row in rows.of(_KEY).filter(lock__lte=now).order_by("lock", "pk")[:_MOST]:
        if rows.of(_KEY).filter(pk=row.pk, lock=row.lock).update(lock=now + _TURN):
            name, *ids = json.loads(row.payload)
            send(Job(name), tuple(ids))
            rows.of(_KEY).filter(pk=row.pk).delete()
