"""Webhooks whose receiver does not take what it is sent."""

from collections.abc import Iterator
from functools import partial

from django.db.models import Count, Max, Min
from django.utils import timezone

from feedback.channels.webhooks import endpoints, sending
from feedback.doctor.finding import MOST, REMEMBERED, Finding
from feedback.models import WebhookDelivery, WebhookEndpoint
from runs.domain.values.numbers import number_of


def findings() -> Iterator[Finding]:
    """One for each receiver, however much waits for it; who answered 410 wants nothing."""
    recent = sending.undelivered().filter(
        tried_at__gt=timezone.now() - REMEMBERED, endpoint__disabled_at=None
    )
    by_endpoint = recent.values("endpoint").annotate(
        number=Count("pk"), since=Min("created_at"), newest=Max("pk")
    )
    for row in by_endpoint.order_by("endpoint")[:MOST]:
        endpoint = WebhookEndpoint.objects.get(pk=row["endpoint"])
        failed = recent.filter(endpoint=endpoint)
        is_tried = failed.filter(is_due=True).exists()
        yield Finding(
            what=f"Webhook {endpoint} to {endpoints.host_of(endpoint)} missed "
            f"{number_of(row['number'], 'event')}",
            cause=WebhookDelivery.objects.get(pk=row["newest"]).last_error,
            since=row["since"],
            repair="Redeliver now; FABER also retries by itself."
            if is_tried
            else "FABER stopped retrying. Redeliver, or remove the webhook.",
            fix=partial(_send_again, endpoint.pk),
        )


def _send_again(endpoint_pk: int) -> None:
    sending.send_again(sending.undelivered().filter(endpoint=endpoint_pk))
    sending.send_due()
