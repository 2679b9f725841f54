from typing import Any

from django.core.management.base import CommandParser

from runs import engine, permissions, shaping, surroundings
from runs.console import FaberCommand, Reply
from runs.domain.errors import Invalid, Problem
from runs.finding import find_run
from runs.terminal.layout import run_line


class Command(FaberCommand):
    help = "Cancel a run and whatever it asks."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("run", metavar="RUN", help="an id, a prefix or `latest`")
        parser.add_argument("--reason", required=True, metavar="TEXT", help="why, for the record")

    def reply(self, **options: Any) -> Reply:
        reason = options["reason"].strip()
        if not reason:
            raise Invalid([Problem("reason", "say why the run is cancelled")])
        run = find_run(options["run"])
        actor = surroundings.cli_actor()
        permissions.check_may_steer(actor, run)
        shape = shaping.run_shape(engine.cancel(run.pk, reason=reason, actor=actor))
        return Reply(document=shape, text=run_line(shape))
