from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from runs.domain.values.errors import Invalid, Problem
from runs.domain.workflow import spelling
from runs.domain.workflow.merge import InvalidPlan, make_plan
from runs.engine import starting
from runs.terminal import inputs
from runs.terminal.console import FaberCommand, Reply, has_site, verdict_reply
from runs.workflow_files import documents, library
from runs.workflow_files.library import InvalidChain, LoadedChain
from runs.workspaces.agents import missing_for_plan


class Command(FaberCommand):
    help = "Check a workflow file; lists every problem with its location."
    needs_site = False

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "file",
            metavar="FILE",
            help="a JSON or YAML file, a known id, or - for standard input",
        )

    def reply(self, **options: Any) -> Reply:
        try:
            chain = _chain(options["file"])
        except InvalidChain as error:
            seen = _look_at(error.chain) if error.chain else ((), ())
            return verdict_reply(error.problems, (*error.warnings, *seen[1]))
        except Invalid as error:
            return verdict_reply(error.problems, ())
        problems, warnings = _look_at(chain)
        return verdict_reply(problems, (*chain.warnings, *warnings))


def _chain(named: str) -> LoadedChain:
    if named == "-":
        document = documents.parse_document(inputs.standard_input())
        return library.load_definition(document, workspace=Path.cwd())
    return library.load_chain(named, workspace=Path.cwd())


def _look_at(chain: LoadedChain) -> tuple[Sequence[Problem], Sequence[Problem]]:
    """What is wrong with the plan, and what is worth saying about it."""
    problems: Sequence[Problem] = ()
    try:
        made = make_plan(chain.workflows)
    except InvalidPlan as error:
        problems, made = error.problems, error.made
    nobody = starting.unknown_reviewers(made.plan) if has_site() else ()
    unknown = spelling.warnings_in(made.plan)
    agents = [Problem("", told) for told in missing_for_plan(made.plan, workspace=Path.cwd())]
    return problems, (*made.warnings, *nobody, *unknown, *agents)
