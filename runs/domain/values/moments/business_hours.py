"""The hours in which people decide, in their own time zone; nothing else counts as time."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from itertools import pairwise
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from runs.domain.values.moments.durations import Duration

_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_FORM = re.compile(
    rf"({'|'.join(_DAYS)})(?:-({'|'.join(_DAYS)}))? +(\d\d?):(\d\d) ?- ?(\d\d?):(\d\d)"
)
_HOW = "write mon-fri 09:00-17:00, and more of them separated by commas"
_MIDNIGHT = 24 * 60
_DAY = timedelta(days=1)

Span = tuple[int, int]  # minutes of the day
Interval = tuple[datetime, datetime]


@dataclass(frozen=True, slots=True)
class BusinessHours:
    week: tuple[tuple[Span, ...], ...]  # by the day of the week, Monday first
    zone: ZoneInfo

    def after(self, moment: datetime, duration: Duration) -> datetime:
        """When so much working time has passed."""
        if duration.counts_days:
            return self._days_after(moment, duration.amount)
        return self._time_after(moment, duration.length)

    def between(self, start: datetime, end: datetime) -> timedelta:
        """How much working time lies between two moments."""
        total = timedelta()
        for begin, close in self._from(start):
            if begin >= end:
                break
            total += min(close, end) - begin
        return total

    def _time_after(self, moment: datetime, left: timedelta) -> datetime:
        for begin, close in self._from(moment):
            if left <= close - begin:
                return begin + left
            left -= close - begin
        raise AssertionError("a week without an hour is refused when it is read")

    def _days_after(self, moment: datetime, days: int) -> datetime:
        """The same time of day, so many working days later; what is closed then waits to open."""
        begin, _ = next(self._from(moment))
        local = begin.astimezone(self.zone)
        day, left = local.date(), days
        while left:
            day += _DAY
            left -= bool(self.week[day.weekday()])
        then = datetime.combine(day, local.time(), self.zone).astimezone(UTC)
        return next(self._from(then))[0]

    def _from(self, moment: datetime) -> Iterator[Interval]:
        """What is open from a moment on, without end."""
        day = moment.astimezone(self.zone).date()
        while True:
            for begin, close in self._of(day):
                if close > moment:
                    yield max(begin, moment.astimezone(UTC)), close
            day += _DAY

    def _of(self, day: date) -> Iterator[Interval]:
        for first, last in self.week[day.weekday()]:
            begin, close = self._at(day, first), self._at(day, last, fold=1)
            if begin < close:
                yield begin, close

    def _at(self, day: date, minutes: int, fold: int = 0) -> datetime:
        """An hour that the clocks give twice is open twice: it begins with the first."""
        days, minutes = divmod(minutes, _MIDNIGHT)
        at = time(*divmod(minutes, 60), fold=fold)
        return datetime.combine(day + days * _DAY, at, self.zone).astimezone(UTC)


def zone_of(name: str) -> ZoneInfo:
    """Raises ValueError when there is no such zone."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError(f"{name!r} is not a time zone: write one such as Europe/Berlin") from error


@cache
def read_hours(text: str, zone: str) -> BusinessHours | None:
    """The hours of a project; none when it has none. Raises ValueError."""
    if not text.strip():
        return None
    week: list[list[Span]] = [[] for _ in _DAYS]
    for part in text.split(","):
        for day, span in _read(part.strip()):
            week[day].append(span)
    for day, spans in enumerate(week):
        spans.sort()
        if any(before[1] > after[0] for before, after in pairwise(spans)):
            raise ValueError(f"the hours of {_DAYS[day]} overlap")
    return BusinessHours(tuple(map(tuple, week)), zone_of(zone or "UTC"))


def _read(part: str) -> Iterator[tuple[int, Span]]:
    found = _FORM.fullmatch(part.casefold())
    if found is None:
        raise ValueError(f"{part!r} are no business hours: {_HOW}")
    first, last = _DAYS.index(found[1]), _DAYS.index(found[2] or found[1])
    begin, close = _minutes(found[3], found[4]), _minutes(found[5], found[6])
    if close <= begin:
        raise ValueError(f"{part!r} ends before it begins; split hours over midnight in two")
    days = range(first, last + 1) if first <= last else (*range(first, 7), *range(last + 1))
    for day in days:
        yield day, (begin, close)


def _minutes(hours: str, minutes: str) -> int:
    total = int(hours) * 60 + int(minutes)
    if int(minutes) > 59 or total > _MIDNIGHT:
        raise ValueError(f"{hours}:{minutes} is no time of day")
    return total
