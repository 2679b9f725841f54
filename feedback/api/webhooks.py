"""The calls about webhooks, for programs that set up a site."""

from ninja import Router, Status
from pydantic import Field

from feedback.channels.webhooks import deliveries, endpoints, events, sending
from feedback.models import WebhookDelivery
from runs.api.auth import ApiRequest
from runs.api.schemas import Sent, answers
from runs.pages.projects import settings

Json = dict[str, object]

router = Router(tags=["webhooks"])


class AddWebhook(Sent):
    url: str
    events: list[str] = Field(
        default_factory=list, description=f"Any of {', '.join(events.WebhookEvent)}; none: all."
    )
    project: str = Field("", description="The only project it hears of; empty: every project.")


class Listed(Sent):
    items: list[Json]
    next_cursor: str | None = None


@router.get(
    "/webhooks",
    response=answers({200: Listed}),
    operation_id="listWebhooks",
    summary="The webhooks that the token may manage",
)
def list_webhooks(request: ApiRequest) -> Json:
    endpoints.check_may_manage_some(request.auth.actor)
    return {"items": [endpoints.shape(each) for each in endpoints.listed(request.auth.actor)]}


@router.post(
    "/webhooks",
    response=answers({201: Json}, 404),
    operation_id="addWebhook",
    summary="Add a webhook; its secret is in this answer alone",
)
def add_webhook(request: ApiRequest, body: AddWebhook) -> Status[Json]:
    actor = request.auth.actor
    project = settings.find(body.project, seen_by=actor) if body.project else None
    wanted = events.read(body.events)
    endpoint = endpoints.add(body.url, wanted, project=project, actor=actor)
    return Status(201, endpoints.added_shape(endpoint))


@router.delete(
    "/webhooks/{webhook_id}",
    response=answers({200: Json}, 404),
    operation_id="removeWebhook",
    summary="Remove a webhook and forget its deliveries",
)
def remove_webhook(request: ApiRequest, webhook_id: str) -> Json:
    endpoint = endpoints.find(webhook_id, request.auth.actor)
    endpoints.remove(endpoint, request.auth.actor)
    return endpoints.shape(endpoint)


@router.post(
    "/webhooks/{webhook_id}/rotate",
    response=answers({200: Json}, 404),
    operation_id="rotateWebhook",
    summary="Make a new secret; it is in this answer alone",
)
def rotate_webhook(request: ApiRequest, webhook_id: str) -> Json:
    """For 24 hours deliveries are signed with the old secret too."""
    endpoint = endpoints.find(webhook_id, request.auth.actor)
    return {"id": webhook_id, "secret": endpoints.rotate(endpoint, request.auth.actor)}


@router.get(
    "/webhooks/{webhook_id}/deliveries",
    response=answers({200: Listed}, 404),
    operation_id="listWebhookDeliveries",
    summary="The newest deliveries of a webhook",
)
def list_deliveries(request: ApiRequest, webhook_id: str) -> Json:
    endpoint = endpoints.find(webhook_id, request.auth.actor)
    return {"items": [deliveries.shape(each) for each in deliveries.newest([endpoint])]}


@router.post(
    "/webhooks/deliveries/{delivery_id}/redeliver",
    response=answers({200: Json}, 404),
    operation_id="redeliverWebhook",
    summary="Send a delivery again, under the same id",
)
def redeliver(request: ApiRequest, delivery_id: str) -> Json:
    delivery = endpoints.find_delivery(delivery_id, request.auth.actor)
    sending.send_again(WebhookDelivery.objects.filter(pk=delivery.pk))
    delivery.refresh_from_db()
    return deliveries.shape(delivery)
