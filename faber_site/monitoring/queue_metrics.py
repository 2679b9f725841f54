"""How the job queue does: whether it is there, what waits in it, and how long."""

import math
from collections.abc import Callable, Iterator

from django.conf import settings
from django.utils import timezone
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric

from faber_site.monitoring.families import by_label
from runs.jobs import queue
from runs.jobs.engine import OutOfReach
from runs.jobs.table import Lane

_LANES = {lane.name.lower(): lane for lane in Lane}


def collect() -> Iterator[Metric]:
    up = GaugeMetricFamily("faber_queue_up", "Whether jobs can be queued.", labels=["engine"])
    up.add_metric([settings.FABER_QUEUE], _is_up())
    yield up
    yield by_label(
        "faber_queue_jobs",
        "Jobs that no worker has taken yet, by who takes them.",
        "lane",
        _LANES,
        {name: _known(queue.waiting, lane) for name, lane in _LANES.items()},
    )
    yield by_label(
        "faber_queue_oldest_seconds",
        "How long the oldest of them has waited.",
        "lane",
        _LANES,
        {name: _known(_waited, lane) for name, lane in _LANES.items()},
    )


def _is_up() -> bool:
    try:
        queue.check()
    except OutOfReach:
        return False
    return True


def _known(asked: Callable[[Lane], float], lane: Lane) -> float:
    """Not a number while nobody can tell."""
    try:
        return asked(lane)
    except OutOfReach:
        return math.nan


def _waited(lane: Lane) -> float:
    since = queue.oldest(*lane.queues)
    return (timezone.now() - since).total_seconds() if since else 0
