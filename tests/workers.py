"""Be the workers of a machine, as far as the others see them."""

from runs.jobs import heartbeat
from runs.jobs.table import Lane


def report(*lanes: Lane) -> None:
    """Give a sign of life, of every lane if none is said."""
    for lane in lanes or Lane:
        heartbeat.note(lane)
