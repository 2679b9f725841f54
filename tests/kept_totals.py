"""Time that passes for sums that are kept, and the same sums read from every row."""

from collections.abc import Callable
from datetime import timedelta
from typing import TypeVar

from feedback.models import DailyTotal, KeptTotal
from feedback.totals import growing
from runs.models import clock

_Sums = TypeVar("_Sums")


def pass_time() -> None:
    """Until what was seen at the last count is counted for good."""
    KeptTotal.objects.update(seen_at=clock.now() - growing.WRITTEN - timedelta(seconds=1))


def read_anew(counted: Callable[[], _Sums]) -> _Sums:
    kept, daily = list(KeptTotal.objects.all()), list(DailyTotal.objects.all())
    _forget()
    found = counted()
    _forget()
    KeptTotal.objects.bulk_create(kept)
    DailyTotal.objects.bulk_create(daily)
    return found


def _forget() -> None:
    KeptTotal.objects.all().delete()
    DailyTotal.objects.all().delete()
