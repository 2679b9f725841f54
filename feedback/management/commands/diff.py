from typing import Any

from django.core.management.base import CommandParser

from feedback.requests import code_changes
from feedback.terminal import differences
from runs.changes.values import Since
from runs.engine.find import find_run
from runs.terminal.console import FaberCommand, Reply


class Command(FaberCommand):
    help = "Show what a run changed in its repository."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("run", metavar="RUN", help="an id, a prefix or `latest`")
        parser.add_argument(
            "--request", default="", metavar="ID", help="as of this request (default: the newest)"
        )
        parser.add_argument(
            "--since",
            choices=[each.value for each in Since],
            default=Since.BASE.value,
            help="since the run started, or since the last round",
        )
        parser.add_argument("--stat", action="store_true", help="files and counts only")

    def reply(self, **options: Any) -> Reply:
        run = find_run(options["run"], seen_by=None)
        request = code_changes.shown_with(run, options["request"])
        changes = code_changes.changes_of(request, Since(options["since"]))
        document = code_changes.changes_shape(request, changes)
        if options["stat"]:
            return Reply(document=document, text=differences.stat(changes))
        if not self.in_colour:
            return Reply(document=document, plain=differences.patch(changes))
        return Reply(document=document, text=differences.coloured(changes), is_paged=True)
