"""What the queues are called that belong to one machine, or to one cluster on it."""

from runs.jobs.table import Lane
from runs.models import machine


def own_queue(lane: Lane, session: int) -> str:
    """Of one lane of the cluster with this session: no other can answer a beat that is there."""
    return f"{queue_of(lane, machine.name())}:{session}"


def queue_of(lane: Lane, host: str) -> str:
    """Of one machine, for the steps that only it can do."""
    return f"{lane}@{host[:60]}"


def lane_of(key: str) -> Lane:
    return Lane.SHORT if key.startswith(Lane.SHORT) else Lane.STEPS
