"""Where a run works: in whose company, in which worktree, and whom it waits for."""

from collections.abc import Sequence
from dataclasses import dataclass

from runs.accounts import permissions
from runs.domain.values.actors import Actor
from runs.engine import turns
from runs.engine.turns import TurnWait
from runs.models import Run
from runs.workspaces import worktrees


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlace:
    wait: TurnWait | None
    others: Sequence[Run]  # unfinished, in the same folder
    branch: str  # of its own worktree, if it has one
    has_worktree: bool  # now, on this machine
    may_remove: bool


def place_of(run: Run, actor: Actor) -> RunPlace:
    has_worktree = worktrees.is_there(run)
    return RunPlace(
        wait=turns.wait_of(run),
        others=turns.neighbours(run),
        branch=worktrees.branch_of(run) if run.worktree_of else "",
        has_worktree=has_worktree,
        may_remove=has_worktree
        and run.state.is_final
        and permissions.may_operate(actor, run.project),
    )
