"""Sums by project and day over rows that only grow."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from math import isclose
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import Aggregate, CharField, F, Min, Q, Subquery, Sum, Value
from django.db.models.functions import Cast, Substr

from feedback.models import DailyTotal, KeptTotal
from feedback.totals.growing import Growing, Rows
from runs.accounts.membership import Sight

_AT_ONCE = 500
_COLUMNS = ("counted", "usd", "tokens_in", "tokens_out")
_NOTHING = Value(0)


class Sums(NamedTuple):
    counted: int = 0
    usd: float = 0.0
    tokens_in: int = 0
    tokens_out: int = 0

    def plus(self, other: "Sums") -> "Sums":
        return Sums(*(mine + its for mine, its in zip(self, other, strict=True)))  # type: ignore[arg-type]


_Place = tuple[int, date]  # a project and a day
_Found = Sequence[tuple[_Place, Sums]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Daily:
    """One thing that is summed, of which every row has a project and a moment."""

    growing: Growing
    is_summed: Q
    project: str  # the way from a row to its project
    at: str
    sums: Mapping[str, Aggregate]  # by column; what is not named stays 0

    @property
    def name(self) -> str:
        return self.growing.name

    def by_project(self, sight: Sight, since: date | None) -> dict[int, Sums]:
        return self._summed("project", sight, since)

    def by_day(self, sight: Sight, since: date | None) -> dict[date, Sums]:
        return self._summed("day", sight, since)

    def total(self, sight: Sight, since: date | None) -> Sums:
        return added(self.by_project(sight, since).values())

    def count_on(self) -> None:
        self.growing.count_on(self.growing.known(), self._read, self._keep)

    def recount(self) -> bool:
        """Whether what is kept is what its rows say; where not, it is from here on."""
        known = self.growing.known()
        found = dict(self._read(self.growing.taken(known)))
        same = KeptTotal.objects.filter(pk=known.pk, seen_at=known.seen_at)
        with transaction.atomic():
            if not same.update(seen_at=known.seen_at):  # counted on in between, or never counted
                return True
            mine = DailyTotal.objects.filter(name=self.name)
            kept = {(row.project_id, row.day): _sums_of(row) for row in mine}
            if _are_equal(kept, found):
                return True
            mine.delete()
            self._keep(list(found.items()))
        return False

    def _summed(self, by: str, sight: Sight, since: date | None) -> dict[Any, Sums]:
        known = self.growing.known()
        self.growing.count_on(known, self._read, self._keep)
        known, found = self._kept(known, by, sight, since)
        for rows in self.growing.rest(known):
            for (project, day), sums in self._read(rows, since):
                if sight.includes(project):
                    key = project if by == "project" else day
                    found[key] = found[key].plus(sums)
        return found

    def _kept(
        self, known: KeptTotal, by: str, sight: Sight, since: date | None
    ) -> tuple[KeptTotal, defaultdict[Any, Sums]]:
        """What was counted up to there; further where somebody has counted on."""
        rows = sight.of(DailyTotal.objects.filter(name=self.name))
        rows = rows.filter(day__gte=since) if since else rows
        # In the same statement: what is read and how far that is counted belong together.
        seen_at = Subquery(KeptTotal.objects.filter(name=self.name).values("seen_at"))
        summed = rows.order_by().values_list(by).annotate(*(Sum(name) for name in _COLUMNS))
        while True:
            found: defaultdict[Any, Sums] = defaultdict(Sums)
            moments = set()
            for key, *sums, moment in summed.annotate(seen=seen_at):
                found[key] = Sums(*sums)
                moments.add(moment)
            if moments <= {known.seen_at}:
                return known, found
            known = self.growing.known()

    def _read(self, rows: Rows, since: date | None = None) -> _Found:
        rows = rows.filter(self.is_summed)
        if since:
            rows = rows.filter(**{f"{self.at}__gte": datetime.combine(since, time.min, UTC)})
        # A moment as the database writes it, in UTC, begins with its day.
        day = Substr(Cast(self.at, CharField()), 1, len("2026-11-16"))
        grouped = rows.order_by().annotate(day=day, of=F(self.project)).values_list("of", "day")
        named = {f"sum_{name}": self.sums.get(name, Min(_NOTHING)) for name in _COLUMNS}
        return [
            ((project, date.fromisoformat(day)), Sums(*(each or 0 for each in sums)))
            for project, day, *sums in grouped.annotate(**named)
        ]

    def _keep(self, over: _Found) -> None:
        """Add to what is there; only whoever moved the count on does."""
        if not over:
            return
        since = min(day for (_, day), _ in over)
        there = DailyTotal.objects.filter(name=self.name, day__gte=since)
        known = {(row.project_id, row.day): _sums_of(row) for row in there}
        DailyTotal.objects.bulk_create(
            [
                DailyTotal(
                    name=self.name,
                    project_id=place[0],
                    day=place[1],
                    **known.get(place, Sums()).plus(sums)._asdict(),
                )
                for place, sums in over
            ],
            batch_size=_AT_ONCE,
            update_conflicts=True,
            unique_fields=["name", "day", "project"],
            update_fields=_COLUMNS,
        )


def added(each: Iterable[Sums]) -> Sums:
    total = Sums()
    for sums in each:
        total = total.plus(sums)
    return total


def _sums_of(row: DailyTotal) -> Sums:
    return Sums(row.counted, row.usd, row.tokens_in, row.tokens_out)


def _are_equal(kept: Mapping[_Place, Sums], found: Mapping[_Place, Sums]) -> bool:
    """Dollars that were added in another order differ behind the last digit that counts."""
    return kept.keys() == found.keys() and all(
        isclose(mine, its, abs_tol=1e-6)
        for place in kept
        for mine, its in zip(kept[place], found[place], strict=True)
    )
