"""Keeps a worker's hold on its step, and shows what the step prints meanwhile."""

import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Self

from django.conf import settings
from django.db import Error, connection

from runs import engine
from runs.engine import Claim
from runs.executors.orders import Hold
from runs.jobs import log_context
from runs.models.live_output import SHOWN_LINES, LiveOutput

logger = logging.getLogger(__name__)

FLUSH_SECONDS = 0.5
SLOW_ANSWER = 1.0
# Starting a thread costs more than a short step: it waits for the next one for a while.
LINGERS_SECONDS = 5.0


class Lease:
    """Renewed by the process's own thread for that; when it is lost the step must stop at once."""

    def __init__(self, claim: Claim, show: Callable[[str, str], None]) -> None:
        self._attempt_pk = claim.attempt.pk
        self._worker = claim.attempt.worker
        self._run_id = claim.run.run_id
        self._show = show
        self._shown = LiveOutput(claim.attempt.pk)
        self._lines: deque[str] = deque(maxlen=SHOWN_LINES)  # not shown yet
        self._lost = False
        self._is_out_of_reach = False
        self._renewed = claim.since
        self._asked: float | None = None  # since when the database owes an answer
        self._is_over = False
        self._is_renewing = threading.Lock()

    def __enter__(self) -> Self:
        _begin(self)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._is_over = True
        # A database that does not answer must not keep a worker whose step is settled.
        is_answered = self._is_renewing.acquire(timeout=FLUSH_SECONDS)
        _end(self, is_stuck=not is_answered)

    # What an executor calls

    def line(self, stream: str, text: str) -> None:
        self._lines.append(text)
        self._show(stream, text)

    def should_stop(self) -> bool:
        return self._lost

    def hold(self) -> Hold:
        """A lease counts from before it was asked for, so that it ends here first.

        Whoever takes a step over waits for a quarter of a lease more, and by then it is ended. But
        as long as we live and cannot reach the database, it stands still: nobody may have it yet.
        """
        lasts = settings.FABER_LEASE_SECONDS
        patience = lasts * 4 if self._is_out_of_reach or self._waits_for_an_answer() else lasts / 8
        return Hold(until=self._renewed + lasts, patience=patience)

    def _waits_for_an_answer(self) -> bool:
        return self._asked is not None and time.monotonic() - self._asked > SLOW_ANSWER

    # What the thread calls

    def renew(self) -> None:
        """Renew it if it is time, and show what was printed since."""
        if self._is_over or self._lost or not self._is_renewing.acquire(blocking=False):
            return
        try:
            is_due = time.monotonic() - self._renewed >= settings.FABER_LEASE_SECONDS / 6
            if (self._lines or is_due) and not self._is_over:
                with log_context.busy_with_run(self._run_id):
                    self._keep()
        finally:
            self._is_renewing.release()

    def _keep(self) -> None:
        began = self._asked = time.monotonic()
        try:
            kept = engine.keep(self._attempt_pk, self._worker)
            if kept and self._lines:
                # What cannot be shown now is not shown later; the end of the step has everything.
                lines, self._lines = self._lines, deque(maxlen=SHOWN_LINES)
                self._shown.add(lines)
        except Error as error:
            # The database may be back before the lease runs out; until then the step goes on.
            if not self._is_out_of_reach:
                logger.warning("could not renew the lease of attempt %s: %s", *self._named(error))
            self._is_out_of_reach = True
            connection.close()  # a broken one would fail for ever
            return
        finally:
            self._asked = None
        # An answer may come when what it gives is over, as after a sleep: then it is asked again.
        self._is_out_of_reach = time.monotonic() >= began + settings.FABER_LEASE_SECONDS
        self._renewed = began
        self._lost = not kept

    def _named(self, error: Error) -> tuple[int, str]:
        return self._attempt_pk, str(error).strip()


class _Renewer:
    """One thread, for every lease of this process; it ends when there was none for a while."""

    def __init__(self, *leases: Lease) -> None:
        self._leases = set(leases)
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self._ended = threading.Event()
        threading.Thread(target=self._work, daemon=True, name="leases").start()

    def take(self, lease: Lease) -> bool:
        """False when its thread has ended, or is of the process that this one was forked from."""
        if self._pid != os.getpid():
            return False
        with self._lock:
            if not self._ended.is_set():
                self._leases.add(lease)
            return not self._ended.is_set()

    def leave(self, lease: Lease) -> None:
        with self._lock:
            self._leases.discard(lease)

    def leave_all(self) -> set[Lease]:
        with self._lock:
            leases, self._leases = self._leases, set()
            self._ended.set()
        return leases

    def _work(self) -> None:
        used = time.monotonic()
        try:
            while not self._ended.wait(min(FLUSH_SECONDS, settings.FABER_LEASE_SECONDS / 6)):
                leases = self._held()
                for lease in leases:
                    lease.renew()
                if leases:
                    used = time.monotonic()
                self._end_if_unused_since(used)
        finally:
            self.leave_all()
            connection.close()  # this thread's own

    def _held(self) -> list[Lease]:
        with self._lock:
            return list(self._leases)

    def _end_if_unused_since(self, used: float) -> None:
        with self._lock:
            if not self._leases and time.monotonic() - used > LINGERS_SECONDS:
                self._ended.set()


_renewer: _Renewer | None = None


def _begin(lease: Lease) -> None:
    global _renewer  # noqa: PLW0603  one per process
    if _renewer is None or not _renewer.take(lease):
        _renewer = _Renewer(lease)


def _end(lease: Lease, *, is_stuck: bool) -> None:
    """Whoever else has a lease here does not wait for the answer that this one did not get."""
    global _renewer  # noqa: PLW0603
    if _renewer is not None:
        _renewer.leave(lease)
        if is_stuck:
            _renewer = _Renewer(*_renewer.leave_all())
