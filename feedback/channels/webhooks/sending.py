"""Sends what webhooks are to hear; what fails is tried again for about a day.

A receiver that is down is left alone for a while with all that waits for it, and one process of a
machine at a time waits for receivers: answers and comments never wait behind them.
"""

import logging
import time
from dataclasses import dataclass
from datetime import timedelta
from http import HTTPStatus

from django.db import transaction
from django.db.models import F, QuerySet
from django.utils import timezone

from feedback.channels.callbacks import outbound, signing
from feedback.channels.callbacks.addresses import BadAddress
from feedback.channels.callbacks.calls import PAUSES, TRIES, redirect_told, spread
from feedback.channels.callbacks.outbound import CallFailed
from feedback.channels.webhooks import endpoints, slot
from feedback.models import WebhookDelivery, WebhookEndpoint
from feedback.requests import outbox
from runs.jobs import queue
from runs.jobs.table import Job
from runs.models import clock

logger = logging.getLogger(__name__)

# Longer than any call may take: whoever has a delivery has it alone for this long.
_TURN = timedelta(minutes=2)
# How long one job goes on before it lets another have its worker.
_STINT = 20.0
# Whatever waited longer than all tries together would take is not news any more.
GIVEN_UP_AFTER = timedelta(hours=36)
_LONGEST_REST = timedelta(minutes=15)
_PATIENCE = timedelta(seconds=30)
_SWITCHED_OFF = "it returned 410 Gone, so FABER stopped sending"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """How one try ended."""

    code: int | None  # what the receiver answered, if it did
    why: str  # it failed; empty when it did not
    took_ms: int

    @property
    def is_down(self) -> bool:
        """Whether the receiver has trouble with everything, not with this delivery."""
        code = self.code
        return code is None or code >= 500 or code == HTTPStatus.TOO_MANY_REQUESTS


def send_due() -> None:
    """Send what is due, the oldest first; whoever finds the slot taken leaves it to its holder."""
    with slot.taken() as is_ours:
        if not is_ours:
            return
        ends = time.monotonic() + _STINT
        while time.monotonic() < ends and (pk := _due().values_list("pk", flat=True).first()):
            _send(pk)
    # Also what came while the slot was held and its own job found it so.
    if _due().exists():
        queue.enqueue(Job.SEND_WEBHOOKS)


def send_again(deliveries: QuerySet[WebhookDelivery]) -> None:
    """Have them sent once more, under the same ids; who answered 410 is asked again."""
    with transaction.atomic():
        named = deliveries.values_list("pk", "endpoint_id")
        pks, of = {pk for pk, _ in named}, {endpoint for _, endpoint in named}
        now = clock.now()
        WebhookEndpoint.objects.filter(pk__in=of).update(retry_at=now, disabled_at=None, failures=0)
        WebhookDelivery.objects.filter(pk__in=pks).update(
            is_due=True, attempts=0, next_try_at=now, delivered_at=None, last_error=""
        )
        queue.enqueue(Job.SEND_WEBHOOKS)


def undelivered() -> QuerySet[WebhookDelivery]:
    """What was tried without success, given up or not."""
    return WebhookDelivery.objects.filter(delivered_at=None).exclude(last_error="")


def catch_up() -> None:
    """Have sent what should have left by now and did not."""
    now = clock.now()
    late = queue.lost_before(Job.SEND_WEBHOOKS, now, _PATIENCE)
    lost = _due().filter(next_try_at__lt=late, endpoint__retry_at__lt=late)
    # From now on they wait for this job, so that the next sweep does not queue another.
    if lost.exists() and WebhookDelivery.objects.filter(pk__in=lost).update(next_try_at=now):
        queue.enqueue(Job.SEND_WEBHOOKS)


def _due() -> QuerySet[WebhookDelivery]:
    now = clock.now()
    ready = {"endpoint__disabled_at": None, "endpoint__retry_at__lte": now}
    return WebhookDelivery.objects.filter(is_due=True, next_try_at__lte=now, **ready).order_by("pk")


def _send(pk: int) -> None:
    """Whoever is killed before the record sends again: the receiver knows it by its id."""
    rows = WebhookDelivery.objects.select_related("endpoint")
    delivery = outbox.take(rows, pk, turn=_TURN)
    if delivery is None:
        return
    tried = _posted(delivery)
    if not tried.why:
        _done(delivery, tried)
    elif tried.code == HTTPStatus.GONE:
        _switch_off(delivery, tried)
    else:
        _put_off(delivery, tried)


def _posted(delivery: WebhookDelivery) -> Tried:
    endpoint, body = delivery.endpoint, delivery.body.encode()
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "FABER",
        **signing.headers(
            delivery.delivery_id, timezone.now(), body, keys=endpoints.keys_of(endpoint)
        ),
    }
    code, why, began = None, "", time.monotonic()
    try:
        code = outbound.post(endpoint.url, headers, body)
    except (BadAddress, CallFailed) as error:
        why = str(error)
    else:
        if code == HTTPStatus.GONE:
            why = _SWITCHED_OFF
        elif not 200 <= code < 300:
            why = f"it returned {code}{redirect_told(code)}"
    return Tried(code=code, why=why, took_ms=round((time.monotonic() - began) * 1000))


def _done(delivery: WebhookDelivery, tried: Tried) -> None:
    _record(delivery, tried, is_due=False, delivered_at=clock.now())
    _endpoint(delivery).filter(failures__gt=0).update(failures=0)


def _switch_off(delivery: WebhookDelivery, tried: Tried) -> None:
    logger.info("Webhook %s is switched off: %s.", delivery.endpoint, tried.why)
    with transaction.atomic():
        _endpoint(delivery).update(disabled_at=clock.now())
        _record(delivery, tried, is_due=False)
        waiting = WebhookDelivery.objects.filter(endpoint=delivery.endpoint_id, is_due=True)
        waiting.update(is_due=False, last_error=tried.why)


def _put_off(delivery: WebhookDelivery, tried: Tried) -> None:
    logger.warning("%s did not reach %s: %s.", delivery, delivery.endpoint, tried.why)
    now, failed = clock.now(), delivery.attempts + 1
    next_try = now + spread(PAUSES[min(failed, len(PAUSES)) - 1])
    rest = min(spread(PAUSES[min(delivery.endpoint.failures, len(PAUSES) - 1)]), _LONGEST_REST)
    with transaction.atomic():
        _record(delivery, tried, is_due=failed < TRIES, next_try_at=next_try)
        if tried.is_down:
            _endpoint(delivery).update(failures=F("failures") + 1, retry_at=now + rest)
            _give_up_old(delivery, tried.why)
        queue.enqueue_at(next_try, Job.SEND_WEBHOOKS)
        queue.enqueue_at(now + rest, Job.SEND_WEBHOOKS)


def _give_up_old(delivery: WebhookDelivery, why: str) -> None:
    old = clock.now() - GIVEN_UP_AFTER
    waiting = WebhookDelivery.objects.filter(endpoint=delivery.endpoint_id, is_due=True)
    waiting.filter(created_at__lt=old).update(is_due=False, last_error=why, tried_at=clock.now())


def _record(delivery: WebhookDelivery, tried: Tried, **fields: object) -> None:
    WebhookDelivery.objects.filter(pk=delivery.pk).update(
        tried_at=clock.now(),
        response_code=tried.code,
        took_ms=tried.took_ms,
        last_error=tried.why[:1000],
        **fields,
    )


def _endpoint(delivery: WebhookDelivery) -> QuerySet[WebhookEndpoint]:
    return WebhookEndpoint.objects.filter(pk=delivery.endpoint_id)
