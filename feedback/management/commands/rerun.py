from typing import Any

from django.core.management.base import CommandParser

from feedback.terminal.session import Attendant
from runs.engine import starting
from runs.engine.find import find_run
from runs.terminal import identity
from runs.terminal.console import FaberCommand, Reply


class Command(FaberCommand):
    help = "Start a new run with the same inputs, on the current workflow."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("run", metavar="RUN", help="an id, a prefix or `latest`")
        parser.add_argument(
            "--autonomy", default="", metavar="LEVEL", help="override the workflow's autonomy"
        )
        parser.add_argument("--phase", metavar="A,B", help="only these phases")
        parser.add_argument(
            "--from",
            dest="from_step",
            default="",
            metavar="PHASE:STEP",
            help="begin at this step and take over everything before it",
        )

    def reply(self, **options: Any) -> Reply:
        actor = identity.cli_actor()
        attendant = Attendant(actor, self.say, prompts=True)
        run, claim = starting.rerun(
            find_run(options["run"], seen_by=None),
            actor,
            autonomy=options["autonomy"],
            phases=() if options["phase"] is None else tuple(options["phase"].split(",")),
            from_step=options["from_step"],
            worker=attendant.worker,
        )
        return attendant.attend(run, claim)
