"""Rows that must leave the site: taken by one worker at a time, put off when sending fails."""

import logging
import threading
import time
from datetime import datetime, timedelta
from types import TracebackType
from typing import Self, TypeVar

from django.db import DatabaseError, InterfaceError, connection, transaction
from django.db.models import QuerySet

from feedback.models import Outgoing
from runs.jobs import queue
from runs.jobs.table import Job
from runs.models import clock

logger = logging.getLogger(__name__)

R = TypeVar("R", bound=Outgoing)

# How long something due may wait for its job before another is queued.
_PATIENCE = timedelta(seconds=30)
# The same for what somebody has had already: whoever it was died, or its next try is due.
_PATIENCE_AFTER_A_TRY = timedelta(seconds=2)
# Whoever has a row although its turn seems to be over, because the clock jumped, says so by then.
_HEARING = timedelta(seconds=2)


def take(rows: QuerySet[R], pk: int, *, turn: timedelta) -> R | None:
    """The row, unless it is somebody else's turn or nothing is due.

    A turn outlasts any sending, or is kept with `Turn` while that lasts.
    """
    now = clock.now()
    due = rows.filter(pk=pk, is_due=True, next_try_at__lte=now)
    with transaction.atomic():
        row = due.first()
        # Written before anything is sent: a second try knows that there was a first.
        taken = row and due.filter(attempts=row.attempts).update(
            attempts=row.attempts + 1, next_try_at=now + turn
        )
    return row if taken else None


class TurnLostError(Exception):
    """Somebody else may have the row by now."""


class Turn:
    """Keeps a turn for as long as something is being sent, so that a dead worker's ends soon."""

    def __init__(self, row: Outgoing, turn: timedelta) -> None:
        # As `take` wrote it: whoever else takes the row counts another attempt.
        self._mine = type(row)._default_manager.filter(
            pk=row.pk, is_due=True, attempts=row.attempts + 1
        )
        self._length = turn
        self._ends = time.monotonic() + turn.total_seconds()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._keep, daemon=True, name="turn")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._done.set()
        self._thread.join()

    def check(self) -> None:
        """Refuse to go on with what somebody else may have taken, whichever clock is wrong."""
        if time.monotonic() >= self._ends or not self._mine.exists():
            raise TurnLostError

    def _keep(self) -> None:
        has_connection = False
        while not self._done.wait(self._length.total_seconds() / 4):
            has_connection = True
            begun = time.monotonic()
            try:
                if self._mine.update(next_try_at=clock.now() + self._length):
                    self._ends = begun + self._length.total_seconds()
            except (DatabaseError, InterfaceError):
                logger.warning("The turn of a sending could not be kept.")
                connection.close()  # the next try gets a new one
        if has_connection:
            connection.close()  # this thread's own; asking for it would make one


def put_off(row: Outgoing, until: datetime, why: str, job: Job) -> None:
    """Note why it could not be sent, and have it tried again."""
    with transaction.atomic():
        type(row)._default_manager.filter(pk=row.pk).update(
            next_try_at=until, last_error=why[:1000]
        )
        queue.enqueue_at(until, job, row.pk)


def catch_up(rows: QuerySet[R], job: Job, most: int = 100) -> None:
    """Queue what should have left by now and did not: its job was lost with its worker."""
    now = clock.now()
    lost = queue.lost_before(job, now)
    tried = rows.filter(is_due=True, attempts__gt=0, next_try_at__lt=lost - _PATIENCE_AFTER_A_TRY)
    untried = rows.filter(is_due=True, attempts=0, next_try_at__lt=lost - _PATIENCE)
    # From now on they wait for this job, so that the next sweep does not queue another.
    for pk in list(untried.values_list("pk", flat=True)[:most]):
        if untried.filter(pk=pk).update(next_try_at=now):
            queue.enqueue(job, pk)
    for pk in list(tried.values_list("pk", flat=True)[:most]):
        if tried.filter(pk=pk).update(next_try_at=now + _HEARING):
            queue.enqueue_at(now + _HEARING, job, pk)
