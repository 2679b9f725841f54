"""Removes what nobody needs of old runs; decisions, events, artifacts and the chain stay."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from functools import reduce
from operator import add
from typing import Any

from django.contrib.sessions.models import Session
from django.db import transaction
from django.db.models import QuerySet, Sum
from django.db.models.functions import Coalesce, Length
from django.utils import timezone
from django_q.models import Task

from feedback.models import Callback, Webhook, WebhookDelivery
from feedback.upkeep import parts, snapshots
from runs.domain.values.status import RunStatus
from runs.models import ContextPackage, OutputPart, Run, StepOutput

_AT_ONCE = 200
_STREAMS = ("stdout", "stderr", "packed_stdout", "packed_stderr")
_STORED = reduce(add, (Coalesce(Length(stream), 0) for stream in _STREAMS))
_OVER = [status.value for status in RunStatus if status.is_final]


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed:
    """How much of each kind."""

    runs: int = 0  # whose outputs and packages went
    outputs: int = 0
    output_characters: int = 0
    packages: int = 0
    package_parts: int = 0
    snapshot_refs: int = 0
    deliveries: int = 0
    sessions: int = 0
    jobs: int = 0

    def __add__(self, other: "Removed") -> "Removed":
        names = [field.name for field in fields(Removed)]
        return Removed(**{name: getattr(self, name) + getattr(other, name) for name in names})

    def shape(self) -> dict[str, int]:
        return asdict(self)


def prune(before: datetime) -> Removed:
    """Remove what is older; a few runs at a time, so that nobody waits for it."""
    removed = Removed()
    while some := list(_runs(before)[:_AT_ONCE]):
        removed += _prune_runs(some)
    return removed + tidy(before)


def tidy(before: datetime) -> Removed:
    """Remove what belongs to no run, or is over in any case."""
    return Removed(
        package_parts=parts.drop_loose(),
        deliveries=sum(_deleted(rows) for rows in _deliveries(before)),
        sessions=_deleted(_sessions()),
        jobs=_deleted(_jobs(before)),
    )


def outlook(before: datetime) -> Removed:
    """What `prune` would remove now; parts and references are only known then."""
    runs = _runs(before)
    outputs = StepOutput.objects.filter(attempt__run__in=runs)
    size = outputs.aggregate(size=Sum(_STORED))["size"]
    return Removed(
        runs=runs.count(),
        outputs=outputs.count(),
        output_characters=size or 0,
        packages=ContextPackage.objects.filter(run__in=runs).count(),
        deliveries=sum(rows.count() for rows in _deliveries(before)),
        sessions=_sessions().count(),
        jobs=_jobs(before).count(),
    )


def _runs(before: datetime) -> "QuerySet[Run]":
    """Runs that are over for good; one that failed can still be resumed."""
    return Run.objects.filter(status__in=_OVER, completed_at__lt=before, pruned_at=None).order_by()


def _prune_runs(runs: list[Run]) -> Removed:
    with transaction.atomic():
        outputs = StepOutput.objects.filter(attempt__run__in=runs)
        size = outputs.aggregate(size=Sum(_STORED))["size"]
        OutputPart.objects.filter(attempt__run__in=runs).delete()
        removed = Removed(
            runs=len(runs),
            outputs=outputs.delete()[0],
            output_characters=size or 0,
            packages=ContextPackage.objects.filter(run__in=runs).delete()[0],
        )
        Run.objects.filter(pk__in=[run.pk for run in runs]).update(pruned_at=timezone.now())
    return removed + Removed(snapshot_refs=snapshots.drop_refs(runs))


def _deliveries(before: datetime) -> "Iterator[QuerySet[Any]]":
    """What was delivered, or read, long ago; what GitHub shows is still edited."""
    yield WebhookDelivery.objects.filter(is_due=False, created_at__lt=before)
    yield Callback.objects.filter(delivered_at__lt=before)
    yield Webhook.objects.filter(read_at__lt=before)


def _sessions() -> QuerySet[Session]:
    return Session.objects.filter(expire_date__lt=timezone.now())


def _jobs(before: datetime) -> QuerySet[Any]:
    """Records of jobs that failed; those that wait are not among them."""
    rows: QuerySet[Any] = Task.objects.filter(stopped__lt=before)
    return rows


def _deleted(rows: "QuerySet[Any]") -> int:
    removed = 0
    while some := list(rows.values_list("pk", flat=True)[:1000]):
        removed += rows.model._default_manager.filter(pk__in=some).delete()[0]
    return removed
