"""Pages of lists: a cursor names the last row that was given."""

import base64
import binascii
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import count, islice
from typing import Generic, TypeVar

from django.db.models import Model, Q, QuerySet
from django.utils.dateparse import parse_datetime

from runs.domain.values.errors import Invalid, Problem

USUAL, MOST = 50, 200

Row = TypeVar("Row", bound=Model)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[Row]):
    items: list[Row]
    next_cursor: str | None


def paged(
    rows: QuerySet[Row],
    *,
    by: str,
    newest_first: bool,
    limit: int,
    cursor: str,
    fits: Callable[[Row], bool] = lambda _row: True,
) -> Page[Row]:
    """Rows in order of a moment; the cursor holds its place when rows come and go."""
    if cursor:
        rows = rows.filter(_beyond(cursor, by, "lt" if newest_first else "gt"))
    sign = "-" if newest_first else ""
    ordered = rows.order_by(f"{sign}{by}", f"{sign}pk")
    size = min(limit, MOST)
    found = list(islice(_fitting(ordered, fits, size + 1), size + 1))
    last = found[size - 1] if len(found) > size else None
    return Page(
        items=found[:size],
        next_cursor=_cursor(getattr(last, by), last.pk) if last else None,
    )


def _fitting(rows: QuerySet[Row], fits: Callable[[Row], bool], size: int) -> Iterator[Row]:
    """Read no more rows than are needed, even when only some of them fit."""
    for start in count(step=size):
        batch = list(rows[start : start + size])
        yield from filter(fits, batch)
        if len(batch) < size:
            return


def _cursor(at: datetime, pk: int) -> str:
    return base64.urlsafe_b64encode(f"{at.isoformat()} {pk}".encode()).decode().rstrip("=")


def _beyond(cursor: str, by: str, than: str) -> Q:
    try:
        text = base64.urlsafe_b64decode(f"{cursor}{'=' * (-len(cursor) % 4)}".encode()).decode()
        moment, _, pk = text.partition(" ")
        at, number = parse_datetime(moment), int(pk)
    except (binascii.Error, UnicodeError, ValueError):
        at, number = None, 0
    if at is None or at.tzinfo is None or not 0 <= number < 2**63:
        raise Invalid([Problem("cursor", "is not a valid cursor")])
    return Q(**{f"{by}__{than}": at}) | Q(**{by: at, f"pk__{than}": number})
