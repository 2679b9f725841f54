from typing import Any

from django.core.management.base import CommandParser

from feedback.requests.handover import delegation
from feedback.requests.request_json import request_shape
from runs.terminal import identity
from runs.terminal.console import FaberCommand, Reply


class Command(FaberCommand):
    help = "Hand a request over: somebody else may answer it in your place."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("request", metavar="REQUEST", help="its id, such as fr-20261116-a1b2c3")
        parser.add_argument("name", metavar="NAME", help="an account")
        parser.add_argument("--comment", default="", metavar="TEXT", help="a comment for them")

    def reply(self, **options: Any) -> Reply:
        request = delegation.delegate(
            options["request"],
            options["name"],
            actor=identity.cli_actor(),
            comment=options["comment"],
        )
        return Reply(
            document=request_shape(request),
            text=f"{request.request_id} is assigned to {request.assignee}.",
        )
