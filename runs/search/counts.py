"""Counts that stop where nobody reads on, and the names in use: flat for any number of rows."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from django.core.exceptions import EmptyResultSet
from django.db import connection
from django.db.models import QuerySet

K = TypeVar("K", bound=Hashable)
Rows = QuerySet[Any, Any]


@dataclass(frozen=True, slots=True)
class Quantity:
    """How many there are, as far as they were counted."""

    count: int
    is_more: bool = False  # there are at least so many

    def __str__(self) -> str:
        return f"{self.count:,}{'+' if self.is_more else ''}"

    def __bool__(self) -> bool:
        return self.count > 0

    def __add__(self, other: "Quantity") -> "Quantity":
        return Quantity(self.count + other.count, self.is_more or other.is_more)


NONE = Quantity(0)


def quantity(count: int, most: int) -> Quantity:
    """Of rows that were read up to one more than `most`."""
    return Quantity(min(count, most), is_more=count > most)


def up_to(most: int, found: Mapping[K, Rows]) -> dict[K, Quantity]:
    """How many each of these finds, in one statement; none reads more rows than `most` and one."""
    looks: list[str] = []
    values: list[Any] = []
    for place, rows in enumerate(found.values()):
        if asked := _sql(rows.order_by().values_list("pk")[: most + 1]):
            looks.append(f"SELECT {place}, COUNT(*) FROM ({asked[0]}) AS counted_{place}")
            values.extend(asked[1])
    counted = dict(_fetched(" UNION ALL ".join(looks), values))
    return {key: quantity(counted.get(place, 0), most) for place, key in enumerate(found)}


def of_any(ways: Sequence[Rows], most: int) -> Quantity:
    """How many rows there are that at least one of these finds; none reads more than it must."""
    looks: list[str] = []
    values: list[Any] = []
    for place, rows in enumerate(ways):
        if asked := _sql(rows.order_by().values_list("pk")[: most + 1]):
            looks.append(f"SELECT * FROM ({asked[0]}) AS way_{place}")
            values.extend(asked[1])
    if not looks:
        return NONE
    found = _fetched(f"SELECT COUNT(*) FROM ({' UNION '.join(looks)}) AS counted", values)
    return quantity(found[0][0], most)


def by(column: str, rows: Rows, most: int) -> dict[str, Quantity]:
    """How many of the first rows have each value of a column."""
    asked = _sql(rows.values_list(column)[: most + 1])
    if asked is None:
        return {}
    grouped = f"SELECT {column}, COUNT(*) FROM ({asked[0]}) AS counted GROUP BY {column}"
    counted = dict(_fetched(grouped, asked[1]))
    is_more = sum(counted.values()) > most
    return {value: Quantity(count, is_more=is_more) for value, count in counted.items()}


@dataclass(frozen=True, slots=True)
class Statement:
    """SQL that was made once: making it takes longer than asking it."""

    sql: str
    values: Sequence[Any]

    def rows(self) -> list[tuple[Any, ...]]:
        return _fetched(self.sql, self.values)


def statement(rows: Rows) -> Statement:
    return Statement(*(_sql(rows) or ("", ())))


def summed(rows: Rows) -> Statement:
    """Rows that are alike but for their key, once: with their number, greatest key and sum."""
    asked = statement(rows)
    if not asked.sql:
        return asked
    alike = ", ".join(f'"{name}"' for name in rows.query.values_select if name != "pk")
    every = f"COUNT(*), MAX(pk), SUM(pk) FROM ({asked.sql}) AS first GROUP BY {alike}"
    return Statement(f"SELECT {alike}, {every}", asked.values)


def names(rows: Rows, column: str, most: int) -> list[str]:
    """The values of an indexed column, in order: one look at the index for each, not for each row.

    The recursive part asks for the next value after the last one that was found.
    """
    table = rows.model._meta.db_table
    first = rows.order_by(column).values_list(column)
    beyond = first.extra(where=[f"{table}.{column} > known.name"])
    asked, further = _sql(first[:1]), _sql(beyond[:1])
    if asked is None or further is None:
        return []
    found = _fetched(
        f"WITH RECURSIVE known(name) AS (SELECT * FROM ({asked[0]}) AS least UNION ALL"
        f" SELECT ({further[0]}) FROM known WHERE known.name IS NOT NULL)"
        f" SELECT name FROM known WHERE name IS NOT NULL LIMIT {most:d}",
        [*asked[1], *further[1]],
    )
    return [str(name) for (name,) in found]


def _sql(rows: Rows) -> tuple[str, Sequence[Any]] | None:
    """None where nothing can be found, as for somebody who sees no project."""
    try:
        return rows.query.sql_with_params()
    except EmptyResultSet:
        return None


def _fetched(sql: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
    if not sql:
        return []
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        return list(cursor.fetchall())
