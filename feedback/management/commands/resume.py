from typing import Any

from django.core.management.base import CommandParser

from feedback.attending import Attendant
from feedback.models import FeedbackRequest
from feedback.presenting import waits_for_sync, where_to_answer
from runs import permissions, shaping, surroundings
from runs.console import FaberCommand, Reply
from runs.domain.errors import Refused
from runs.finding import find_run
from runs.terminal.layout import run_line


class Command(FaberCommand):
    help = "Answer what a run asks, or continue one that stopped; waits until it stops again."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("run", metavar="RUN", help="an id, a prefix or `latest`")
        parser.add_argument("response", nargs="?", metavar="RESPONSE", help="option or number")
        parser.add_argument("--comment", default="", metavar="TEXT", help="words beside it")

    def reply(self, **options: Any) -> Reply:
        run, response = find_run(options["run"]), options["response"]
        actor = surroundings.cli_actor()
        attendant = Attendant(actor, self.say, prompts=False)
        request = run.requests.filter(status=FeedbackRequest.Status.PENDING).first()
        if run.mirrors and not (request and response):
            raise Refused(f"Another FABER executes this run, in {run.mirrors}; resume it there.")
        if request and response is None:
            raise Refused(f"The run waits for an answer.\n{where_to_answer(request)}")
        if request:
            attendant.answer(request, response, options["comment"])
            if run.mirrors:
                self.say(waits_for_sync(run))
                shape = shaping.run_shape(run)
                return Reply(document=shape, text=run_line(shape))
        elif response is not None:
            raise Refused(f"The run is {run.state.label} and asks nothing.")
        else:
            permissions.check_may_steer(actor, run)
            attendant.resume(run)
        return attendant.attend(run)
