"""What Prometheus scrapes: read from the database when it is asked for, by an operator's token."""

from collections.abc import Iterable, Mapping
from datetime import timedelta

from django.contrib.auth.decorators import login_not_required
from django.db.models import Avg, Count, DurationField, ExpressionWrapper, F, Min, Q
from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    GaugeMetricFamily,
    HistogramMetricFamily,
)
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from feedback.models import (
    Callback,
    Delivery,
    FeedbackRequest,
    FeedbackResponse,
    Notice,
    Outgoing,
    WebhookDelivery,
)
from feedback.upkeep import disk
from runs.accounts import tokens
from runs.api.auth import identify
from runs.api.errors import refusal
from runs.domain.values.errors import FaberError
from runs.domain.values.questions import FeedbackType
from runs.domain.values.status import RequestStatus, RunStatus
from runs.jobs import heartbeat, queue
from runs.jobs.table import Lane
from runs.models import Run, StepAttempt, WorkerBeat

_LANES = {lane.name.lower(): lane for lane in Lane}
# How long decisions take is told in these steps; people answer within minutes, or next week.
_LATENCIES = {
    "60": timedelta(minutes=1),
    "300": timedelta(minutes=5),
    "900": timedelta(minutes=15),
    "3600": timedelta(hours=1),
    "14400": timedelta(hours=4),
    "86400": timedelta(days=1),
    "604800": timedelta(days=7),
}


@login_not_required
@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    try:
        tokens.check_may_operate(identify(request).actor, "Reading metrics")
    except FaberError as error:
        return refusal(error)
    registry = CollectorRegistry(auto_describe=False)
    registry.register(FromDatabase())
    return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_PLAIN_0_0_4)


class FromDatabase(Collector):
    """A few counts over indexes; nothing is kept between two scrapes."""

    def collect(self) -> Iterable[Metric]:
        yield _by_label(
            "faber_runs", "Runs by status.", "status", list(RunStatus), _counted(Run, "status")
        )
        yield _by_label(
            "faber_open_requests",
            "Requests that wait for an answer, by type.",
            "type",
            list(FeedbackType),
            _counted(FeedbackRequest, "type", status=RequestStatus.PENDING),
        )
        yield _oldest_request()
        yield _decision_latency()
        yield _by_label(
            "faber_open_steps",
            "Steps that are queued or being executed.",
            "status",
            [str(status) for status in StepAttempt.OPEN],
            _counted(StepAttempt, "status", status__in=StepAttempt.OPEN),
        )
        yield _by_label(
            "faber_queue_jobs",
            "Jobs that no worker has taken yet, by who takes them.",
            "lane",
            _LANES,
            {name: queue.waiting(lane) for name, lane in _LANES.items()},
        )
        yield _by_label(
            "faber_queue_oldest_seconds",
            "How long the oldest of them has waited.",
            "lane",
            _LANES,
            {name: _waited(lane) for name, lane in _LANES.items()},
        )
        yield _beats()
        yield _deliveries()
        yield _disk()
        yield _by_state("faber_callbacks", "Programs called back, by state.", Callback)
        yield _notices()
        yield _by_state(
            "faber_webhook_deliveries", "Deliveries to webhooks, by state.", WebhookDelivery
        )


def _counted(model: type, field: str, **which: object) -> dict[str, int]:
    rows = model.objects.filter(**which)  # type: ignore[attr-defined]
    return dict(rows.order_by().values_list(field).annotate(Count("pk")))


def _waited(lane: Lane) -> float:
    since = queue.waiting_since(*lane.queues)
    return (timezone.now() - since).total_seconds() if since else 0


def _gauge(name: str, told: str, value: float) -> Metric:
    return GaugeMetricFamily(name, told, value=value)


def _by_label(
    name: str, told: str, label: str, values: Iterable[str], counts: Mapping[str, float]
) -> Metric:
    """Every value is there, also with zero: an absent series cannot be alerted on."""
    family = GaugeMetricFamily(name, told, labels=[label])
    for value in values:
        family.add_metric([str(value)], counts.get(str(value), 0))
    return family


def _oldest_request() -> Metric:
    waiting = FeedbackRequest.objects.filter(status=RequestStatus.PENDING)
    oldest = waiting.aggregate(oldest=Min("requested_at"))["oldest"]
    age = (timezone.now() - oldest).total_seconds() if oldest else 0
    return _gauge("faber_oldest_open_request_seconds", "Age of the oldest open request.", age)


def _decision_latency() -> Metric:
    took = ExpressionWrapper(
        F("received_at") - F("request__requested_at"), output_field=DurationField()
    )
    decided = (
        FeedbackResponse.objects.filter(decides=True)
        .exclude(state=FeedbackResponse.State.RETRACTED)
        .annotate(took=took)
    )
    within = {
        f"within_{bound}": Count("pk", filter=Q(took__lte=limit))
        for bound, limit in _LATENCIES.items()
    }
    found = decided.aggregate(total=Count("pk"), mean=Avg("took"), **within)
    total = found["total"]
    buckets = [(bound, found[f"within_{bound}"]) for bound in _LATENCIES]
    spent = found["mean"].total_seconds() * total if total else 0.0
    family = HistogramMetricFamily("faber_decision_seconds", "From request to deciding answer.")
    family.add_metric([], buckets=[*buckets, ("+Inf", total)], sum_value=spent)
    return family


def _beats() -> Metric:
    family = GaugeMetricFamily(
        "faber_worker_beat_age_seconds", "Since a worker last reported.", labels=["host", "lane"]
    )
    for name, lane in _LANES.items():
        column = heartbeat.COLUMNS[lane]
        age = ExpressionWrapper(Now() - F(column), output_field=DurationField())
        for host, since in WorkerBeat.objects.exclude(**{column: None}).values_list("host", age):
            family.add_metric([host, name], since.total_seconds())
    return family


def _deliveries() -> Metric:
    due = Q(is_due=True)
    found = Delivery.objects.aggregate(
        done=Count("pk", filter=~due),
        waiting=Count("pk", filter=due & Q(attempts=0)),
        failing=Count("pk", filter=due & Q(attempts__gt=0)),
    )
    return _by_label("faber_deliveries", "Comments on issues, by state.", "state", found, found)


def _disk() -> Metric:
    used = disk.use()
    told = {"database": used.database, "free": used.free, "total": used.total}
    return _by_label(
        "faber_disk_bytes",
        "The database, and the disk of the data directory.",
        "what",
        told,
        told,
    )


def _by_state(name: str, told: str, model: type[Outgoing]) -> Metric:
    due = Q(is_due=True)
    found = model._default_manager.aggregate(
        done=Count("pk", filter=Q(delivered_at__isnull=False)),
        waiting=Count("pk", filter=due & Q(attempts=0)),
        failing=Count("pk", filter=due & Q(attempts__gt=0)),
        given_up=Count("pk", filter=~due & Q(delivered_at=None) & ~Q(last_error="")),
    )
    return _by_label(name, told, "state", found, found)


def _notices() -> Metric:
    due, failed = Q(is_due=True), ~Q(last_error="")
    found = Notice.objects.aggregate(
        sent=Count("pk", filter=Q(sent_at__isnull=False)),
        waiting=Count("pk", filter=due & ~failed),
        failing=Count("pk", filter=due & failed),
        given_up=Count("pk", filter=~due & failed & Q(sent_at=None)),
    )
    return _by_label("faber_notices", "Notices to people, by state.", "state", found, found)
