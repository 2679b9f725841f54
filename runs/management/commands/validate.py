from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from runs.domain.values.errors import Invalid
from runs.domain.workflow.merge import make_plan
from runs.terminal.console import FaberCommand, Reply, verdict_reply
from runs.workflow_files import library


class Command(FaberCommand):
    help = "Check a workflow file; every problem is told with its place."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", metavar="FILE", help="a JSON or YAML file, or a known id")

    def reply(self, **options: Any) -> Reply:
        try:
            chain = library.load_chain(options["file"], workspace=Path.cwd())
        except Invalid as error:
            return verdict_reply(error.problems, ())
        try:
            merged = make_plan(chain.workflows)
        except Invalid as error:
            return verdict_reply(error.problems, chain.warnings)
        return verdict_reply((), (*chain.warnings, *merged.warnings))
