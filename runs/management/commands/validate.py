from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from runs import workflow_files
from runs.console import FaberCommand, Reply, verdict_reply
from runs.domain.errors import Invalid
from runs.domain.merge import make_plan


class Command(FaberCommand):
    help = "Check a workflow file; every problem is told with its place."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", metavar="FILE", help="a JSON or YAML file, or a known id")

    def reply(self, **options: Any) -> Reply:
        try:
            chain = workflow_files.load_chain(options["file"], workspace=Path.cwd())
        except Invalid as error:
            return verdict_reply(error.problems, ())
        try:
            merged = make_plan(chain.workflows)
        except Invalid as error:
            return verdict_reply(error.problems, chain.warnings)
        return verdict_reply((), (*chain.warnings, *merged.warnings))
