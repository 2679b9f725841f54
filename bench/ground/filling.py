"""Fills the database with finished and waiting runs, so that it is as large as a used one.

Whole tables are copied inside the database: a million runs take minutes, not hours.
"""

import hashlib
import time
from collections.abc import Mapping
from typing import Any

from django.db import connection, models, transaction

from feedback.models import FeedbackRequest, FeedbackResponse
from runs.models import Event, Project, Run, StepAttempt

WAITING_EACH = 20  # one run in so many waits for an answer
PROJECTS = 40
BATCH = 10_000

_UUID = {"sqlite": "h.hex", "postgresql": "CAST(h.hex AS uuid)"}
_MOMENT = {
    "sqlite": "strftime('%Y-%m-%d %H:%M:%f', o.{0}, '-' || (({1} - n.i) * 30) || ' seconds')",
    "postgresql": "o.{0} - ({1} - n.i) * interval '30 seconds'",
}
_VERBS = "Fix Add Remove Speed Split Merge Move Test Cache Retry Log Check Rename Load Send Hide"
_NOUNS = (
    "invoice parser login export timeout session upload search webhook report calendar account"
    " project branch comment payment refund budget worker queue lease signal socket backup audit"
    " window filter header footer button dialog avatar"
)
_THINGS = "table query page form field mail token cookie image chart limit order price badge path"

_DASHED = ((1, 8), (9, 4), (13, 4), (17, 4), (21, 12))
_OF_RUN = "FROM {} o CROSS JOIN {} r WHERE o.run_id = %s AND r.id > %s ORDER BY r.id, o.id"


def fill_up_to(wanted: int, *, waiting_each: int = WAITING_EACH) -> None:
    """Copy a completed run, with everything that belongs to it, until there are enough."""
    original = Run.objects.filter(status="completed").order_by("pk").first()
    if original is None:
        raise LookupError("there is no completed run to copy")
    _know_md5()
    there = Run.objects.count()
    for first in range(there, wanted, BATCH):
        _copy(original, range(first, min(first + BATCH, wanted)), wanted, waiting_each)
        time.sleep(0.1)  # who waits for SQLite's lock stands in no queue, and needs a gap
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")  # as it does by itself in time; SQLite never does


@transaction.atomic
def _copy(original: Run, numbers: range, wanted: int, waiting_each: int) -> None:
    """Runs of many projects, titles and authors, each half a minute after the one before."""
    newest = Run.objects.order_by("-pk").values_list("pk", flat=True)[0]
    waits = f"n.i % {waiting_each} = 0"
    title = f"{_one_of(_VERBS, 1)} || ' ' || {_one_of(_NOUNS, 7)} || ' ' || {_one_of(_THINGS, 11)}"
    uuid = "-".join(f"substr(h.hex, {at}, {size})" for at, size in _DASHED).replace("-", "||'-'||")
    _insert(
        Run,
        {
            "uuid": _UUID[connection.vendor],
            "run_id": f"'acme/app-' || (n.i % {PROJECTS}) || '/' || {uuid}",
            "project_id": "p.id",
            "work_id": "CAST(n.i AS varchar(50))",
            "own_title": f"{title} || ' of unit ' || (n.i * 31 % 9973)",
            "workflow_id": "'flow-' || (n.i % 12)",
            "started_by": "'user-' || (n.i % 60)",
            "status": f"CASE WHEN {waits} THEN 'awaiting_feedback' ELSE 'completed' END",
            "created_at": _MOMENT[connection.vendor].format("created_at", wanted),
        },
        f"FROM {_table(Run)} o CROSS JOIN n"
        " JOIN (SELECT i, md5(CAST(i AS varchar(20))) AS hex FROM n) h ON h.i = n.i"
        f" JOIN (SELECT id, row_number() OVER (ORDER BY id) - 1 AS nth FROM {_table(Project)}"
        f" WHERE name LIKE 'acme/app-%%') p ON p.nth = n.i %% {PROJECTS} WHERE o.id = %s"
        " ORDER BY n.i",
        [original.pk],
        numbers,
    )
    moments = {"queued_at": "r.created_at", "finished_at": "r.created_at"}
    for model in (StepAttempt, Event):
        source = _OF_RUN.format(_table(model), _table(Run))
        _insert(model, {"run_id": "r.id", **moments}, source, [original.pk, newest])
    _copy_decision(original, newest)


def _one_of(words: str, step: int) -> str:
    known = words.split()
    cases = " ".join(f"WHEN {n} THEN '{word}'" for n, word in enumerate(known))
    return f"CASE n.i * {step} % {len(known)} {cases} END"


def _copy_decision(original: Run, newest: int) -> None:
    asked = FeedbackRequest.objects.get(run=original)
    _insert(
        FeedbackRequest,
        {
            "run_id": "r.id",
            "project_id": "r.project_id",
            "request_id": "'fr-20260101-' || r.id",
            "status": "CASE r.status WHEN 'completed' THEN 'answered' ELSE 'pending' END",
            "requested_at": "r.created_at",
            "ranked_at": "r.created_at",
        },
        _OF_RUN.format(_table(FeedbackRequest), _table(Run)),
        [original.pk, newest],
    )
    _insert(
        FeedbackResponse,
        {"request_id": "q.id", "received_at": "q.requested_at"},
        f"FROM {_table(FeedbackResponse)} o CROSS JOIN {_table(FeedbackRequest)} q"
        " WHERE o.request_id = %s AND q.run_id > %s AND q.status = 'answered' ORDER BY q.id",
        [asked.pk, newest],
    )


def _insert(
    model: type[models.Model],
    changed: Mapping[str, str],
    source: str,
    values: list[Any],
    numbers: range = range(1),
) -> None:
    columns = [str(field.column) for field in model._meta.concrete_fields if not field.primary_key]
    chosen = ", ".join(changed.get(column, f"o.{column}").replace("%", "%%") for column in columns)
    names = ", ".join(columns)
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {_table(model)} ({names}) "
            "WITH RECURSIVE n(i) AS (SELECT CAST(%s AS integer) UNION ALL"
            " SELECT i + 1 FROM n WHERE i < %s)"
            f" SELECT {chosen} {source}",
            [numbers[0], numbers[-1], *values],
        )


def _table(model: type[models.Model]) -> str:
    return model._meta.db_table


def _know_md5() -> None:
    """PostgreSQL has it; and the projects that the runs are of."""
    if connection.vendor == "sqlite":
        connection.ensure_connection()
        connection.connection.create_function(
            "md5", 1, lambda text: hashlib.md5(str(text).encode()).hexdigest(), deterministic=True
        )
    for number in range(PROJECTS):
        Project.objects.get_or_create(name=f"acme/app-{number}")


def like(row: models.Model, **changes: Any) -> Any:
    """A row with the same values but for these, not saved."""
    fields = {
        field.attname: getattr(row, field.attname)
        for field in row._meta.concrete_fields
        if not field.primary_key
    }
    replaced = {row._meta.get_field(name).attname for name in changes}  # type: ignore[union-attr]
    kept = {name: value for name, value in fields.items() if name not in replaced}
    return type(row)(**kept, **changes)
