"""Families of metrics as the database tells them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from django.db.models import Case, Count, FloatField, Func, QuerySet, Sum, Value, When
from django.db.models.expressions import Combinable
from prometheus_client.core import GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric


class Seconds(Func):
    """Between two moments, by the database's own means.

    Django's difference of two moments is a call of Python for every row of SQLite.
    """

    output_field = FloatField()

    def __init__(self, since: Combinable, until: Combinable) -> None:
        super().__init__(until, since)

    def as_sqlite(self, compiler: Any, connection: Any, **_: Any) -> Any:
        template = "((julianday(%(expressions)s)) * 86400.0)"
        return self.as_sql(compiler, connection, template=template, arg_joiner=") - julianday(")

    def as_postgresql(self, compiler: Any, connection: Any, **_: Any) -> Any:
        template = "CAST(EXTRACT(EPOCH FROM (%(expressions)s)) AS double precision)"
        return self.as_sql(compiler, connection, template=template, arg_joiner=" - ")


def gauge(name: str, told: str, value: float) -> Metric:
    return GaugeMetricFamily(name, told, value=value)


def by_label(
    name: str, told: str, label: str, values: Iterable[str], counts: Mapping[str, float]
) -> Metric:
    """Every value is there, also with zero: an absent series cannot be alerted on."""
    family = GaugeMetricFamily(name, told, labels=[label])
    for value in values:
        family.add_metric([str(value)], counts.get(str(value), 0))
    return family


Place = tuple[str, int]  # a label and a bucket
Sums = Mapping[Place, tuple[int, float]]  # how many rows, and the seconds they took together


@dataclass(frozen=True, slots=True, kw_only=True)
class Durations:
    """How long each of some rows took, by the steps of a histogram."""

    bounds: Sequence[int]
    took: Seconds
    label: str = ""  # a column or an annotation

    def sums(self, rows: QuerySet[Any]) -> Sums:
        """In one look over the rows."""
        steps = [When(took__lte=top, then=Value(place)) for place, top in enumerate(self.bounds)]
        placed = rows.annotate(
            took=self.took, place=Case(*steps, default=Value(len(self.bounds)))
        ).order_by()
        grouped = placed.values(*filter(None, [self.label]), "place")
        return {
            (row.get(self.label, ""), row["place"]): (row["count"], row["spent"] or 0.0)
            for row in grouped.annotate(count=Count("pk"), spent=Sum("took"))
        }

    def histogram(self, name: str, told: str, sums: Sums, values: Iterable[str] = ("",)) -> Metric:
        family = HistogramMetricFamily(name, told, labels=[self.label] if self.label else [])
        marks = [*map(str, self.bounds), "+Inf"]
        for value in values:
            found = [sums.get((value, place), (0, 0.0)) for place in range(len(marks))]
            counted = accumulate(count for count, _ in found)
            family.add_metric(
                [value] if self.label else [],
                buckets=list(zip(marks, counted, strict=True)),
                sum_value=sum(spent for _, spent in found),
            )
        return family


def added(*each: Sums) -> Sums:
    total: dict[Place, tuple[int, float]] = {}
    for sums in each:
        for place, (count, spent) in sums.items():
            known = total.get(place, (0, 0.0))
            total[place] = (known[0] + count, known[1] + spent)
    return total


def without(sums: Sums, less: Sums) -> Sums:
    return added(sums, {place: (-count, -spent) for place, (count, spent) in less.items()})
