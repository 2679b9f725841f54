from typing import Any

from django.core.management.base import CommandParser

from feedback.attending import Attendant
from feedback.models import FeedbackRequest
from feedback.presenting import where_to_answer
from runs import permissions, surroundings
from runs.console import FaberCommand, Reply
from runs.domain.errors import Refused
from runs.finding import find_run


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
        if request and response is None:
            raise Refused(f"The run waits for an answer.\n{where_to_answer(request)}")
        if request:
            attendant.answer(request, response, options["comment"])
        elif response is not None:
            raise Refused(f"The run is {run.state.label} and asks nothing.")
        else:
            permissions.check_may_steer(actor, run)
            attendant.resume(run)
        return attendant.attend(run)
