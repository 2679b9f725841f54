from typing import Any

from django.core.management.base import CommandParser

from runs import engine
from runs.domain.values.errors import Invalid, Problem
from runs.engine.find import find_run
from runs.record import run_json
from runs.terminal import identity
from runs.terminal.console import FaberCommand, Reply
from runs.terminal.layout import run_line


class Command(FaberCommand):
    help = "Cancel a run and its open request."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("run", metavar="RUN", help="an id, a prefix or `latest`")
        parser.add_argument("--reason", required=True, metavar="TEXT", help="the reason to record")

    def reply(self, **options: Any) -> Reply:
        reason = options["reason"].strip()
        if not reason:
            raise Invalid([Problem("reason", "give a reason with --reason")])
        run = find_run(options["run"], seen_by=None)
        actor = identity.cli_actor()
        shape = run_json.run_shape(engine.cancel(run.pk, reason=reason, actor=actor))
        return Reply(document=shape, text=run_line(shape))
