"""What Prometheus scrapes: read from the database when it is asked for, by an operator's token."""

import platform
from collections.abc import Iterable
from datetime import timedelta
from importlib.metadata import version
from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.db import connection
from django.db.models import Count, DurationField, ExpressionWrapper, F, Min, Q, QuerySet
from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    InfoMetricFamily,
)
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from faber_site.monitoring import http_metrics, queue_metrics, step_metrics
from faber_site.monitoring.families import Durations, Seconds, by_label, gauge, without
from faber_site.monitoring.tallies import Counted
from feedback.models import (
    Callback,
    Delivery,
    FeedbackRequest,
    FeedbackResponse,
    Notice,
    Outgoing,
    WebhookDelivery,
)
from feedback.totals import kept
from feedback.totals.daily import added
from feedback.upkeep import disk
from runs.accounts import tokens
from runs.accounts.membership import EVERYTHING
from runs.api.auth import identify
from runs.api.errors import refusal
from runs.domain.values.errors import FaberError
from runs.domain.values.questions import FeedbackType
from runs.domain.values.status import RequestStatus, RunStatus
from runs.jobs import heartbeat
from runs.jobs.table import Lane
from runs.models import Project, Run, StepAttempt, WorkerBeat

_LANES = {lane.name.lower(): lane for lane in Lane}
# How long decisions take is told in these steps; people answer within minutes, or next week.
_LATENCIES = Durations(
    bounds=(60, 300, 900, 3600, 14400, 86400, 604800),
    took=Seconds(F("request__requested_at"), F("received_at")),
)
_NONE = Q(pk__in=())
_AGES = (timedelta(hours=1), timedelta(days=1), timedelta(days=7))


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
    told = generate_latest(registry) + generate_latest(http_metrics.REGISTRY)
    return HttpResponse(told, content_type=CONTENT_TYPE_PLAIN_0_0_4)


class FromDatabase(Collector):
    """A few counts over indexes, and sums that go on from those of the scrape before."""

    def collect(self) -> Iterable[Metric]:
        yield _build()
        yield by_label("faber_runs", "Runs by status.", "status", list(RunStatus), _runs())
        waiting = _counted(FeedbackRequest, "type", status=RequestStatus.PENDING)
        yield by_label(
            "faber_open_requests",
            "Requests that wait for an answer, by type.",
            "type",
            list(FeedbackType),
            waiting,
        )
        yield _oldest_request()
        yield _by_age(sum(waiting.values()))
        yield _decision_latency()
        yield by_label(
            "faber_open_steps",
            "Steps that are queued or being executed.",
            "status",
            [str(status) for status in StepAttempt.OPEN],
            _counted(StepAttempt, "status", status__in=StepAttempt.OPEN),
        )
        yield from queue_metrics.collect()
        yield from step_metrics.collect()
        yield from _costs()
        yield _beats()
        yield _deliveries()
        yield _disk()
        yield _by_state("faber_callbacks", "Programs called back, by state.", Callback)
        yield _notices()
        yield _by_state(
            "faber_webhook_deliveries", "Deliveries to webhooks, by state.", WebhookDelivery
        )


def _build() -> Metric:
    family = InfoMetricFamily("faber_build", "What runs here.")
    family.add_metric(
        [],
        {
            "version": version("faber-review"),
            "python": platform.python_version(),
            "database": connection.vendor,
        },
    )
    return family


def _counted(model: type, field: str, **which: object) -> dict[str, int]:
    rows = model.objects.filter(**which)  # type: ignore[attr-defined]
    return dict(rows.order_by().values_list(field).annotate(Count("pk")))


def _runs() -> dict[str, int]:
    """Most runs are completed: those are not counted, but what the others leave."""
    done = RunStatus.COMPLETED
    others = _counted(Run, "status", status__in=[each for each in RunStatus if each != done])
    return {**others, done: kept.RUNS.count() - sum(others.values())}


