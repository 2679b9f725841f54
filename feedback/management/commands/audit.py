import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from feedback.audit import decisions, lines
from feedback.audit.integrity import faults
from feedback.models import FeedbackResponse
from feedback.requests.request_json import audit_shape
from runs.chain import links
from runs.chain.links import Checkpoint
from runs.domain.values.errors import Invalid, Problem
from runs.engine.find import find_run
from runs.models import AuditEntry
from runs.terminal import layout
from runs.terminal.console import DONE, FAILED, FaberCommand, Reply, as_text


class Command(FaberCommand):
    help = "List decisions, refusals, sign-ins and rule changes, or verify the record."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "do",
            nargs="?",
            choices=["verify", "checkpoint"],
            metavar="verify | checkpoint",
            help="verify the record, or sign its current end; default: list it",
        )
        parser.add_argument(
            "file", nargs="?", metavar="FILE", help="write the checkpoint to this file"
        )
        parser.add_argument(
            "--checkpoint",
            metavar="FILE",
            help="with verify: an earlier checkpoint to compare with",
        )
        parser.add_argument("--user", metavar="U", help="only this person")
        parser.add_argument("--run", metavar="R", help="only this run")
        parser.add_argument("--since", metavar="D", help="only since this date or time (UTC)")
        parser.add_argument(
            "--kind", choices=[str(kind) for kind in lines.LISTED], help="only this kind"
        )
        parser.add_argument("--csv", action="store_true", help="print CSV")

    def reply(self, **options: Any) -> Reply:
        match options["do"]:
            case "verify":
                kept = options["checkpoint"]
                return _verdict(faults(_checkpoint(kept) if kept else None))
            case "checkpoint":
                return _written(options["file"])
        rows = list(lines.found(_wanted(options)))
        if options["csv"]:
            text = "".join(lines.csv_lines(rows, ending="\n"))
        else:
            text = self._table(rows) if rows else "No entries."
        return Reply(document={"items": _shapes(rows)}, text=text)

    def _table(self, rows: list[AuditEntry]) -> str:
        return layout.columns(
            ("WHEN", "KIND", "WHO", "WHERE", "WHAT", "REQUEST", "RUN", "COMMENT"),
            [
                (
                    f"{line.at:%Y-%m-%d %H:%M:%S}",
                    line.kind,
                    _person(line),
                    line.channel,
                    f"{line.what} (imported)" if line.marks.get("imported") else line.what,
                    line.request_id,
                    line.run_id.rpartition("/")[2][:8],
                    line.comment or line.reason,
                )
                for line in rows
            ],
            colour=self.in_colour,
        )


def _person(line: AuditEntry) -> str:
    """The account beside the name: git's name is whatever somebody set it to."""
    same = not line.account or line.account.casefold() == line.who.casefold()
    return line.who if same else f"{line.who} ({line.account})"


def _shapes(rows: list[AuditEntry]) -> list[dict[str, object]]:
    """Each line; a decision also with what else is known of it."""
    keys = [int(pk) for line in rows if (pk := line.subject.removeprefix("response ")).isdigit()]
    given = decisions.whole(FeedbackResponse.objects.filter(pk__in=keys))
    known = {f"response {response.pk}": audit_shape(response) for response in given}
    return [{**known.get(line.subject, {}), **lines.shape(line)} for line in rows]


def _written(file: str | None) -> Reply:
    kept = links.checkpoint()
    text = as_text(kept.shape())
    if file:
        Path(file).write_text(f"{text}\n")
        text = f"The record up to line {kept.number} is written to {file}. Keep it elsewhere."
    return Reply(document=kept.shape(), text=text)


def _checkpoint(file: str) -> Checkpoint:
    try:
        return Checkpoint(**json.loads(Path(file).read_text()))
    except OSError as error:
        raise Invalid([Problem(file, error.strerror or "can't be read")]) from error
    except (ValueError, TypeError) as error:
        raise Invalid([Problem(file, "is not a checkpoint")]) from error


def _verdict(found: list[str]) -> Reply:
    whole = "The record is intact."
    return Reply(
        document={"valid": not found, "broken": found},
        text="\n".join(found) or whole,
        exit_code=FAILED if found else DONE,
    )


def _wanted(options: dict[str, Any]) -> decisions.DecisionFilter:
    return decisions.DecisionFilter(
        kind=options["kind"] or "",
        user=options["user"] or "",
        run=find_run(options["run"], seen_by=None) if options["run"] else None,
        since=_moment(options["since"]) if options["since"] else None,
    )


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        problem = Problem("since", f"{text!r} is not a date or time. Use the form 2026-11-16")
        raise Invalid([problem]) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
