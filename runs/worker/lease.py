"""Keeps a worker's hold on its step, and shows what the step prints meanwhile."""

import logging
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
from runs.models.live_output import SHOWN_LINES, LiveOutput

logger = logging.getLogger(__name__)

FLUSH_SECONDS = 0.5
SLOW_ANSWER = 1.0


class Lease:
    """Renewed by a thread of its own; when it is lost the step must stop at once."""

    def __init__(self, claim: Claim, show: Callable[[str, str], None]) -> None:
        self._attempt_pk = claim.attempt.pk
        self._worker = claim.attempt.worker
        self._show = show
        self._shown = LiveOutput(claim.attempt.pk)
        self._lines: deque[str] = deque(maxlen=SHOWN_LINES)  # not shown yet
        self._lost = False
        self._has_connection = False
        self._is_out_of_reach = False
        self._renewed = claim.since
        self._asked: float | None = None  # since when the database owes an answer
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._renew, daemon=True, name="lease")

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
        # A database that does not answer must not keep a worker whose step is settled.
        self._thread.join(FLUSH_SECONDS)

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

    def _renew(self) -> None:
        interval = settings.FABER_LEASE_SECONDS / 6
        try:
            while not self._done.wait(min(FLUSH_SECONDS, interval)):
                if self._lines or time.monotonic() - self._renewed >= interval:
                    self._keep()
                if self._lost:
                    return
        finally:
            self._disconnect()

    def _keep(self) -> None:
        self._has_connection = True
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
            self._disconnect()  # a broken connection would fail for ever
            return
        finally:
            self._asked = None
        # An answer may come when what it gives is over, as after a sleep: then it is asked again.
        self._is_out_of_reach = time.monotonic() >= began + settings.FABER_LEASE_SECONDS
        self._renewed = began
        self._lost = not kept

    def _named(self, error: Error) -> tuple[int, str]:
        return self._attempt_pk, str(error).strip()

    def _disconnect(self) -> None:
        if self._has_connection:
            connection.close()  # this thread's own; asking for it would make one
            self._has_connection = False
