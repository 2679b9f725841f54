"""Tells a lost step from one whose holder is only late."""

import time
from collections.abc import Sequence

from django.conf import settings

from runs.engine import recovery
from runs.engine.recovery import Overdue


class Lookout:
    """Looks again and again: a lease that ran out is lost only when nobody renews it meanwhile.

    A clock that jumped, a database or a whole machine that stood still make every lease run out;
    whoever is alive renews his at the next opportunity, well within our patience.
    """

    def __init__(self) -> None:
        self._watched: dict[Overdue, float] = {}  # for how long each was looked at
        self._looked_at = time.monotonic()

    def lost(self, run_pk: int | None = None) -> Sequence[Overdue]:
        patience = settings.FABER_LEASE_SECONDS / 4
        now = time.monotonic()
        # While this process was stopped it saw nothing, and the holder may have been stopped too:
        # what counts of the time between two looks is too little to be enough by itself.
        looked_on = min(now - self._looked_at, patience * 2 / 3)
        self._looked_at = now
        before = self._watched
        self._watched = {
            each: before[each] + looked_on if each in before else 0.0
            for each in recovery.find_overdue(run_pk)
        }
        return [
            each
            for each, watched in self._watched.items()
            if each.is_given_back or watched >= patience
        ]
