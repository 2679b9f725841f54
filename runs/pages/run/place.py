"""Where a run works: in whose company, in which worktree, and whom it waits for."""

from collections.abc import Sequence
from dataclasses import dataclass

from runs.accounts import permissions
from runs.domain.values.actors import Actor
from runs.engine import neighbours, turns
from runs.engine.turns import Wait
from runs.models import Run
from runs.workspaces import worktrees


@dataclass(frozen=True, slots=True, kw_only=True)
class Whereabouts:
    wait: Wait | None
    others: Sequence[Run]  # unfinished, in the same folder
    branch: str  # of its own worktree, if it has one
    has_worktree: bool  # now, on this machine
    may_remove: bool


def of(run: Run, actor: Actor) -> Whereabouts:
    has_worktree = worktrees.is_there(run)
    return Whereabouts(
        wait=turns.wait_of(run),
        others=neighbours.of(run),
        branch=worktrees.branch_of(run) if run.worktree_of else "",
        has_worktree=has_worktree,
        may_remove=has_worktree and run.state.is_final and permissions.may_operate(actor),
    )
