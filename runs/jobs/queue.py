"""The only door to the job queue, whichever engine is behind it."""

from collections.abc import Collection
from datetime import UTC, datetime, timedelta

from runs.jobs.engine import OutOfReach, Signs, chosen
from runs.jobs.table import Job, Lane, Queue

_LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)


def enqueue(job: Job, *ids: int) -> None:
    """Have a worker do it, once the caller's transaction commits."""
    chosen().enqueue(job, *ids)


def enqueue_at(moment: datetime, job: Job, *ids: int) -> None:
    """Have a worker do it when the moment has come."""
    chosen().enqueue_at(moment, job, *ids)


def waiting(lane: Lane) -> int:
    """How many jobs of a lane no worker has taken yet."""
    return chosen().waiting(lane)


def oldest(*queues: Queue) -> datetime | None:
    """When the job was queued that waits longest for a worker; None when none waits."""
    return chosen().oldest(*queues)


def lost_before(job: Job, now: datetime, patience: timedelta = timedelta(0)) -> datetime:
    """Who was to have such a job before this moment has lost it: jobs are taken in order."""
    try:
        return min(now, oldest(job.queue) or now) - patience
    except OutOfReach:  # nobody can tell, and nothing could be queued again
        return _LONG_AGO


def check() -> None:
    """Raise OutOfReach when no job can be queued."""
    chosen().check()


# Each lane of a cluster also reads a queue of its own: no other can answer a beat that is there.


def beat(session: int, lane: Lane) -> None:
    """Have this lane of the cluster with this session, and no other, show that it lives."""
    chosen().beat(session, lane)


def is_answered(session: int, lane: Lane) -> bool:
    """Whether a cluster's lane has taken, executed and acknowledged all that was meant for it."""
    return chosen().is_answered(session, lane)


def remind(session: int, lane: Lane) -> bool:
    """Wake it again for what it has not answered; False when it cannot be woken."""
    return chosen().remind(session, lane)


def forget(session: int, *lanes: Lane) -> None:
    """Remove what a cluster that is gone will not answer any more; of all lanes if none is said."""
    chosen().forget(session, *lanes)


# On several machines each has a queue besides the shared one, for the steps that only it can do.


def hand_to(host: str, job: Job, *ids: int) -> None:
    """Have a worker of this machine, and of no other, do it."""
    chosen().enqueue(job, *ids, host=host)


def hosts_with_jobs() -> list[str]:
    """Machines for whose workers something waits that was handed to them."""
    return chosen().hosts_with_jobs()


def take_from(hosts: Collection[str]) -> None:
    """Let everybody have what waits for machines that are gone."""
    chosen().take_from(hosts)


def bring_forward(by: timedelta) -> None:
    """Let jobs that wait for a moment, or to be given to another worker, wait so much less."""
    chosen().bring_forward(by)


def run_worker(signs: Signs) -> None:
    """Be the workers of this machine, in both lanes, until somebody asks for the end."""
    chosen().run_worker(signs)
