"""When somebody wants to be told: outside their quiet hours, and together if they like."""

from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

_A_DAY, _AN_HOUR = timedelta(days=1), timedelta(hours=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hours:
    zone: str = "UTC"
    quiet_from: time | None = None
    quiet_until: time | None = None
    every_hour: bool = False
    every_day_at: time | None = None

    @property
    def collects(self) -> bool:
        return self.every_hour or self.every_day_at is not None

    def moment(self, now: datetime) -> datetime:
        """The next moment from now on at which a notice may come."""
        return self._after_quiet(self._next_digest(now))

    def after_quiet(self, now: datetime) -> datetime:
        """The same, whatever was collected already."""
        return self._after_quiet(now)

    def _next_digest(self, now: datetime) -> datetime:
        if self.every_hour:
            local = now.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
            return local + _AN_HOUR
        if self.every_day_at is None:
            return now
        return self._next(now, self.every_day_at)

    def _after_quiet(self, moment: datetime) -> datetime:
        if self.quiet_from is None or self.quiet_until is None:
            return moment
        here = moment.astimezone(ZoneInfo(self.zone)).time()
        begin, end = self.quiet_from, self.quiet_until
        is_quiet = begin <= here < end if begin < end else here >= begin or here < end
        if begin == end or not is_quiet:
            return moment
        return self._next(moment, end)

    def _next(self, now: datetime, at: time) -> datetime:
        """The next time the clock on the wall there shows this; days may have 23 hours."""
        zone = ZoneInfo(self.zone)
        here = now.astimezone(zone)
        for day in (here.date(), (here + _A_DAY).date(), (here + 2 * _A_DAY).date()):
            moment = datetime.combine(day, at, zone).astimezone(UTC)
            if moment > now:
                return moment
        raise AssertionError("no such time within two days")
