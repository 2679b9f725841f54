from typing import Any

from django.core.management.base import CommandParser
from django.db import transaction

from feedback.terminal.card import waits_for_sync, where_to_answer
from feedback.terminal.session import Attendant
from runs.domain.values.errors import Refused
from runs.domain.values.status import RequestStatus
from runs.engine.find import find_run
from runs.record import run_json
from runs.terminal import identity
from runs.terminal.console import FaberCommand, Reply
from runs.terminal.layout import run_line


class Command(FaberCommand):
    help = "Answer a run's open request, or resume a stopped run; waits until it stops again."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("run", metavar="RUN", help="an id, a prefix or `latest`")
        parser.add_argument("response", nargs="?", metavar="RESPONSE", help="option or number")
        parser.add_argument("--comment", default="", metavar="TEXT", help="a comment")

    def reply(self, **options: Any) -> Reply:
        run, response = find_run(options["run"], seen_by=None), options["response"]
        actor = identity.cli_actor()
        attendant = Attendant(actor, self.say, prompts=False)
        request = run.requests.filter(status=RequestStatus.PENDING).first()
        if run.is_foreign and not (request and response):
            raise Refused(
                f"Another FABER site executes this run in {run.mirrors}. Resume it there."
            )
        if request and response is None and not run.on_hold:
            raise Refused(f"The run is waiting for a decision.\n{where_to_answer(request)}")
        if request and response is not None:
            with transaction.atomic():
                if run.on_hold:
                    attendant.resume(run)
                attendant.answer(request, response, options["comment"])
            if run.is_foreign:
                self.say(waits_for_sync(run))
                shape = run_json.run_shape(run)
                return Reply(document=shape, text=run_line(shape))
        elif response is not None:
            raise Refused(f"The run is {run.state.label} and has no open request.")
        else:
            attendant.resume(run)
        return attendant.attend(run)
