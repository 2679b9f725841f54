"""Fills the database with finished and waiting runs, so that it is as large as a used one."""

import time
import uuid
from typing import Any

from django.db import connection, models, transaction

from feedback.models import FeedbackRequest, FeedbackResponse
from runs.models import Event, Run, StepAttempt

WAITING_EACH = 20  # one run in so many waits for an answer
BATCH = 500


def fill_up_to(wanted: int) -> None:
    """Copy a completed run, with everything that belongs to it, until there are enough."""
    original = Run.objects.filter(status="completed").order_by("pk").first()
    if original is None:
        raise LookupError("there is no completed run to copy")
    missing = wanted - Run.objects.count()
    while missing > 0:
        _copy(original, min(BATCH, missing))
        time.sleep(0.1)  # who waits for SQLite's lock stands in no queue, and needs a gap
        missing -= BATCH
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")  # as the database itself does in time


@transaction.atomic
def _copy(original: Run, count: int) -> None:
    uuids = [uuid.uuid4() for _ in range(count)]
    waiting = {uuids[n] for n in range(0, count, WAITING_EACH)}
    runs = Run.objects.bulk_create(
        _like(
            original,
            uuid=new,
            run_id=f"faber/bench/{new}",
            status="awaiting_feedback" if new in waiting else "completed",
        )
        for new in uuids
    )
    for model in (StepAttempt, Event):
        rows = list(model.objects.filter(run=original))
        model.objects.bulk_create(
            (_like(row, run=run) for run in runs for row in rows), batch_size=BATCH
        )
    _copy_decision(original, runs, waiting)


def _copy_decision(original: Run, runs: list[Run], waiting: set[uuid.UUID]) -> None:
    request = FeedbackRequest.objects.get(run=original)
    response = FeedbackResponse.objects.get(request=request)
    requests = FeedbackRequest.objects.bulk_create(
        _like(
            request,
            run=run,
            request_id=f"fr-20260101-{run.uuid.hex[:12]}",
            status="pending" if run.uuid in waiting else "answered",
        )
        for run in runs
    )
    FeedbackResponse.objects.bulk_create(
        _like(response, request=copy) for copy in requests if copy.status == "answered"
    )


def _like(row: models.Model, **changes: Any) -> Any:
    fields = {
        field.attname: getattr(row, field.attname)
        for field in row._meta.concrete_fields
        if not field.primary_key
    }
    replaced = {row._meta.get_field(name).attname for name in changes}  # type: ignore[union-attr]
    kept = {name: value for name, value in fields.items() if name not in replaced}
    return type(row)(**kept, **changes)
