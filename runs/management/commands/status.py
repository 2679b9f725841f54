from typing import Any

from django.core.management.base import CommandParser
from django.utils.dateparse import parse_datetime

from runs.engine import turns
from runs.engine.find import find_run
from runs.engine.turns import TurnWait
from runs.models import Run
from runs.record import run_json
from runs.terminal import layout
from runs.terminal.console import FaberCommand, Reply

NEWEST = 20


class Command(FaberCommand):
    help = "Show how a run stands, or the newest runs."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("run", nargs="?", metavar="RUN", help="an id, a prefix or `latest`")

    def reply(self, **options: Any) -> Reply:
        if options["run"]:
            run = find_run(options["run"])
            shape, wait = run_json.run_shape(run), turns.wait_of(run)
            card = layout.run_card(shape, waits=wait.in_full if wait else "")
            return Reply(document=shape, text=card)
        newest = list(Run.objects.select_related("project")[:NEWEST])
        shapes = run_json.run_shapes(newest)
        return Reply(
            document={"items": shapes, "next_cursor": None},
            text=self._table(newest, shapes) if shapes else "There are no runs yet.",
        )

    def _table(self, runs: list[Run], shapes: list[dict[str, Any]]) -> str:
        waits = [turns.wait_of(run) for run in runs]
        return layout.columns(
            ("RUN", "PROJECT", "WORK", "WORKFLOW", "STATUS", "DONE", "AGE", "STEP"),
            [self._row(shape, wait) for shape, wait in zip(shapes, waits, strict=True)],
            colour=self.in_colour,
        )

    def _row(self, shape: dict[str, Any], wait: TurnWait | None) -> tuple[object, ...]:
        began = parse_datetime(shape["created_at"])
        return (
            shape["run_id"].rpartition("/")[2][:8],
            shape["project"],
            shape["work_id"] or "",
            shape["workflow_id"],
            layout.words(shape["status"]),
            f"{shape['progress']['done']}/{shape['progress']['total']}",
            layout.age(began) if began else "",
            wait.in_short if wait else layout.step_of(shape),
        )
