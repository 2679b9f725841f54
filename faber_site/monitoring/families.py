"""Families of metrics as the database tells them."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
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


def histogram(
    name: str,
    told: str,
    bounds: Sequence[int],
    rows: QuerySet[Any],
    *,
    took: Seconds,
    label: str = "",
    values: Iterable[str] = ("",),
) -> Metric:
    """How long each row took, in one look over them; `label` is a column or an annotation."""
    counts: dict[str, list[int]] = defaultdict(lambda: [0] * (len(bounds) + 1))
    spent: dict[str, float] = defaultdict(float)
    steps = [When(took__lte=bound, then=Value(place)) for place, bound in enumerate(bounds)]
    placed = rows.annotate(took=took, place=Case(*steps, default=Value(len(bounds)))).order_by()
    grouped = placed.values(*filter(None, [label]), "place")
    for row in grouped.annotate(count=Count("pk"), spent=Sum("took")):
        value = row.get(label, "")
        counts[value][row["place"]] += row["count"]
        spent[value] += row["spent"] or 0.0
    family = HistogramMetricFamily(name, told, labels=[label] if label else [])
    marks = [*map(str, bounds), "+Inf"]
    for value in values:
        buckets = list(zip(marks, accumulate(counts[value]), strict=True))
        family.add_metric([value] if label else [], buckets=buckets, sum_value=spent[value])
    return family
