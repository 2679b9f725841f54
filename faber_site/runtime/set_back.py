"""Brings forward what waits for a moment that comes late, because the clock was set back."""

import logging
import time
from collections.abc import Iterator
from datetime import timedelta

from django.db import connection, transaction
from django.db.models import F, Model, QuerySet

from feedback.models import InboundComment, Outgoing, Webhook, WebhookEndpoint
from runs.jobs import queue
from runs.models import clock

logger = logging.getLogger(__name__)

# Less is what clocks are slewed by, and nobody minds a wait of so little.
NOTICEABLE = 2.0


class ClockWatch:
    """Compares the wall clock with the one that nobody can set, from one look to the next."""

    def __init__(self) -> None:
        self._ahead = _ahead()

    def catch_up(self) -> None:
        ahead = _ahead()
        back = self._ahead - ahead
        # Hosts that share a database go by its clock, whatever theirs do.
        if back > NOTICEABLE and connection.vendor == "sqlite":
            logger.warning("The clock was set back by %.0f s.", back)
            bring_forward(timedelta(seconds=back))
        self._ahead = ahead  # only now: what failed is tried at the next look


def bring_forward(by: timedelta) -> None:
    """Let what waits for its turn wait as long as it would have without the change.

    Leases and undo times that end too late to be true are known by themselves.
    """
    now = clock.now()
    with transaction.atomic():
        queue.bring_forward(by)
        for rows, field in _waiting():
            rows.filter(**{f"{field}__gt": now}).update(**{field: F(field) - by})


def _waiting() -> Iterator[tuple[QuerySet[Model], str]]:
    for outgoing in Outgoing.__subclasses__():
        yield outgoing._default_manager.filter(is_due=True), "next_try_at"
    yield WebhookEndpoint.objects.all(), "retry_at"
    yield Webhook.objects.filter(read_at=None), "try_at"
    yield InboundComment.objects.all(), "try_at"


def _ahead() -> float:
    return time.time() - time.monotonic()
