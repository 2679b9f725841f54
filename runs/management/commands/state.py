from typing import Any

from django.core.management.base import CommandParser

from runs.engine.find import find_run
from runs.record import state_json
from runs.terminal.console import FaberCommand, Reply, as_text


class Command(FaberCommand):
    help = "Print a run's state.json."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("run", metavar="RUN", help="an id, a prefix or `latest`")

    def reply(self, **options: Any) -> Reply:
        state = state_json.state_of(find_run(options["run"], seen_by=None))
        return Reply(document=state, text=as_text(state))
