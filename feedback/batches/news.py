"""How a page of a batch learns what changed since it was made."""

from datetime import UTC, datetime, timedelta

from django.db.models import Count, Max, Q

from feedback.batches.group import Group, runs_of, within
from feedback.models import FeedbackRequest
from runs.domain.values.status import RequestStatus

# A change may become visible a moment after a later one; what is sent twice is shown once.
_OVERLAP = timedelta(seconds=10)


def version_of(batch: Group) -> str:
    """Changes when a run of the batch moves, or what it asks is answered or taken back."""
    moved = runs_of(batch).aggregate(at=Max("updated_at"))["at"]
    asked = FeedbackRequest.objects.filter(within(batch, "run")).aggregate(
        at=Max("closed_at"), open=Count("pk", filter=Q(status=RequestStatus.PENDING))
    )
    return f"{_micros(moved)}-{_micros(asked['at'])}-{asked['open']}"


def changed_since(batch: Group, version: str) -> set[int] | None:
    """The runs that changed after a version; None when that cannot be told."""
    moved, closed, still_open = (*version.split("-"), "", "", "")[:3]
    if not (moved.isdecimal() and closed.isdecimal()):
        return None
    runs = runs_of(batch).filter(updated_at__gt=_moment(moved) - _OVERLAP)
    requests = FeedbackRequest.objects.filter(
        within(batch, "run"), closed_at__gt=_moment(closed) - _OVERLAP
    )
    changed = {*runs.values_list("pk", flat=True), *requests.values_list("run_id", flat=True)}
    # An answer that was taken back leaves no trace in either moment.
    return changed if changed or not still_open else None


def _micros(moment: datetime | None) -> int:
    return int(moment.timestamp() * 1_000_000) if moment else 0


def _moment(micros: str) -> datetime:
    try:
        return datetime.fromtimestamp(int(micros) / 1_000_000, tz=UTC)
    except (OverflowError, ValueError, OSError):
        return datetime.fromtimestamp(0, tz=UTC)
