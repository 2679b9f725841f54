"""Sends jobs from a thread of its own, so that no decision waits for the broker.

What cannot be sent is dropped: the sweep finds it by its row and queues it when the broker is back.
"""

import atexit
import logging
import os
import queue
import threading
import time
from typing import NamedTuple

from runs.jobs.celery.link import BrokerLink
from runs.jobs.engine import OutOfReach
from runs.jobs.table import Job

logger = logging.getLogger(__name__)

# How long a process that ends waits for what it has not sent yet.
_LAST_WORDS = 2.0


class SentJob(NamedTuple):
    queue: str
    job: Job
    ids: tuple[int, ...]


class Publisher:
    """Belongs to one process; its thread starts with the first message."""

    def __init__(self) -> None:
        self.link = BrokerLink()
        self._messages: queue.Queue[SentJob] = queue.Queue()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self._is_down = False

    def publish(self, message: SentJob) -> None:
        with self._starting:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, daemon=True, name="publisher")
                self._thread.start()
        self._messages.put(message)

    def flush(self, seconds: float = _LAST_WORDS) -> None:
        """Wait until all is sent or dropped, but not longer."""
        deadline = time.monotonic() + seconds
        with self._messages.all_tasks_done:
            while self._messages.unfinished_tasks and time.monotonic() < deadline:
                self._messages.all_tasks_done.wait(deadline - time.monotonic())

    def _run(self) -> None:
        while True:
            message = self._messages.get()
            try:
                self.link.send(*message)
                self._is_down = False
            except OutOfReach as error:
                self._tell_once(error)
            except Exception:
                logger.exception("a job could not be sent")
            finally:
                self._messages.task_done()

    def _tell_once(self, error: OutOfReach) -> None:
        if not self._is_down:
            logger.warning(
                "Jobs can't be sent to the broker: %s. They are queued again when it is back.",
                error,
            )
        self._is_down = True


_own = Publisher()


def own() -> Publisher:
    """The publisher of this process."""
    return _own


def _begin_anew() -> None:
    """Neither a thread nor a lock nor a connection is shared with the process that forked."""
    global _own  # noqa: PLW0603  one per process
    _own = Publisher()


def _flush() -> None:
    _own.flush()


os.register_at_fork(after_in_child=_begin_anew)
atexit.register(_flush)
