"""The process that executes jobs: django-q2's cluster, which ends with whoever started it."""

import os
import signal
import sys
from importlib import import_module
from multiprocessing import Event, get_context
from types import FrameType
from uuid import uuid4

from django.conf import settings

from faber_site.runtime import memory, processes
from runs.jobs import draining
from runs.jobs.table import Job

# A step may last an hour; whoever asks the cluster to end has been promised seconds. The
# supervisor is quicker than this; it matters when the supervisor is gone.
GRACE = 5

_guard = 0  # who started this worker


def main() -> None:
    processes.begin_child()
    # Loaded here once, and not by each worker when its first job comes.
    for job in Job:
        import_module(job.module)
    from django_q import signals  # noqa: PLC0415  needs the settings

    from faber_site.runtime.lanes import Lanes  # noqa: PLC0415
    from feedback.channels.notices import chat  # noqa: PLC0415

    if settings.FABER_NOTIFY_URLS:
        chat.load()
    draining.heed(sys.argv[2])
    signals.post_spawn.connect(_worker_starts)
    signals.pre_execute.connect(_job_starts)
    signals.post_execute_in_worker.connect(_job_ends)
    memory.keep_what_is_loaded()  # before it forks, so that the workers share it
    stop, forking = Event(), get_context("fork")
    sentinel = forking.Process(target=Lanes, args=(stop, Event(), uuid4()))

    def end(_number: int, _frame: FrameType | None) -> None:
        signal.alarm(GRACE)
        stop.set()

    signal.signal(signal.SIGALRM, lambda _number, _frame: processes.kill_session(os.getsid(0)))
    signal.signal(signal.SIGTERM, end)
    sentinel.start()
    sentinel.join()


def _worker_starts(**_kwargs: object) -> None:
    global _guard  # noqa: PLW0603  one per process
    _guard = os.getppid()
    processes.be_busy(is_busy=False)


def _job_starts(**_kwargs: object) -> None:
    processes.be_busy(is_busy=True)


def _job_ends(*, task: dict[str, object], **_kwargs: object) -> None:
    """Also ends a worker whose cluster was retired while it was busy: no job can reach it."""
    processes.be_busy(is_busy=False)
    if os.getppid() != _guard:
        from django_q.brokers import get_broker  # noqa: PLC0415  needs the settings

        get_broker().acknowledge(task["ack_id"])
        os._exit(0)


if __name__ == "__main__":
    main()
