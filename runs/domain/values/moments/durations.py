"""Durations as workflows and projects write them: 30s, 45m, 2h, 3d."""

import re
from dataclasses import dataclass
from datetime import timedelta

_FORM = re.compile(r"([1-9][0-9]{0,7})([smhd])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_LONGEST = timedelta(days=366)


@dataclass(frozen=True, slots=True, kw_only=True)
class Duration:
    """Some time, or some days: where business hours count, a day is a working day."""

    amount: int
    unit: str

    def __str__(self) -> str:
        return f"{self.amount}{self.unit}"

    @property
    def counts_days(self) -> bool:
        return self.unit == "d"

    @property
    def length(self) -> timedelta:
        """By the clock, whatever the hours."""
        return timedelta(seconds=self.amount * _SECONDS[self.unit])


def read_duration(text: str) -> Duration:
    """Raises ValueError with a sentence for whoever wrote it."""
    found = _FORM.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"{text!r} is not a duration: write 30s, 45m, 2h or 3d")
    duration = Duration(amount=int(found[1]), unit=found[2])
    if duration.length > _LONGEST:
        raise ValueError(f"{text!r} is longer than {_LONGEST.days} days")
    return duration


def maybe_duration(text: str) -> Duration | None:
    """Of what was checked when it was stored; nothing for an empty text."""
    return read_duration(text) if text else None
