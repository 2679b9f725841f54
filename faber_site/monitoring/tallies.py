"""Sums over tables that only grow: a row is added once it is over, and not read again.

Several processes may count at once, and any may die: one conditional update takes a count over.
"""

from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import OperationalError
from django.db.models import Max, Q, QuerySet

from faber_site.monitoring.families import Durations, Sums, added
from feedback.models import KeptTotal
from runs.models import clock

# Rows get their numbers before they can be seen, and no transaction takes this long.
WRITTEN = timedelta(minutes=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """Rows that are summed; once one is not open any more its part in the sums never changes."""

    name: str
    rows: QuerySet[Any]
    is_open: Q
    is_summed: Q
    durations: Durations

    def sums(self) -> Sums:
        known = KeptTotal.objects.filter(name=self.name).first() or KeptTotal(name=self.name)
        # Whoever cannot write now has read all the same; the next one counts on.
        with suppress(OperationalError):
            self._count_on(known)
        further = self._sums(self.rows.filter(pk__gt=known.up_to))
        late = self._sums(self.rows.filter(pk__in=known.unfinished)) if known.unfinished else {}
        return added(_read(known.sums), further, late)

    def _count_on(self, known: KeptTotal) -> None:
        """Take what is over by now into the sums that are kept; `known` stays as it was read."""
        now = clock.now()
        if known.pk is None:
            first = {"seen": self._last(), "seen_at": now}
            KeptTotal.objects.get_or_create(name=self.name, defaults=first)
        elif known.seen_at < now - WRITTEN:
            # Read before the sums: what ends in between is counted the next time, and not twice.
            open_rows = self._between(known).filter(self.is_open).order_by("pk")
            unfinished = list(open_rows.values_list("pk", flat=True))
            over = self._sums(self._between(known).exclude(pk__in=unfinished))
            KeptTotal.objects.filter(pk=known.pk, up_to=known.up_to, seen=known.seen).update(
                up_to=known.seen,
                unfinished=unfinished,
                sums=_written(added(_read(known.sums), over)),
                seen=self._last(),
                seen_at=now,
            )

    def _between(self, known: KeptTotal) -> QuerySet[Any]:
        fresh = Q(pk__gt=known.up_to, pk__lte=known.seen)
        return self.rows.filter(fresh | Q(pk__in=known.unfinished))

    def _sums(self, rows: QuerySet[Any]) -> Sums:
        return self.durations.sums(rows.filter(self.is_summed))

    def _last(self) -> int:
        return self.rows.model._default_manager.aggregate(last=Max("pk"))["last"] or 0


def _read(stored: list[Any]) -> Sums:
    return {(label, place): (count, spent) for label, place, count, spent in stored}


def _written(sums: Sums) -> list[list[object]]:
    return [[*place, *sum_] for place, sum_ in sums.items()]
