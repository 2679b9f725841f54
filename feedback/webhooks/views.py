"""Pages of webhooks: which there are, what was sent, and what to do about it."""

from typing import Any

from django.http import HttpResponse
from django.shortcuts import resolve_url
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from feedback.channels.webhooks import deliveries, endpoints, sending
from feedback.models import WebhookDelivery, WebhookEndpoint
from feedback.webhooks.forms import WebhookForm
from runs.pages.http import PageRequest, SeeOther, page, refusing, visitor


@require_http_methods(["GET", "HEAD", "POST"])
@refusing
def webhook_list(request: PageRequest) -> HttpResponse:
    actor = visitor(request)
    endpoints.check_may_manage_some(actor)
    if request.method != "POST":
        return _listed(request, WebhookForm(actor))
    form = WebhookForm(actor, request.POST)
    made = form.add() if form.is_valid() else None
    if made is None:
        return _listed(request, form, status=422)
    return _once(
        _listed(
            request,
            WebhookForm(actor),
            status=201,
            made=made,
            secret=endpoints.secret_of(made),
        )
    )


@require_safe
@refusing
def webhook_page(request: PageRequest, endpoint_id: str) -> HttpResponse:
    return _shown(request, endpoints.find(endpoint_id, visitor(request)))


@require_POST
@refusing
def webhook_rotate(request: PageRequest, endpoint_id: str) -> HttpResponse:
    """The secret is in the answer itself: in no address and no session."""
    actor = visitor(request)
    endpoint = endpoints.find(endpoint_id, actor)
    secret = endpoints.rotate(endpoint, actor)
    return _once(_shown(request, endpoint, secret=secret))


@require_POST
@refusing
def webhook_remove(request: PageRequest, endpoint_id: str) -> HttpResponse:
    actor = visitor(request)
    endpoints.remove(endpoints.find(endpoint_id, actor), actor)
    return SeeOther(resolve_url("webhooks"))


@require_POST
@refusing
def webhook_redeliver(request: PageRequest, delivery_id: str) -> HttpResponse:
    delivery = endpoints.find_delivery(delivery_id, visitor(request))
    sending.send_again(WebhookDelivery.objects.filter(pk=delivery.pk))
    return SeeOther(resolve_url("webhook", delivery.endpoint.endpoint_id))


def _listed(
    request: PageRequest, form: WebhookForm, status: int = 200, **more: Any
) -> HttpResponse:
    context = {"webhooks": endpoints.listed(visitor(request)), "form": form, **more}
    return page(request, "feedback/webhooks.html", context, status=status)


def _shown(request: PageRequest, endpoint: WebhookEndpoint, secret: str = "") -> HttpResponse:
    sent = [(each, deliveries.state_of(each)) for each in deliveries.newest([endpoint])]
    context = {"webhook": endpoint, "sent": sent, "secret": secret, "shown": deliveries.SHOWN}
    return page(request, "feedback/webhook.html", context)


def _once(response: HttpResponse) -> HttpResponse:
    response["Cache-Control"] = "no-store"
    return response
