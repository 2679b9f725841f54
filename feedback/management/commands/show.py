from typing import Any

from django.core.management.base import CommandParser

from feedback.requests.find import find_request
from feedback.requests.request_json import request_shape
from feedback.terminal import card
from runs.terminal.console import FaberCommand, Reply


class Command(FaberCommand):
    help = "Show a request with its artifacts."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "request", metavar="REQUEST", help="request id, such as fr-20261116-a1b2c3"
        )

    def reply(self, **options: Any) -> Reply:
        request = find_request(options["request"], seen_by=None)
        text = card.on_screen(request) if self.in_colour else card.whole(request)
        return Reply(document=request_shape(request), text=text)
