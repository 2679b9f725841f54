"""Turns a wish to run a workflow into a run: finds the files, makes the plan, starts."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from django.utils.module_loading import import_string

from runs import engine
from runs.accounts import membership, permissions, users
from runs.domain.planning.bypass import Bypass, bypass_of
from runs.domain.values.actors import Actor
from runs.domain.values.errors import Invalid, NotAllowed, NotFound, Problem, Refused
from runs.domain.values.ids import check_project, check_work_id
from runs.domain.workflow import reviewers
from runs.domain.workflow.definition import AutonomyLevel, Budget
from runs.domain.workflow.merge import InvalidPlan, make_plan
from runs.domain.workflow.plan import Plan
from runs.domain.workflow.problems import Notes
from runs.domain.workflow.selection import in_order
from runs.engine import Claim, new_run, turns
from runs.engine.forking import taking
from runs.models import Project, Run, owners_of, places
from runs.workflow_files import library
from runs.workflow_files.library import BUNDLED, LoadedChain
from runs.workspaces import git, worktrees

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
    budget: Budget | None = None


def start(wish: Wish, actor: Actor, *, worker: str = "") -> tuple[Run, Claim | None]:
    return turns.start(prepare(wish, actor), worker=worker)


def prepare(wish: Wish, actor: Actor) -> engine.Start:
    """All that a run is started with, read and checked; no run is made yet."""
    workspace = wish.workspace.resolve()
    if not workspace.is_dir():
        raise Invalid([Problem("workspace", f"{workspace} is not a folder")])
    try:
        chain = library.load_chain(wish.workflow, workspace=workspace)
    except Invalid as error:
        raise all_that_is_wrong(error, wish) from None
    wish = replace(wish, workspace=workspace)
    wish = replace(wish, project=_project_name(chain, wish, actor))
    permissions.check_may_start(actor, project_seen(wish.project, actor))
    plan, bypass = _plan(chain, wish, actor)
    new_run.check_values(
        plan, work_id=wish.work_id, target=wish.target, prompt=wish.prompt, inputs=wish.inputs
    )
    placed = _placed(chain, wish)
    if placed.project != wish.project:  # a workflow that brings its workspace names it too
        permissions.check_may_start(actor, project_seen(placed.project, actor))
    # Before the project, which is made when nobody knows it: what is refused leaves nothing.
    worktree = _worktree(plan, placed, is_own=placed.workspace != workspace)
    return engine.Start(
        plan=plan,
        project=_project(placed),
        workspace=placed.workspace,
        worktree=worktree,
        workflow_ref=_reference(chain, wish.workflow),
        work_id=wish.work_id,
        target=wish.target,
        prompt=wish.prompt,
        inputs=placed.inputs,
        environment=git.environment(placed.workspace),
        actor=actor,
        gates_left_out=bypass.gates,
    )


class NoSuchProject(NotFound):
    """There is no such project, or not for you."""


def project_seen(name: str, actor: Actor) -> Project | None:
    """The project of this name, None while nobody has made it; another's does not exist."""
    project = Project.objects.filter(name__iexact=name).first()
    if (project is None and actor.projects is not None) or (
        project and not membership.sees(actor, project)
    ):
        raise NoSuchProject(f"There is no project {name!r}.")
    return project


def rerun(
    original: Run,
    actor: Actor,
    *,
    autonomy: str = "",
    phases: tuple[str, ...] = (),
    from_step: str = "",
    worker: str = "",
) -> tuple[Run, Claim | None]:
    """A new run with the same parameters, on a plan made anew from the workflow as it is now.

    From a step it takes over what the original did before; a gate there counts as decided only
    where the run begins with the very commit that the original had.
    """
    permissions.check_may_steer(actor, original)
    workspace = original.home
    if not workspace.is_dir():
        raise Refused(f"The workspace {workspace} of that run no longer exists.")
    wish = Wish(
        workflow=_found_again(original.workflow_ref),
        workspace=workspace,
        project=original.project.name,
        autonomy=autonomy or original.autonomy,
        phases=phases or tuple(original.phases),
        inputs=original.inputs,
    )
    chain = library.load_chain(wish.workflow, workspace=workspace)
    plan, bypass = _plan(chain, wish, actor)
    placed = _placed(chain, wish)
    worktree = _worktree(plan, placed, is_own=placed.workspace != workspace)
    fork = (
        taking.fork_of(original, plan, from_step, in_worktree=worktree is not None)
        if from_step
        else None
    )
    if fork and fork.left_out and not permissions.may_operate(actor, original.project):
        raise _for_operators(Bypass(gates=tuple(fork.left_out)))
    changes = {"autonomy": autonomy, "phases": list(phases), "from": from_step}
    order = engine.Start(
        plan=plan,
        project=original.project,
        workspace=placed.workspace,
        worktree=worktree,
        workflow_ref=original.workflow_ref,
        work_id=original.work_id,
        target=original.target,
        prompt=original.prompt,
        inputs=placed.inputs,
        environment=git.environment(placed.workspace),
        actor=actor,
        gates_left_out=(*bypass.gates, *(fork.left_out if fork else ())),
        rerun_of=original,
        fork=fork,
        changes={key: value for key, value in changes.items() if value},
    )
    return turns.start(order, worker=worker)


def brings_workspace(workflow: str) -> bool:
    """Whether this bundled workflow makes the folder it works in by itself."""
    return any(path.stem == workflow for path in _OWN_WORKSPACE)


def load_for_issue(workflow: str, folder: Path | None) -> LoadedChain:
    """A workflow that an issue may start: by its id alone, and to work in the project's folder."""
    known = [name for name in library.known_workflows(folder) if not brings_workspace(name)]
    if workflow not in known:
        available = ", ".join(known)
        raise NotFound(f"There is no workflow {workflow} here. Available: {available}.")
    return library.load_chain(workflow, workspace=folder)


