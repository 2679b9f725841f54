from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from feedback.exchange.export import export
from runs.engine.find import find_run
from runs.terminal.console import FaberCommand, Reply


class Command(FaberCommand):
    help = "Write a run as a run directory: state.json, metadata.json, events/."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("run", metavar="RUN", help="an id, a prefix or `latest`")
        parser.add_argument("dir", metavar="DIR", help="an empty or new folder")

    def reply(self, **options: Any) -> Reply:
        run, folder = find_run(options["run"], seen_by=None), Path(options["dir"]).absolute()
        export(run, folder)
        return Reply(
            document={"run_id": run.run_id, "directory": str(folder)},
            text=f"{run.run_id} is in {folder}",
        )
