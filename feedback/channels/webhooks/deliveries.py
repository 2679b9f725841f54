"""What was sent to webhooks, as people and programs see it."""

from collections.abc import Sequence

from feedback.models import WebhookDelivery, WebhookEndpoint
from runs.domain.values.events import timestamp

Json = dict[str, object]

SHOWN = 50


def newest(of: Sequence[WebhookEndpoint], most: int = SHOWN) -> list[WebhookDelivery]:
    rows = WebhookDelivery.objects.filter(endpoint__in=of).select_related("endpoint")
    return list(rows.defer("body").order_by("-pk")[:most])


def state_of(delivery: WebhookDelivery) -> str:
    if delivery.delivered_at:
        return "delivered"
    if delivery.is_due:
        return "failing" if delivery.last_error else "waiting"
    return "given up"


def shape(delivery: WebhookDelivery) -> Json:
    def at(name: str) -> str | None:
        moment = getattr(delivery, name)
        return timestamp(moment) if moment else None

    return {
        "id": delivery.delivery_id,
        "webhook": delivery.endpoint.endpoint_id,
        "event": delivery.event,
        "about": delivery.subject,
        "state": state_of(delivery),
        "attempts": delivery.attempts,
        "response_code": delivery.response_code,
        "took_ms": delivery.took_ms,
        "error": delivery.last_error or None,
        "created_at": at("created_at"),
        "tried_at": at("tried_at"),
        "next_try_at": at("next_try_at") if delivery.is_due else None,
        "delivered_at": at("delivered_at"),
    }
