from typing import Any

from django.core.management.base import CommandParser

from feedback.requests.inquiries import asking
from feedback.requests.request_json import request_shape
from feedback.terminal import inquiry
from runs.terminal import identity
from runs.terminal.console import FaberCommand, Reply
from runs.terminal.layout import clean


class Command(FaberCommand):
    help = "Ask the agent about an open request before you decide; the request stays open."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "request", metavar="REQUEST", help="request id, such as fr-20261116-a1b2c3"
        )
        parser.add_argument("question", metavar="QUESTION", help="what you want to know")
        parser.add_argument(
            "--detach", action="store_true", help="do not wait for the answer; a worker gets it"
        )

    def reply(self, **options: Any) -> Reply:
        name, question, actor = options["request"], options["question"], identity.cli_actor()
        if options["detach"]:
            asked = asking.ask(name, question, actor=actor)
            text = f"Question {asked.number} on {name} is waiting for the agent."
            return Reply(document=request_shape(asked.request), text=text)
        said = inquiry.ask(name, question, actor=actor, say=self.say)
        return Reply(document=request_shape(said.request), text=clean(said.answer))
