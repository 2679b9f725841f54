from typing import Any

from django.core.management.base import CommandParser
from django.utils.dateparse import parse_datetime

from runs import records
from runs.console import FaberCommand, Reply
from runs.finding import find_run
from runs.models import Run
from runs.terminal import layout

NEWEST = 20


class Command(FaberCommand):
    help = "Show how a run stands, or the newest runs."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("run", nargs="?", metavar="RUN", help="an id, a prefix or `latest`")

    def reply(self, **options: Any) -> Reply:
        if options["run"]:
            shape = records.run_shape(find_run(options["run"]))
            return Reply(document=shape, text=layout.run_card(shape))
        newest = Run.objects.select_related("project")[:NEWEST]
        shapes = [records.run_shape(run) for run in newest]
        return Reply(
            document={"items": shapes, "next_cursor": None},
            text=self._table(shapes) if shapes else "There are no runs yet.",
        )

    def _table(self, shapes: list[dict[str, Any]]) -> str:
        return layout.columns(
            ("RUN", "PROJECT", "WORK", "WORKFLOW", "STATUS", "DONE", "AGE", "STEP"),
            [self._row(shape) for shape in shapes],
            colour=self.in_colour,
        )

    def _row(self, shape: dict[str, Any]) -> tuple[object, ...]:
        began = parse_datetime(shape["created_at"])
        return (
            shape["run_id"].rpartition("/")[2][:8],
            shape["project"],
            shape["work_id"] or "",
            shape["workflow_id"],
            layout.words(shape["status"]),
            f"{shape['progress']['done']}/{shape['progress']['total']}",
            layout.age(began) if began else "",
            layout.step_of(shape),
        )
