"""Turns what a program wants to start into a wish, and refuses what only operators may."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from django.conf import settings

from runs.accounts import permissions, tokens
from runs.api.schemas import StartRun
from runs.domain.values.actors import Actor
from runs.domain.values.errors import Invalid, Problem
from runs.domain.values.ids import check_project
from runs.engine import starting
from runs.engine.starting import Wish
from runs.models import Project, owners_of
from runs.worker import remote
from runs.workflow_files import library
from runs.workflow_files.documents import EXTENSIONS

WITHOUT_A_PROJECT = "local/workspace"


def wish_of(body: StartRun, actor: Actor) -> Wish:
    """Steps execute on the server, so what may be executed and where is not for everybody."""
    project = check_project(body.project) if body.project else ""
    known = starting.project_seen(project or WITHOUT_A_PROJECT, actor)
    permissions.check_may_start(actor, known)
    workspace = _workspace(body.workspace, project, actor)
    wish = Wish(
        workflow="",
        workspace=workspace,
        # A folder of ours may lie inside somebody's repository, whose name is not its own.
        project=project
        if project or body.workspace or body.workflow == "demo"
        else WITHOUT_A_PROJECT,
        work_id=str(body.work_id),
        target=body.target,
        autonomy=body.autonomy or "",
        phases=tuple(body.phases),
        prompt=body.prompt,
        inputs={key: str(value) for key, value in body.inputs.items()},
        budget=body.budget,
    )
    try:
        return replace(wish, workflow=_workflow(body.workflow, workspace, actor))
    except Invalid as error:
        raise starting.all_that_is_wrong(error, wish) from None


def _workspace(named: str, project: str, actor: Actor) -> Path:
    if not named:
        known = Project.objects.filter(name__iexact=project).exclude(workspace="").first()
        return (known and known.folder) or remote.own_folder(project or WITHOUT_A_PROJECT)
    if not Path(named).is_absolute():
        raise Invalid([Problem("workspace", f"{named!r} is not a full path")])
    folder = Path(named).resolve()
    if not owners_of(folder):
        tokens.check_may_operate(actor, f"The workspace {folder}, which no project has registered,")
    return folder


def _workflow(wanted: str | Mapping[str, object], workspace: Path, actor: Actor) -> str:
    if isinstance(wanted, str):
        if Path(wanted).suffix in EXTENSIONS:
            problem = "is a file. Give a workflow id or an inline definition"
            raise Invalid([Problem("workflow", f"{wanted!r} {problem}")])
        return wanted
    tokens.check_may_operate(actor, "An inline definition")
    library.load_definition(wanted, workspace=workspace)
    return str(_kept(wanted))


def _kept(definition: Mapping[str, object]) -> Path:
    """The definition as a file, so that a rerun finds it again like any other."""
    text = json.dumps(definition, sort_keys=True, ensure_ascii=False)
    digest = hashlib.sha256(text.encode()).hexdigest()
    # The underscore: no id begins with one, so none of these can be extended by name.
    file = Path(settings.FABER_DATA_DIR) / "definitions" / f"_{digest}.json"
    if not file.exists():
        file.parent.mkdir(mode=0o700, exist_ok=True)
        file.write_text(text)
    return file
