"""The site's clock: what several hosts go by when they hand work to each other."""

import time
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, TypeVar

from django.db import connection
from django.db.models import Model, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

M = TypeVar("M", bound=Model)


def now() -> datetime:
    """The database's time where hosts share one: their own may differ."""
    return _looked().moment if _is_shared() else timezone.now()


def noted() -> datetime:
    """That time for notes and the ends of leases: behind by as much as a look takes.

    It saves the look. Whether something is due is asked of `now`: this may say "not yet" of what
    another process has just stored.
    """
    if not _is_shared():
        return timezone.now()
    global _look
    elapsed = _running() - _look.at
    if not 0 <= elapsed < _HOLDS_SECONDS or _look.of != connection.settings_dict["NAME"]:
        _look, elapsed = _looked(), 0.0
    return _look.moment + timedelta(seconds=elapsed)


class _Look(NamedTuple):
    """What the database's clock said, and when that was on a clock that nobody sets."""

    moment: datetime
    at: float
    of: str


def _looked() -> _Look:
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        moment: datetime = cursor.fetchone()[0]
    return _Look(moment, _running(), connection.settings_dict["NAME"])


def _running() -> float:
    """Seconds that go on while the machine sleeps, where it can tell."""
    return time.clock_gettime(_CLOCK)


_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
# For so long a look at the database's clock holds: it goes no other than ours for a moment.
_HOLDS_SECONDS = 1.0
_look = _Look(datetime.min.replace(tzinfo=UTC), -1e9, "")


def noting_time(rows: QuerySet[M]) -> QuerySet[M]:
    """Rows that know when they were read: a look at the clock that costs no trip of its own."""
    noting: Any = rows.annotate(read_at=Now())
    return noting if _is_shared() else rows


def read_at(row: Model) -> datetime:
    """When a row was read, or else the time now."""
    return getattr(row, "read_at", None) or noted()


def _is_shared() -> bool:
    """SQLite is of one host only."""
    return connection.vendor == "postgresql"
