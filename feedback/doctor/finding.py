"""What a finding is, and how much of the past counts as broken."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from feedback.models import Delivery, InboundComment

MOST = 100
# What is younger is under way, not broken.
PATIENCE = timedelta(seconds=30)
# What was given up longer ago than this is history.
REMEMBERED = timedelta(days=7)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    what: str
    cause: str
    since: datetime | None
    repair: str  # in words; what a person must do when `fix` cannot
    fix: Callable[[], object] | None = None


def place_of(row: Delivery | InboundComment) -> str:
    return str(row.place)
