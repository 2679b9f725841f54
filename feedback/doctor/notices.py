"""Receivers of notices that do not take what they are sent."""

from collections.abc import Iterator
from functools import partial

from django.db.models import Count, Max, Min, Q
from django.utils import timezone

from feedback.channels.notices import sending, standing
from feedback.doctor.finding import MOST, REMEMBERED, Finding
from feedback.models import Notice
from runs.domain.values.numbers import number_of


def findings() -> Iterator[Finding]:
    """One for each receiver, however much waits for it."""
    recent = standing.failing().filter(created_at__gt=timezone.now() - REMEMBERED)
    by_receiver = recent.values("receiver").annotate(
        number=Count("pk"),
        since=Min("created_at"),
        newest=Max("pk"),
        due=Count("pk", filter=Q(is_due=True)),
    )
    for row in by_receiver.order_by("receiver")[:MOST]:
        newest = Notice.objects.select_related("user", "announcement").get(pk=row["newest"])
        yield Finding(
            what=f"{number_of(row['number'], 'notice')} to {newest.told_to} not sent",
            cause=newest.last_error,
            since=row["since"],
            repair="Send again now; FABER also retries by itself."
            if row["due"]
            else "FABER stopped retrying. Check the address, then send again.",
            fix=partial(_send_again, row["receiver"]),
        )


def _send_again(receiver: str) -> None:
    """One by one, and no further than the first that fails."""
    for pk in list(standing.failing().filter(receiver=receiver).values_list("pk", flat=True)):
        sending.send_now(pk)
        if standing.failing().filter(pk=pk).exists():
            return
