"""How many rows a table has that only grows."""

from dataclasses import dataclass
from functools import partial

from django.db.models import Model, Q

from feedback.models import KeptTotal
from feedback.totals.growing import Growing, Rows


@dataclass(frozen=True, slots=True)
class Whole:
    """A table whose rows mostly stay; where some went, the next recount knows."""

    model: type[Model]

    @property
    def name(self) -> str:
        return f"all {self.model._meta.verbose_name_plural}"

    def count(self) -> int:
        known = self._growing.known()
        self._growing.count_on(known, Rows.count, partial(_keep, known))
        return _number(known) + sum(rows.count() for rows in self._growing.rest(known))

    def count_on(self) -> None:
        self.count()

    def recount(self) -> bool:
        """Whether what is kept is what there is; where not, it is from here on."""
        known = self._growing.known()
        found = self._growing.taken(known).count()
        if _number(known) == found:
            return True
        as_read = KeptTotal.objects.filter(pk=known.pk, seen_at=known.seen_at)
        return not as_read.update(sums=[found])  # counted on in between: the next time

    @property
    def _growing(self) -> Growing:
        rows: Rows = self.model._default_manager.order_by()
        return Growing(name=self.name, rows=rows, is_open=Q(pk__in=()))


def _keep(known: KeptTotal, more: int) -> None:
    """Only whoever moved the count on does."""
    KeptTotal.objects.filter(pk=known.pk).update(sums=[_number(known) + more])


def _number(known: KeptTotal) -> int:
    return int(known.sums[0]) if known.sums else 0