def unknown_reviewers(plan: Plan) -> list[Problem]:
    """Where a plan leaves a decision to somebody whom this site does not know."""
    return list(reviewers.problems_in(plan, users.people())) if reviewers.named(plan) else []


def _plan(chain: LoadedChain, wish: Wish, actor: Actor) -> tuple[Plan, Bypass]:
    """The plan as it was wished for, and what of the workflow's gates it leaves out."""
    wrong = _wrong_values(wish)
    try:
        chosen = make_plan(
            chain.workflows,
            autonomy=None if wrong else _autonomy(wish.autonomy),
            phases=wish.phases,
            step=wish.step,
            budget=wish.budget,
        ).plan
    except InvalidPlan as error:
        raise all_that_is_wrong(error, wish) from None
    bypass = bypass_of(make_plan(chain.workflows).plan, chosen)
    project = Project.objects.filter(name__iexact=wish.project).first()
    if bypass and not permissions.may_operate(actor, project):
        raise _for_operators(bypass)
    if wrong := [*wrong, *unknown_reviewers(chosen), *_unknown_to(project)]:
        raise Invalid(wrong)
    return chosen, bypass


def all_that_is_wrong(found: Invalid, wish: Wish) -> Invalid:
    """The problems of a workflow, with those of a start that can be told without a plan of it."""
    phases = Notes()
    in_order(wish.phases, phases)
    plan = _plan_in(found)
    unknown = unknown_reviewers(plan) if plan else []
    return Invalid(
        dict.fromkeys([*found.problems, *_wrong_values(wish), *phases.problems, *unknown])
    )


def _plan_in(found: Invalid) -> Plan | None:
    """The plan as far as it could be made."""
    if isinstance(found, InvalidPlan):
        return found.made.plan
    if not (isinstance(found, library.InvalidChain) and found.chain):
        return None
    try:
        return make_plan(found.chain.workflows).plan
    except InvalidPlan as error:
        return error.made.plan


def _wrong_values(wish: Wish) -> list[Problem]:
    wrong: list[Problem] = []
    for check in (lambda: _autonomy(wish.autonomy), lambda: check_work_id(wish.work_id)):
        try:
            check()
        except Invalid as error:
            wrong += error.problems
    return wrong


def _for_operators(bypass: Bypass) -> NotAllowed:
    gates = bypass.gates or bypass.governed
    details = {"gates": list(gates)} if gates else {}
    return NotAllowed(f"This start {bypass}. Only operators can do that.", **details)


def _unknown_to(project: Project | None) -> list[Problem]:
    if project is None or not (project.reviewers or project.escalate_to):
        return []
    people = users.people()
    return [
        *reviewers.problems_of_project(project.reviewers, people),
        *reviewers.problems_of_project(project.escalate_to, people, "escalate_to"),
    ]


def _project_name(chain: LoadedChain, wish: Wish, actor: Actor) -> str:
    """The project a run counts for: a folder that belongs to one is used under its name only."""
    if _brings_own(chain):
        return wish.project
    owners = [project.name for project in owners_of(wish.workspace)]
    if not wish.project:
        return owners[0] if owners else check_project(git.project_name(wish.workspace))
    named = check_project(wish.project)
    is_theirs = named.casefold() in {owner.casefold() for owner in owners}
    if owners and not is_theirs and not permissions.may_operate(actor):
        raise NotAllowed(
            f"{wish.workspace} belongs to {owners[0]}. Only operators can use it elsewhere."
        )
    return named


def _brings_own(chain: LoadedChain) -> str:
    """Who makes the workspace of a workflow that brings its own; nobody for any other."""
    return _OWN_WORKSPACE.get(chain.path, "") if chain.path else ""


def _placed(chain: LoadedChain, wish: Wish) -> Wish:
    """The wish with the workspace its steps will find, and its project's name."""
    if maker := _brings_own(chain):
        bring: Callable[[Wish], Wish] = import_string(maker)
        wish = bring(wish)
    named = wish.project or git.project_name(wish.workspace)
    return replace(wish, project=check_project(named))


def _autonomy(named: str) -> AutonomyLevel | None:
    if not named:
        return None
    try:
        return AutonomyLevel(named)
    except ValueError:
        accepted = ", ".join(AutonomyLevel)
        problem = Problem("autonomy", f"{named!r} is not an autonomy level. Use one of {accepted}")
        raise Invalid([problem]) from None


def _project(wish: Wish) -> Project:
    """The project by name, whatever its case; a new name makes a new project."""
    return Project.objects.get_or_create(
        name__iexact=wish.project,
        defaults={"name": wish.project, "workspace": places.stored(wish.workspace)},
    )[0]


def _worktree(plan: Plan, wish: Wish, *, is_own: bool) -> engine.Worktree | None:
    """Whether the run gets a worktree of its own; raises when it should and cannot."""
    if is_own or plan.worktree is False:
        return None  # a workspace that was made for this run is its own already
    known = Project.objects.filter(name__iexact=wish.project).first()
    if not (plan.worktree or (known and known.worktree)):
        return None
    inside = worktrees.check(wish.workspace, known.base_branch if known else "")
    return engine.Worktree(inside=inside)


def _reference(chain: LoadedChain, workflow: str) -> str:
    """How a rerun finds the workflow again: a file by its full path, an id as it is."""
    if chain.path is None or not Path(workflow).suffix:
        return workflow
    return places.stored(chain.path.resolve())


def _found_again(reference: str) -> str:
    return str(places.found(reference)) if Path(reference).suffix else reference
