"""Notes down what webhooks are to hear; `sending` sends it, after the commit."""

import json
import secrets
from collections.abc import Callable

from django.db.models import Q

from feedback.channels.webhooks import events, sending
from feedback.channels.webhooks.events import WebhookEvent
from feedback.models import FeedbackRequest, WebhookDelivery, WebhookEndpoint
from feedback.requests.request_json import request_shape
from runs.domain.values.events import timestamp
from runs.domain.values.status import RequestStatus
from runs.jobs import queue
from runs.jobs.table import Job
from runs.models import Run, clock
from runs.models.statements import Prepared
from runs.record.run_json import run_shape

Json = dict[str, object]


def opened(request: FeedbackRequest) -> None:
    _tell_of_request(WebhookEvent.REQUEST_OPENED, request)


def changed(request: FeedbackRequest) -> None:
    """Tell what became of a request, once nothing can change any more."""
    if request.status == RequestStatus.PENDING:
        return
    decision = request.decision
    is_held = decision is not None and decision.is_held
    if event := events.of_request(RequestStatus(request.status), is_held=is_held):
        _tell_of_request(event, request)


def run_moved(run: Run) -> None:
    event = events.of_run(run.state)
    # A run can fail, be resumed and fail again: each time is an event of its own.
    again = f"/{run.last_event_id}" if event is WebhookEvent.RUN_FAILED else ""
    _tell(event, run, f"{event}:{run.run_id}{again}", run.run_id, lambda: run_shape(run))


def catch_up() -> None:
    sending.catch_up()


def _tell_of_request(event: WebhookEvent, request: FeedbackRequest) -> None:
    if not getattr(request, "has_webhooks", True):  # who locks a request reads it along
        return

    def data() -> Json:
        # Read again: the answer was written since the caller read its row.
        rows = FeedbackRequest.objects.select_related("run__project", "delivery")
        return request_shape(rows.get(pk=request.pk))

    _tell(event, request.run, f"{event}:{request.request_id}", request.request_id, data)


def _tell(event: WebhookEvent, run: Run, key: str, subject: str, data: Callable[[], Json]) -> None:
    """One row for each webhook that wants it, with what is true now; a second one is refused."""
    wanting = [each for each in _endpoints(run) if event in each.events]
    if not wanting:
        return
    body = json.dumps(
        {"type": event.value, "timestamp": timestamp(clock.now()), "data": data()},
        ensure_ascii=False,
    )
    rows = [
        WebhookDelivery(
            delivery_id=f"msg_{secrets.token_hex(12)}",
            endpoint=endpoint,
            event=event.value,
            event_key=key,
            subject=subject,
            body=body,
            next_try_at=clock.now(),
        )
        for endpoint in wanting
    ]
    WebhookDelivery.objects.bulk_create(rows, ignore_conflicts=True)
    queue.enqueue(Job.SEND_WEBHOOKS)


_WANTING = Prepared(
    lambda project: WebhookEndpoint.objects.filter(
        Q(project=None) | Q(project=project), disabled_at=None
    ).values_list("pk", "events"),
    -1,
)


def _endpoints(run: Run) -> list[WebhookEndpoint]:
    return [WebhookEndpoint(pk=pk, events=events) for pk, events in _WANTING.rows(run.project_id)]
