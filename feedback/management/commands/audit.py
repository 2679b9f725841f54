from datetime import UTC, datetime
from typing import Any

from django.core.management.base import CommandParser
from django.db.models import QuerySet

from feedback.audit import decisions
from feedback.audit.integrity import faults
from feedback.models import FeedbackResponse
from feedback.requests.request_json import audit_shape
from runs.domain.values.errors import Invalid, Problem
from runs.engine.find import find_run
from runs.terminal import layout
from runs.terminal.console import DONE, FAILED, FaberCommand, Reply


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
        rows = list(_chosen(options))
        items = [audit_shape(response) for response in rows]
        if options["csv"]:
            text = "".join(decisions.csv_lines(rows, ending="\n"))
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
    wanted = decisions.DecisionFilter(
        user=options["user"] or "",
        run=find_run(options["run"]) if options["run"] else None,
        since=_moment(options["since"]) if options["since"] else None,
    )
    return decisions.whole(decisions.decided(wanted))


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
