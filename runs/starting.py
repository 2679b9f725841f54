"""Turns a wish to run a workflow into a run: finds the files, makes the plan, starts."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from django.utils.module_loading import import_string

from runs import engine, permissions, surroundings, workflow_files
from runs.domain.actors import Actor
from runs.domain.errors import Invalid, Problem, Refused
from runs.domain.ids import check_project, check_work_id
from runs.domain.merge import make_plan
from runs.domain.plan import Plan
from runs.domain.workflow import AutonomyLevel
from runs.engine import Claim
from runs.models import Project, Run
from runs.workflow_files import BUNDLED, LoadedChain

# Bundled workflows that bring a workspace of their own, and who makes it.
_OWN_WORKSPACE = {BUNDLED / "demo.yaml": "runs.demo.with_scratch"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What somebody asks for, as they wrote it."""

    workflow: str
    workspace: Path
    project: str = ""
    work_id: str = ""
    target: str = ""
    autonomy: str = ""
    phases: tuple[str, ...] = ()
    step: str = ""
    prompt: str = ""
    inputs: Mapping[str, str] = field(default_factory=dict)


def start(wish: Wish, actor: Actor, *, worker: str = "") -> tuple[Run, Claim | None]:
    return engine.start(prepare(wish, actor), worker=worker)


def prepare(wish: Wish, actor: Actor) -> engine.Start:
    """All that a run is started with, read and checked; no run is made yet."""
    permissions.check_may_start(actor)
    workspace = wish.workspace.resolve()
    if not workspace.is_dir():
        raise Invalid([Problem("workspace", f"{workspace} is not a folder")])
    chain = workflow_files.load_chain(wish.workflow, workspace=workspace)
    plan = _plan(chain, wish)
    work_id = check_work_id(wish.work_id)
    placed = _placed(chain, replace(wish, workspace=workspace))
    return engine.Start(
        plan=plan,
        project=_project(placed),
        workspace=placed.workspace,
        workflow_ref=_reference(chain, wish.workflow),
        work_id=work_id,
        target=wish.target,
        prompt=wish.prompt,
        inputs=placed.inputs,
        environment=surroundings.environment(placed.workspace),
        actor=actor,
    )


def rerun(
    original: Run,
    actor: Actor,
    *,
    autonomy: str = "",
    phases: tuple[str, ...] = (),
    worker: str = "",
) -> tuple[Run, Claim | None]:
    """A new run with the same parameters, on a plan made anew from the workflow as it is now."""
    permissions.check_may_steer(actor, original)
    workspace = Path(original.workspace)
    if not workspace.is_dir():
        raise Refused(f"The workspace {workspace} of that run is gone.")
    wish = Wish(
        workflow=original.workflow_ref,
        workspace=workspace,
        autonomy=autonomy or original.autonomy,
        phases=phases or tuple(original.phases),
        inputs=original.inputs,
    )
    chain = workflow_files.load_chain(wish.workflow, workspace=workspace)
    plan = _plan(chain, wish)
    placed = _placed(chain, wish)
    changes = {"autonomy": autonomy, "phases": list(phases)}
    order = engine.Start(
        plan=plan,
        project=original.project,
        workspace=placed.workspace,
        workflow_ref=original.workflow_ref,
        work_id=original.work_id,
        target=original.target,
        prompt=original.prompt,
        inputs=placed.inputs,
        environment=surroundings.environment(placed.workspace),
        actor=actor,
        rerun_of=original,
        changes={key: value for key, value in changes.items() if value},
    )
    return engine.start(order, worker=worker)


def brings_workspace(workflow: str) -> bool:
    """Whether this bundled workflow makes the folder it works in by itself."""
    return any(path.stem == workflow for path in _OWN_WORKSPACE)


def _plan(chain: LoadedChain, wish: Wish) -> Plan:
    return make_plan(
        chain.workflows,
        autonomy=_autonomy(wish.autonomy),
        phases=wish.phases,
        step=wish.step,
    ).plan


def _placed(chain: LoadedChain, wish: Wish) -> Wish:
    """The wish with the workspace its steps will find; called last, when nothing is refused."""
    maker = _OWN_WORKSPACE.get(chain.path) if chain.path else None
    if maker is None:
        return wish
    bring: Callable[[Wish], Wish] = import_string(maker)
    return bring(wish)


def _autonomy(named: str) -> AutonomyLevel | None:
    if not named:
        return None
    try:
        return AutonomyLevel(named)
    except ValueError:
        accepted = ", ".join(AutonomyLevel)
        problem = Problem("autonomy", f"{named!r} is not a level; use one of {accepted}")
        raise Invalid([problem]) from None


def _project(wish: Wish) -> Project:
    """The project by name, whatever its case; a new name makes a new project."""
    name = check_project(wish.project or surroundings.project_name(wish.workspace))
    return Project.objects.get_or_create(
        name__iexact=name, defaults={"name": name, "workspace": str(wish.workspace)}
    )[0]


def _reference(chain: LoadedChain, workflow: str) -> str:
    """How a rerun finds the workflow again: a file by its full path, an id as it is."""
    return str(chain.path.resolve()) if chain.path and Path(workflow).suffix else workflow
