"""Histograms of tables that only grow: a row is added once it is over, and not read again."""

from dataclasses import dataclass
from functools import partial
from typing import Any

from django.db.models import Q, QuerySet

from faber_site.monitoring.families import Durations, Sums, added
from feedback.models import KeptTotal
from feedback.totals.growing import Growing


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """Rows that are summed; once one is not open any more its part in the sums never changes."""

    name: str
    rows: QuerySet[Any]
    is_open: Q
    is_summed: Q
    durations: Durations

    def sums(self) -> Sums:
        known = self._growing.known()
        self._count_on(known)
        rest = (self._sums(rows) for rows in self._growing.rest(known))
        return added(_read(known.sums), *rest)

    @property
    def _growing(self) -> Growing:
        return Growing(name=self.name, rows=self.rows, is_open=self.is_open)

    def _count_on(self, known: KeptTotal) -> None:
        self._growing.count_on(known, self._sums, partial(_keep, known))

    def _sums(self, rows: QuerySet[Any]) -> Sums:
        return self.durations.sums(rows.filter(self.is_summed))


def _keep(known: KeptTotal, over: Sums) -> None:
    """Only whoever moved the count on does."""
    whole = added(_read(known.sums), over)
    KeptTotal.objects.filter(pk=known.pk).update(sums=_written(whole))


def _read(stored: list[Any]) -> Sums:
    return {(label, place): (count, spent) for label, place, count, spent in stored}


def _written(sums: Sums) -> list[list[object]]:
    return [[*place, *sum_] for place, sum_ in sums.items()]
