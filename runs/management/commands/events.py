from typing import Any

from django.core.management.base import CommandParser

from runs.engine.find import find_run
from runs.models import Event
from runs.terminal.console import FaberCommand, Reply
from runs.terminal.layout import event_line


class Command(FaberCommand):
    help = "Print a run's history, oldest event first."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("run", metavar="RUN", help="an id, a prefix or `latest`")
        parser.add_argument(
            "--after", type=int, default=0, metavar="N", help="only events after this number"
        )

    def reply(self, **options: Any) -> Reply:
        run = find_run(options["run"], seen_by=None)
        told = Event.objects.filter(run=run, number__gt=options["after"]).order_by("number")
        documents: list[dict[str, object]] = list(told.values_list("document", flat=True))
        return Reply(
            document={"items": documents, "next_cursor": None},
            text="\n".join(event_line(document) for document in documents),
        )
