"""What is asked of whatever carries jobs, and which engine does: the run's row stays the truth."""

from collections.abc import Collection
from datetime import datetime, timedelta
from functools import cache
from importlib import import_module
from typing import Protocol, cast

from django.conf import settings

from runs.jobs.table import Job, Lane, Queue

# Each module offers what `QueueEngine` asks; one that is not used need not be installed.
_ENGINES = {"database": "runs.jobs.database.engine", "celery": "runs.jobs.celery.engine"}
# A step may last an hour; whoever asks a worker to end has been promised seconds. The supervisor
# is quicker than this; it matters when the supervisor is gone.
GRACE = 5


class OutOfReach(Exception):
    """Why the engine cannot be asked at the moment."""


class Signs(Protocol):
    """What workers show of themselves to those who watch them from outside."""

    def be_of(self, lane: Lane) -> None: ...

    def be_busy(self, *, is_busy: bool) -> None: ...

    def kill_session(self, session: int) -> None: ...


class QueueEngine(Protocol):
    """Carries jobs to workers, at least once while nothing breaks.

    A job that got lost is queued again by the sweep, and one that comes twice finds nothing to do.
    """

    def enqueue(self, job: Job, *ids: int, host: str = "") -> None:
        """Have a worker do it, once the caller's transaction commits; on one machine, if named."""

    def enqueue_at(self, moment: datetime, job: Job, *ids: int) -> None:
        """Have a worker do it when the moment has come."""

    def oldest(self, *queues: Queue) -> datetime | None:
        """When the job was queued that waits longest for a worker; None when none waits.

        Raises OutOfReach, as `waiting` and `check` do.
        """

    def waiting(self, lane: Lane) -> int:
        """How many jobs of a lane no worker has taken yet."""

    def check(self) -> None:
        """Whether jobs can be queued at all."""

    def hosts_with_jobs(self) -> list[str]:
        """Machines for whose workers something waits that only they are to do."""

    def take_from(self, hosts: Collection[str]) -> None:
        """Let everybody have what waits for machines that are gone."""

    def bring_forward(self, by: timedelta) -> None:
        """Let jobs that wait for a moment wait so much less."""

    def beat(self, session: int, lane: Lane) -> None:
        """Have this lane of the cluster with this session, and no other, show that it lives."""

    def is_answered(self, session: int, lane: Lane) -> bool:
        """Whether it has taken, executed and acknowledged every beat."""

    def remind(self, session: int, lane: Lane) -> bool:
        """Wake it again for the beat that it has not answered; False when it cannot be woken."""

    def forget(self, session: int, *lanes: Lane) -> None:
        """Remove the beats of a cluster that is gone; of all lanes if none is said."""

    def run_worker(self, signs: Signs) -> None:
        """Be the workers of this machine, in both lanes, until somebody asks for the end."""


def chosen() -> QueueEngine:
    """The engine of this site."""
    return _loaded(settings.FABER_QUEUE)


@cache
def _loaded(name: str) -> QueueEngine:
    return cast("QueueEngine", import_module(_ENGINES[name]))
