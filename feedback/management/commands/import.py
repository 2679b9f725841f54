# ruff: noqa: N999  the command is called that
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from feedback.importing import take_in
from runs import records
from runs.console import FaberCommand, Reply
from runs.terminal.layout import run_card


class Command(FaberCommand):
    help = "Take in a run directory, with its history and its open request."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("dir", metavar="DIR", help="the run's folder, or a base of just one")

    def reply(self, **options: Any) -> Reply:
        shape = records.run_shape(take_in(Path(options["dir"])))
        return Reply(document=shape, text=run_card(shape))
