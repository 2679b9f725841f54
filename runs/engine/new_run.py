"""What a run is started with, and the row that is made of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID, uuid4

from runs.chain import entries
from runs.domain.planning import gates, titles
from runs.domain.values.actors import Actor
from runs.domain.values.errors import Invalid, Problem
from runs.domain.values.ids import check_work_id, make_run_id
from runs.domain.values.questions import Question
from runs.domain.values.status import RunStatus
from runs.domain.workflow import commands
from runs.domain.workflow.plan import Plan, Unit
from runs.engine import concealing
from runs.engine.forking.values import Fork
from runs.models import Batch, Project, Run, places
from runs.workspaces import names

# Where a value was given that goes by another name in a workflow.
_PLACES = {
    "work_id": "work_id",
    "target": "target",
    "additional_instructions": "prompt",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Worktree:
    """Asked for when a run starts, made before its first step."""

    inside: str = ""  # the workspace, as a folder of its repository


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """Everything a run is started with; nothing of it changes afterwards."""

    plan: Plan
    project: Project
    workspace: Path
    actor: Actor
    workflow_ref: str = ""
    work_id: str = ""
    target: str = ""
    prompt: str = ""
    inputs: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, object] = field(default_factory=dict)
    gates_left_out: tuple[str, ...] = ()  # of the workflow's, by whoever started it
    worktree: Worktree | None = None  # else the steps are executed in the workspace itself
    rerun_of: Run | None = None
    fork: Fork | None = None  # everything before a point is taken over
    changes: Mapping[str, object] = field(default_factory=dict)
    batch: Batch | None = None


def check_values(
    plan: Plan, *, work_id: str, target: str, prompt: str, inputs: Mapping[str, str]
) -> None:
    """Refuse a value that a command of the plan would take for an option, before anything runs."""
    check_work_id(work_id)
    given = {"work_id": work_id, "target": target, "additional_instructions": prompt}
    known = {**inputs, **{name: value for name, value in given.items() if value}}
    problems = dict.fromkeys(
        Problem(_PLACES.get(name, f"inputs.{name}"), f"{why} ({unit.key})")
        for unit in plan.units
        for words in unit.step.commands
        for name, why in commands.refused(words, known)
    )
    if problems:
        raise Invalid(list(problems))


def new_run(order: Start) -> Run:
    """The row, not written yet; that it was started is on record with it."""
    uuid: UUID = uuid4()
    run_id = make_run_id(order.project.name, uuid)
    run = Run(
        uuid=uuid,
        run_id=run_id,
        project=order.project,
        batch=order.batch,
        work_id=order.work_id,
        target=order.target,
        own_title=titles.cleaned(order.target, concealing.concealed),
        workflow_id=order.plan.workflow_id,
        workflow_ref=order.workflow_ref,
        autonomy=order.plan.autonomy.level.value,
        **_placed(order, run_id, uuid),
        prompt=order.prompt,
        inputs=dict(order.inputs),
        phases=[phase.name.value for phase in order.plan.phases if not phase.left_out],
        plan=order.plan.dump(),
        plan_hash=order.plan.digest,
        status=RunStatus.PENDING.value,
        started_by=order.actor.name,
        started_by_user_id=order.actor.user_id,
        started_by_account=order.actor.account,
        started_by_token=order.actor.token,
        environment=dict(order.environment),
        rerun_of=order.rerun_of,
        **_forked(order),
    )
    entries.run_started(run, order.actor)
    return run


def _forked(order: Start) -> dict[str, str]:
    """A worktree that begins later than its base branch is still compared with that."""
    fork = order.fork
    if fork is None:
        return {}
    base = fork.original.base_commit if fork.commit else ""
    return {"forked_at": fork.key, "fork_commit": fork.commit, "base_commit": base}


def _placed(order: Start, run_id: str, uuid: UUID) -> dict[str, object]:
    """Where the run works; in a worktree on a branch of its own, which a step may replace."""
    workspace = places.stored(order.workspace)
    if order.worktree is None:
        return {"workspace": workspace}
    branch = names.branch_name(order.work_id, order.plan.workflow_id, uuid)
    return {
        "workspace": names.place(run_id, order.worktree.inside),
        "worktree_of": workspace,
        "artifacts": {"branch_name": branch},
    }


def known_to(
    run: Run, unit: Unit, attempt: int, made: Mapping[str, object] | None = None
) -> dict[str, object]:
    """The names that placeholders of a step may use; `made` is what steps made before it."""
    return {
        **run.inputs,
        **(run.artifacts if made is None else made),
        "run_id": run.run_id,
        "work_id": run.work_id or None,
        "target": run.target or None,
        "project": run.project.name,
        "workflow_id": run.workflow_id,
        "workspace": str(run.folder),
        "phase": unit.phase.value,
        "step": unit.step.id,
        "attempt": attempt,
        "additional_instructions": run.prompt or None,
    }


def filled(question: Question, run: Run, unit: Unit, attempt: int = 1) -> Question:
    """A question that the workflow words, with what the run knows by now."""
    if not question.is_template:
        return question
    return concealing.asked(gates.filled(question, known_to(run, unit, attempt)))


def start_facts(run: Run, order: Start) -> dict[str, object]:
    """What the history says of its start."""
    facts: dict[str, object] = {
        "work_id": run.work_id,
        "target": run.target,
        "workflow_id": run.workflow_id,
        "autonomy": run.autonomy,
        "phases": run.phases,
        "plan_hash": run.plan_hash,
        "triggered_by": order.actor.describe(),
    }
    if order.plan.budget:
        facts["budget"] = order.plan.budget.model_dump(exclude_none=True)
    if order.fork:
        facts |= order.fork.facts
    if order.gates_left_out:
        facts["gates_left_out"] = list(order.gates_left_out)
    return facts
