from typing import Any

from django.core.management.base import CommandParser

from feedback import presenting
from feedback.finding import find_request
from feedback.shapes import request_shape
from runs.console import FaberCommand, Reply


class Command(FaberCommand):
    help = "Show a request with what it is about."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("request", metavar="REQUEST", help="its id, such as fr-20261116-a1b2c3")

    def reply(self, **options: Any) -> Reply:
        request = find_request(options["request"])
        return Reply(document=request_shape(request), text=presenting.whole(request))
