"""Keeps a worker's hold on its step, and shows what the step prints meanwhile."""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Self

from django.conf import settings
from django.db import DatabaseError, connection

from runs import engine
from runs.models import StepAttempt

logger = logging.getLogger(__name__)

SHOWN_LINES = 200
FLUSH_SECONDS = 0.5


class Lease:
    """Renewed by a thread of its own; when it is lost the step must stop at once."""

    def __init__(self, attempt: StepAttempt, show: Callable[[str, str], None]) -> None:
        self._attempt_pk = attempt.pk
        self._worker = attempt.worker
        self._show = show
        self._lines: deque[str] = deque(maxlen=SHOWN_LINES)
        self._fresh = False
        self._lost = False
        self._has_connection = False
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
        self._thread.join()

    # What an executor calls

    def line(self, stream: str, text: str) -> None:
        self._lines.append(text)
        self._fresh = True
        self._show(stream, text)

    def should_stop(self) -> bool:
        return self._lost

    def _renew(self) -> None:
        interval = settings.FABER_LEASE_SECONDS / 4
        renewed = time.monotonic()
        try:
            while not self._done.wait(min(FLUSH_SECONDS, interval)):
                if not self._fresh and time.monotonic() - renewed < interval:
                    continue
                if self._keep():
                    renewed = time.monotonic()
                if self._lost:
                    return
        finally:
            if self._has_connection:
                connection.close()  # this thread's own; asking for it would make one

    def _keep(self) -> bool:
        self._fresh = False
        self._has_connection = True
        try:
            kept = engine.keep(self._attempt_pk, self._worker, progress="\n".join(self._lines))
        except DatabaseError:
            # The database may be back before the lease runs out; until then the step goes on.
            logger.warning("could not renew the lease of attempt %s", self._attempt_pk)
            return False
        self._lost = not kept
        return kept
