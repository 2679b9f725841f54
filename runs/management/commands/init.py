import shlex
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from runs.domain.workflow.merge import make_plan
from runs.models import Project, owners_of, places
from runs.pages.projects import settings
from runs.terminal import identity
from runs.terminal.console import FaberCommand, Reply
from runs.workflow_files import library, starter
from runs.workspaces import agents, readiness
from runs.workspaces.git import project_name

_NO_TESTS = "No tests found. Name their command with `faber init --test COMMAND`."


class Command(FaberCommand):
    help = """Set up the repository you are in: a workflow file, the project's settings.
Writes .fractary/faber/workflows/WORKFLOW.yaml, and lists what is missing."""
    begins_site = True

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--workflow",
            default="claude-code",
            metavar="W",
            help=f"the bundled workflow to copy: {', '.join(starter.can_be_copied())}",
        )
        parser.add_argument(
            "--test", default="", metavar="COMMAND", help="how the tests are run; default: found"
        )

    def reply(self, **options: Any) -> Reply:
        workflow = str(options["workflow"])
        repository = readiness.repository_of(Path.cwd())
        finder = starter.finder(workflow)
        test = options["test"].strip() or readiness.test_command(repository, finder, starter.NOTES)
        file = starter.write(repository, workflow, test=test)
        project = _registered(repository)
        missing = [*readiness.missing(repository), *_agents(workflow, repository, project)]
        if finder and not test:
            missing.insert(0, _NO_TESTS)
        document = {
            "workflow": workflow,
            "file": str(file),
            "project": project.name,
            "test_command": test or None,
            "missing": missing,
            "next": _next(workflow, file.relative_to(repository)),
        }
        return Reply(document=document, text=_text(document, file.relative_to(repository)))


def _registered(repository: Path) -> Project:
    """The project that the folder belongs to; a new one is made, a known one gets its folder."""
    if owners := owners_of(repository):
        return owners[0]
    name = project_name(repository)
    known, _ = Project.objects.get_or_create(name__iexact=name, defaults={"name": name})
    if not known.workspace:
        folder = places.stored(repository.resolve())
        settings.change(known, {"workspace": folder}, actor=identity.cli_actor())
        known.refresh_from_db()
    return known


def _agents(workflow: str, repository: Path, project: Project) -> list[str]:
    plan = make_plan(library.load_chain(workflow, workspace=repository).workflows).plan
    return agents.missing_for_plan(plan, workspace=repository, project=project)


def _next(workflow: str, file: Path) -> list[str]:
    added = shlex.join(["git", "add", str(file)])
    return [
        f"{added} && git commit -m 'Add the FABER workflow'",
        f"faber run {workflow} --work-id ISSUE",
        "faber up",
    ]


def _text(document: dict[str, Any], file: Path) -> str:
    lines = [f"Wrote {file}", f"Project: {document['project']}"]
    if document["test_command"]:
        lines.append(f"Tests: {document['test_command']}")
    if document["missing"]:
        lines += ["", "Missing:", *(f"- {sentence}" for sentence in document["missing"])]
    return "\n".join([*lines, "", "Next:", *(f"  {command}" for command in document["next"])])
