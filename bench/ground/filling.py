"""Fills the database with finished and waiting runs, so that it is as large as a used one.

Whole tables are copied inside the database: a million runs take minutes, not hours.
"""

import hashlib
import time
from collections.abc import Mapping
from typing import Any

from django.db import connection, models, transaction

from feedback.models import (
    Announcement,
    Delivery,
    FeedbackRequest,
    FeedbackResponse,
    Notice,
    WebhookDelivery,
)
from runs.models import AuditEntry, Event, Project, Run, StepAttempt

WAITING_EACH = 20  # one run in so many waits for an answer
DUE_EACH = 5  # one request in so many has a date it is due
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
    _make_ready()
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
            "cost_usd": f"o.cost_usd * {_dearer('n.i')}",
        },
        f"FROM {_table(Run)} o CROSS JOIN n"
        " JOIN (SELECT i, md5(CAST(i AS varchar(20))) AS hex FROM n) h ON h.i = n.i"
        f" JOIN (SELECT id, row_number() OVER (ORDER BY id) - 1 AS nth FROM {_table(Project)}"
        f" WHERE name LIKE 'acme/app-%%') p ON p.nth = n.i %% {PROJECTS} WHERE o.id = %s"
        " ORDER BY n.i",
        [original.pk],
        numbers,
    )
    moments = dict.fromkeys(("queued_at", "started_at", "finished_at"), "r.created_at")
    cost = {"cost_usd": f"o.cost_usd * {_dearer('CAST(r.work_id AS integer)')}"}
    for model in (StepAttempt, Event):
        source = _OF_RUN.format(_table(model), _table(Run))
        _insert(model, {"run_id": "r.id", **moments, **cost}, source, [original.pk, newest])
    _copy_decision(original, newest)
    _copy_record(original, newest)
    _copy_sent(original, newest)


def _dearer(number: str) -> str:
    """Some cost much, most little."""
    return f"(1 + {number} % 97) / 50.0"


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
            "closed_at": "CASE r.status WHEN 'completed' THEN r.created_at END",
            "due_at": f"CASE WHEN r.id % {DUE_EACH} = 0 THEN r.created_at END",
        },
        _OF_RUN.format(_table(FeedbackRequest), _table(Run)),
        [original.pk, newest],
    )
    _insert(
        FeedbackResponse,
        {"request_id": "q.id", "project_id": "q.project_id", "received_at": "q.requested_at"},
        f"FROM {_table(FeedbackResponse)} o CROSS JOIN {_table(FeedbackRequest)} q"
        " WHERE o.request_id = %s AND q.run_id > %s AND q.status = 'answered' ORDER BY q.id",
        [asked.pk, newest],
    )


def _copy_record(original: Run, newest: int) -> None:
    """The lines of the audit: of these nobody verifies the links."""
    _insert(
        AuditEntry,
        {
            "number": "1000 * r.id + o.id",
            "run_id": "r.run_id",
            "request_id": "CASE o.request_id WHEN '' THEN '' ELSE 'fr-20260101-' || r.id END",
            "at": "r.created_at",
            "subject": "CASE o.subject WHEN '' THEN '' ELSE 'response of ' || r.id END",
        },
        f"FROM {_table(AuditEntry)} o CROSS JOIN {_table(Run)} r"
        " WHERE o.run_id = %s AND r.id > %s"
        " AND (r.status = 'completed' OR o.kind IN ('run', 'question')) ORDER BY r.id, o.id",
        [original.run_id, newest],
    )


def _copy_sent(original: Run, newest: int) -> None:
    """What was sent about it, if anything was: notices, deliveries to webhooks, comments."""
    asked = FeedbackRequest.objects.get(run=original)
    of_request = (
        f"FROM {{}} o CROSS JOIN {_table(FeedbackRequest)} q WHERE o.{{}} = %s AND q.run_id > %s"
        " ORDER BY q.id, o.id"
    )
    sent = {"created_at": "q.requested_at", "request_id": "q.id"}
    copies: tuple[tuple[type[models.Model], str, object, dict[str, str]], ...] = (
        (
            Announcement,
            "request_id",
            asked.pk,
            {"about": "q.request_id", "project_id": "q.project_id"},
        ),
        (Delivery, "request_id", asked.pk, {"mark": "o.mark || q.id", "run_id": "q.run_id"}),
        (
            WebhookDelivery,
            "subject",
            asked.request_id,
            {
                "delivery_id": "o.delivery_id || q.id",
                "event_key": "o.event_key || q.id",
                "subject": "q.request_id",
            },
        ),
    )
    for model, column, value, changed in copies:
        source = of_request.format(_table(model), column)
        _insert(model, {**sent, **changed}, source, [value, newest])
    _insert(
        Notice,
        {"announcement_id": "a.id", "created_at": "a.created_at"},
        f"FROM {_table(Notice)} o CROSS JOIN {_table(Announcement)} a"
        f" JOIN {_table(FeedbackRequest)} q ON q.id = a.request_id"
        f" WHERE o.announcement_id IN (SELECT id FROM {_table(Announcement)} WHERE request_id = %s)"
        " AND q.run_id > %s ORDER BY a.id, o.id",
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
    given = (changed.get(column, f'o."{column}"') for column in columns)
    chosen = ", ".join(value.replace("%", "%%") for value in given)
    names = ", ".join(f'"{column}"' for column in columns)
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


def _make_ready() -> None:
    """SQLite with what PostgreSQL has; and the projects that the runs are of."""
    if connection.vendor == "sqlite":
        connection.ensure_connection()
        connection.connection.create_function(
            "md5", 1, lambda text: hashlib.md5(str(text).encode()).hexdigest(), deterministic=True
        )
        # Indexes of random ids are written all over: with little memory each row would be read in.
        connection.connection.execute("PRAGMA cache_size = -1000000")
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
