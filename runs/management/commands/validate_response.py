from typing import Any

from django.core.management.base import CommandParser

from runs.domain.responses import published
from runs.domain.responses.results import check_response, to_json
from runs.domain.values.errors import Invalid
from runs.terminal import inputs
from runs.terminal.console import FaberCommand, Reply, as_text, verdict_reply


class Command(FaberCommand):
    help = "Check a skill response; lists every problem with its location."
    needs_site = False

    def add_arguments(self, parser: CommandParser) -> None:
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument(
            "file", nargs="?", metavar="FILE", help="a JSON file, or - for standard input"
        )
        what.add_argument(
            "--schema", action="store_true", help="print the JSON Schema of a response"
        )

    def reply(self, **options: Any) -> Reply:
        if options["schema"]:
            return Reply(document=published.SCHEMA, text=as_text(published.SCHEMA))
        try:
            checked = check_response(inputs.read_json(options["file"]))
        except Invalid as error:
            return verdict_reply(error.problems, (), response=None)
        response = to_json(checked.result) if checked.result else None
        return verdict_reply(checked.errors, checked.warnings, response=response)