def _oldest_request() -> Metric:
    waiting = FeedbackRequest.objects.filter(status=RequestStatus.PENDING)
    oldest = waiting.aggregate(oldest=Min("requested_at"))["oldest"]
    age = (timezone.now() - oldest).total_seconds() if oldest else 0
    return gauge("faber_oldest_open_request_seconds", "Age of the oldest open request.", age)


def _by_age(total: int) -> Metric:
    """How many have waited longer than an hour, a day and a week: all but the newer ones."""
    waiting = FeedbackRequest.objects.filter(status=RequestStatus.PENDING)
    now = timezone.now()
    found = {
        str(int(age.total_seconds())): total - waiting.filter(requested_at__gte=now - age).count()
        for age in _AGES
    }
    told = "Requests that have waited longer than so many seconds."
    return by_label("faber_open_requests_older", told, "seconds", found, found)


def _decision_latency() -> Metric:
    """All that decided, without those that were taken back: few, and at any time."""
    decided = FeedbackResponse.objects.filter(decides=True)
    counted = Counted(
        name="decisions", rows=decided, is_open=_NONE, is_summed=Q(), durations=_LATENCIES
    )
    taken_back = _LATENCIES.sums(decided.filter(state=FeedbackResponse.State.RETRACTED))
    told = "From request to deciding answer."
    return _LATENCIES.histogram("faber_decision_seconds", told, without(counted.sums(), taken_back))


def _costs() -> Iterable[Metric]:
    dollars = CounterMetricFamily(
        "faber_agent_cost_usd", "What agents report to have cost.", labels=["project"]
    )
    tokens = CounterMetricFamily(
        "faber_agent_tokens", "Tokens that agents report.", labels=["project", "direction"]
    )
    known = [each.by_project(EVERYTHING, None) for each in (kept.STEPS, kept.INQUIRIES)]
    projects = Project.objects.filter(pk__in={pk for each in known for pk in each})
    for pk, project in projects.order_by("name").values_list("pk", "name"):
        spent = added(each[pk] for each in known if pk in each)
        dollars.add_metric([project], spent.usd)
        tokens.add_metric([project, "input"], spent.tokens_in)
        tokens.add_metric([project, "output"], spent.tokens_out)
    yield dollars
    yield tokens


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
    found = Delivery.objects.filter(is_due=True).aggregate(
        waiting=Count("pk", filter=Q(attempts=0)), failing=Count("pk", filter=Q(attempts__gt=0))
    )
    found = {"done": kept.DELIVERIES.count() - sum(found.values()), **found}
    return by_label("faber_deliveries", "Comments on issues, by state.", "state", found, found)


def _disk() -> Metric:
    used = disk.use()
    told = {"database": used.database, "free": used.free, "total": used.total}
    return by_label(
        "faber_disk_bytes",
        "The database, and the disk of the data directory.",
        "what",
        told,
        told,
    )


def _by_state(name: str, told: str, model: type[Outgoing]) -> Metric:
    """What is over is removed after a while, so that the whole of it is never much."""
    rows: QuerySet[Any] = model._default_manager.all()
    undone = rows.filter(delivered_at=None)
    due = Q(is_due=True)
    found = undone.aggregate(
        waiting=Count("pk", filter=due & Q(attempts=0)),
        failing=Count("pk", filter=due & Q(attempts__gt=0)),
        given_up=Count("pk", filter=~due & ~Q(last_error="")),
    )
    found = {"done": rows.count() - undone.count(), **found}
    return by_label(name, told, "state", found, found)


def _notices() -> Metric:
    due, failed = Q(is_due=True), ~Q(last_error="")
    unsent = Notice.objects.filter(sent_at=None)
    found = unsent.aggregate(
        waiting=Count("pk", filter=due & ~failed),
        failing=Count("pk", filter=due & failed),
        given_up=Count("pk", filter=~due & failed),
    )
    found = {"sent": kept.NOTICES.count() - unsent.count(), **found}
    return by_label("faber_notices", "Notices to people, by state.", "state", found, found)
