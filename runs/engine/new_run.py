"""What a run is started with, and the row that is made of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID, uuid4

from runs.domain.values.actors import Actor
from runs.domain.values.ids import make_run_id
from runs.domain.values.status import RunStatus
from runs.domain.workflow.plan import Plan
from runs.models import Batch, Project, Run, places
from runs.workspaces import names


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
    worktree: Worktree | None = None  # else the steps are executed in the workspace itself
    rerun_of: Run | None = None
    changes: Mapping[str, object] = field(default_factory=dict)
    batch: Batch | None = None


def new_run(order: Start) -> Run:
    uuid: UUID = uuid4()
    run_id = make_run_id(order.project.name, uuid)
    return Run.objects.create(
        uuid=uuid,
        run_id=run_id,
        project=order.project,
        batch=order.batch,
        work_id=order.work_id,
        target=order.target,
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
        environment=dict(order.environment),
        rerun_of=order.rerun_of,
    )


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


def start_facts(run: Run, order: Start) -> dict[str, object]:
    """What the history says of its start."""
    return {
        "work_id": run.work_id,
        "target": run.target,
        "workflow_id": run.workflow_id,
        "autonomy": run.autonomy,
        "phases": run.phases,
        "plan_hash": run.plan_hash,
        "triggered_by": order.actor.describe(),
    }
