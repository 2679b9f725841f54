from typing import Any

from django.core.management.base import CommandParser

from feedback.requests import answers
from feedback.requests.answers import Words
from feedback.requests.request_json import request_shape
from feedback.terminal.card import asked_again, waits_for_sync
from runs.jobs import heartbeat
from runs.terminal import identity, inputs
from runs.terminal.console import FaberCommand, Reply
from runs.terminal.layout import one_line


class Command(FaberCommand):
    help = "Answer a request; a worker resumes its run."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "request", metavar="REQUEST", help="request id, such as fr-20261116-a1b2c3"
        )
        parser.add_argument(
            "response",
            metavar="RESPONSE",
            help="an option, its number or an alias; or the text that is asked for: with several "
            "questions a line `id: answer` for each, or a JSON object",
        )
        words = parser.add_mutually_exclusive_group()
        words.add_argument("--comment", default="", metavar="TEXT", help="a comment")
        words.add_argument(
            "--comment-file",
            metavar="F",
            help="read the comment from a file, or - for standard input",
        )

    def reply(self, **options: Any) -> Reply:
        file = options["comment_file"]
        response = answers.respond(
            options["request"],
            options["response"],
            actor=identity.cli_actor(),
            words=Words(comment=inputs.read_text(file) if file else options["comment"]),
        )
        request = response.request
        if request.run.is_foreign:
            self.say(waits_for_sync(request.run))
        elif again := asked_again(request):
            self.say(again)
        elif response.decides and (why := heartbeat.why_nothing_runs()):
            self.say(f"{why} Or resume here with `faber resume {request.run.short_id}`.")
        chosen = f"{one_line(response.response)} by {response.who}"
        return Reply(document=request_shape(request), text=f"{request.request_id}: {chosen}")
