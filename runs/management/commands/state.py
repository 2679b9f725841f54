from typing import Any

from django.core.management.base import CommandParser

from runs import records
from runs.console import FaberCommand, Reply, as_text
from runs.finding import find_run


class Command(FaberCommand):
    help = "Print a run's state.json."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("run", metavar="RUN", help="an id, a prefix or `latest`")

    def reply(self, **options: Any) -> Reply:
        state = records.state_of(find_run(options["run"]))
        return Reply(document=state, text=as_text(state))
