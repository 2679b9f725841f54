import csv
import io
from datetime import UTC, datetime
from typing import Any

from django.core.management.base import CommandParser
from django.db.models import Q, QuerySet

from feedback.auditing import faults
from feedback.models import FeedbackResponse
from feedback.shapes import audit_shape
from runs.console import DONE, FAILED, FaberCommand, Reply
from runs.domain.errors import Invalid, Problem
from runs.finding import find_run
from runs.terminal import layout

COLUMNS = (
    "received_at",
    "user",
    "source",
    "method",
    "type",
    "response",
    "action",
    "comment",
    "request_id",
    "run_id",
    "project",
)


class Command(FaberCommand):
    help = "List every decision, or verify that the record of them is whole."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("do", nargs="?", choices=["verify"], metavar="verify")
        parser.add_argument("--user", metavar="U", help="only of this person")
        parser.add_argument("--run", metavar="R", help="only of this run")
        parser.add_argument("--since", metavar="D", help="only since this day or time, UTC")
        parser.add_argument("--csv", action="store_true", help="print CSV")

    def reply(self, **options: Any) -> Reply:
        if options["do"] == "verify":
            return _verdict(faults())
        items = [audit_shape(response) for response in _chosen(options)]
        if options["csv"]:
            text = _csv(items)
        else:
            text = self._table(items) if items else "Nothing was decided."
        return Reply(document={"items": items}, text=text)

    def _table(self, items: list[dict[str, object]]) -> str:
        shown = ("received_at", "user", "source", "response", "request_id", "run_id", "comment")
        return layout.columns(
            ("WHEN", "WHO", "WHERE", "DECIDED", "REQUEST", "RUN", "COMMENT"),
            [[_short(key, item[key]) for key in shown] for item in items],
            colour=self.in_colour,
        )


def _verdict(found: list[str]) -> Reply:
    whole = "Every event and every decision is as it was written."
    return Reply(
        document={"valid": not found, "broken": found},
        text="\n".join(found) or whole,
        exit_code=FAILED if found else DONE,
    )


def _chosen(options: dict[str, Any]) -> QuerySet[FeedbackResponse]:
    responses = FeedbackResponse.objects.select_related("request__run__project")
    if name := options["user"]:
        responses = responses.filter(
            Q(provided_by__user__iexact=name)
            | Q(provided_by__account__iexact=name)
            | Q(user__username__iexact=name)
        )
    if options["run"]:
        responses = responses.filter(request__run=find_run(options["run"]))
    if options["since"]:
        responses = responses.filter(received_at__gte=_moment(options["since"]))
    return responses


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        problem = Problem("since", f"{text!r} is not a day or time; write it as 2026-11-16")
        raise Invalid([problem]) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _short(key: str, value: object) -> str:
    text = str(value)
    if key == "received_at":
        return text[:19].replace("T", " ")
    return text.rpartition("/")[2][:8] if key == "run_id" else text


def _csv(items: list[dict[str, object]]) -> str:
    page = io.StringIO()
    writer = csv.writer(page, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows([_harmless(item[key]) for key in COLUMNS] for item in items)
    return page.getvalue()


def _harmless(value: object) -> str:
    """A cell that a spreadsheet would read as a formula is made a text."""
    text = str(value)
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text
