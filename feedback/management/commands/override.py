from typing import Any

from django.core.management.base import CommandParser

from feedback.requests import answers
from feedback.requests.answers import Words
from feedback.requests.request_json import request_shape
from runs.domain.values.errors import Invalid, Problem
from runs.terminal import identity
from runs.terminal.console import FaberCommand, Reply
from runs.terminal.layout import one_line


class Command(FaberCommand):
    help = "Decide a request in the place of its reviewers; the reason stays on record."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("request", metavar="REQUEST", help="its id, such as fr-20261116-a1b2c3")
        parser.add_argument(
            "response", metavar="RESPONSE", help="an option, its number or an alias"
        )
        parser.add_argument("--reason", required=True, metavar="TEXT", help="why you decide")
        parser.add_argument("--comment", default="", metavar="TEXT", help="a comment for the run")

    def reply(self, **options: Any) -> Reply:
        reason = options["reason"].strip()
        if not reason:
            raise Invalid([Problem("--reason", "must not be empty")])
        response = answers.respond(
            options["request"],
            options["response"],
            actor=identity.cli_actor(),
            words=Words(comment=options["comment"]),
            override=reason,
        )
        chosen = f"{one_line(response.response)} by {response.who}"
        rule = response.override["rule"]
        return Reply(
            document=request_shape(response.request),
            text=f"{response.request.request_id}: {chosen} (override: {rule})",
        )
