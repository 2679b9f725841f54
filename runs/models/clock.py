"""The site's clock: what several hosts go by when they hand work to each other."""

from datetime import datetime
from typing import Any, TypeVar

from django.db import connection
from django.db.models import Model, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

M = TypeVar("M", bound=Model)


def now() -> datetime:
    """The database's time where hosts share one: their own may differ."""
    if not _is_shared():
        return timezone.now()
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        moment: datetime = cursor.fetchone()[0]
    return moment


def noting_time(rows: QuerySet[M]) -> QuerySet[M]:
    """Rows that know when they were read: a look at the clock that costs no trip of its own."""
    noting: Any = rows.annotate(read_at=Now())
    return noting if _is_shared() else rows


def read_at(row: Model) -> datetime:
    """When a row was read, or else the time now."""
    return getattr(row, "read_at", None) or now()


def _is_shared() -> bool:
    """SQLite is of one host only."""
    return connection.vendor == "postgresql"
