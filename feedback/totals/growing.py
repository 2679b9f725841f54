"""How far a table that only grows is counted: a row is added once it is over, and not read again.

Several processes may count at once, and any may die: one conditional update takes a count over.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

from django.db import OperationalError, transaction
from django.db.models import Max, Q, QuerySet

from feedback.models import KeptTotal
from runs.models import clock

# Rows get their numbers before they can be seen, and no transaction takes this long.
WRITTEN = timedelta(minutes=5)

Rows = QuerySet[Any]
_Sums = TypeVar("_Sums")


@dataclass(frozen=True, slots=True, kw_only=True)
class Growing:
    """Rows that are summed; once one is not open any more its part in a sum never changes."""

    name: str
    rows: Rows
    is_open: Q

    def known(self) -> KeptTotal:
        return KeptTotal.objects.filter(name=self.name).first() or KeptTotal(name=self.name)

    def rest(self, known: KeptTotal) -> Iterator[Rows]:
        """What is not in the sums that are kept."""
        yield self.rows.filter(pk__gt=known.up_to)
        if known.unfinished:
            yield self.rows.filter(pk__in=known.unfinished)

    def taken(self, known: KeptTotal) -> Rows:
        """What is in them."""
        return self.rows.filter(pk__lte=known.up_to).exclude(pk__in=known.unfinished)

    def count_on(
        self, known: KeptTotal, read: Callable[[Rows], _Sums], keep: Callable[[_Sums], None]
    ) -> None:
        """Have what is over by now kept; `known` stays as it was read."""
        # Whoever cannot write now has read all the same; the next one counts on.
        with suppress(OperationalError):
            if known.pk is None:
                first = {"seen": self._last(), "seen_at": clock.now()}
                KeptTotal.objects.get_or_create(name=self.name, defaults=first)
            elif known.seen_at < clock.now() - WRITTEN:
                self._take(known, read, keep)

    def _take(
        self, known: KeptTotal, read: Callable[[Rows], _Sums], keep: Callable[[_Sums], None]
    ) -> None:
        # Read before the sums: what ends in between is counted the next time, and not twice.
        open_rows = self._between(known).filter(self.is_open).order_by("pk")
        unfinished = list(open_rows.values_list("pk", flat=True))
        over = read(self._between(known).exclude(pk__in=unfinished))
        ahead = {"up_to": known.seen, "seen": self._last(), "seen_at": clock.now()}
        as_read = KeptTotal.objects.filter(pk=known.pk, up_to=known.up_to, seen=known.seen)
        with transaction.atomic():
            if as_read.filter(seen_at=known.seen_at).update(unfinished=unfinished, **ahead):
                keep(over)

    def _between(self, known: KeptTotal) -> Rows:
        fresh = Q(pk__gt=known.up_to, pk__lte=known.seen)
        return self.rows.filter(fresh | Q(pk__in=known.unfinished))

    def _last(self) -> int:
        return self.rows.model._default_manager.aggregate(last=Max("pk"))["last"] or 0
