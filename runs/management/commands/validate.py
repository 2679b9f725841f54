from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from runs.domain.values.errors import Invalid, Problem
from runs.domain.workflow import spelling
from runs.domain.workflow.merge import make_plan
from runs.engine import starting
from runs.terminal.console import FaberCommand, Reply, has_site, verdict_reply
from runs.workflow_files import library
from runs.workspaces.agents import missing_for_plan


class Command(FaberCommand):
    help = "Check a workflow file; lists every problem with its location."
    needs_site = False

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
        nobody = starting.unknown_reviewers(merged.plan) if has_site() else ()
        unknown = spelling.warnings_in(merged.plan)
        agents = [Problem("", told) for told in missing_for_plan(merged.plan, workspace=Path.cwd())]
        return verdict_reply((), (*chain.warnings, *merged.warnings, *nobody, *unknown, *agents))
