import sys
import time
from typing import Any

from django.core.management.base import CommandParser
from django.utils.dateparse import parse_datetime

from runs.domain.values.status import RunStatus
from runs.engine import turns
from runs.engine.find import find_run
from runs.engine.turns import TurnWait
from runs.models import Run
from runs.record import run_json
from runs.terminal import layout
from runs.terminal.console import FaberCommand, Reply

NEWEST = 20
LOOK_SECONDS = 0.5
COLUMNS = ("RUN", "STATUS", "DONE", "STEP", "TITLE", "AGE", "PROJECT", "WORK", "WORKFLOW")
# On a narrow screen; what changes while it is watched goes last.
GOES = ("WORKFLOW", "WORK", "PROJECT", "TITLE", "STEP", "DONE", "AGE")


def _is_going_on(run: Run | None) -> bool:
    if run:
        run.refresh_from_db()
        return not run.state.is_stopped
    newest = Run.objects.values_list("status", flat=True)[:NEWEST]
    return any(not RunStatus(status).is_stopped for status in newest)


class Command(FaberCommand):
    help = "Show the status of a run, or the latest runs."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("run", nargs="?", metavar="RUN", help="an id, a prefix or `latest`")
        parser.add_argument(
            "--watch", action="store_true", help="follow until all runs have stopped, or Ctrl-C"
        )

    def reply(self, **options: Any) -> Reply:
        # What is watched stays the same, also when `latest` becomes another.
        # A shell variable that is empty is no wish for all of them.
        wanted = options["run"]
        run = None if wanted is None else find_run(wanted, seen_by=None)
        if options["watch"]:
            from runs.terminal.watching import following_for  # noqa: PLC0415  it knows workers

            with following_for(self.say) as follow:
                while _is_going_on(run):
                    follow(self._lines(run))
                    time.sleep(LOOK_SECONDS)
        return self._reply(run, colour=self.in_colour)

    def _lines(self, run: Run | None) -> list[str]:
        on_screen = sys.stderr.isatty()
        text = self._reply(run, colour=True).text if on_screen else self._plainly(run)
        return text.split("\n")

    def _plainly(self, run: Run | None) -> str:
        """A line for each run that says what changes: its status, how far it is, its step."""
        runs = [run] if run else list(Run.objects.select_related("project")[:NEWEST])
        for each in runs:
            each.refresh_from_db()
        return "\n".join(map(layout.run_line, run_json.run_shapes(runs)))

    def _reply(self, run: Run | None, *, colour: bool) -> Reply:
        if run:
            run.refresh_from_db()
            shape, wait = run_json.run_shape(run), turns.wait_of(run)
            card = layout.run_card(shape, waits=wait.in_full if wait else "")
            return Reply(document=shape, text=card)
        newest = list(Run.objects.select_related("project")[:NEWEST])
        shapes = run_json.run_shapes(newest)
        return Reply(
            document={"items": shapes, "next_cursor": None},
            text=self._table(newest, shapes, colour=colour) if shapes else "No runs yet.",
        )

    def _table(self, runs: list[Run], shapes: list[dict[str, Any]], *, colour: bool) -> str:
        waits = [turns.wait_of(run) for run in runs]
        return layout.columns(
            COLUMNS,
            [self._row(shape, wait) for shape, wait in zip(shapes, waits, strict=True)],
            colour=colour,
            bends=("TITLE",),
            goes=GOES,
        )

    def _row(self, shape: dict[str, Any], wait: TurnWait | None) -> tuple[object, ...]:
        began = parse_datetime(shape["created_at"])
        return (
            shape["run_id"].rpartition("/")[2][:8],
            layout.words("rejected" if shape["outcome"] == "rejected" else shape["status"]),
            f"{shape['progress']['done']}/{shape['progress']['total']}",
            wait.in_short if wait else layout.step_of(shape),
            layout.one_line(shape["title"], layout.TITLE),
            layout.age(began) if began else "",
            shape["project"],
            shape["work_id"] or "",
            shape["workflow_id"],
        )
