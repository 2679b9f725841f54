"""Every change of a run: started, claimed, settled, resumed, cancelled, and recovered."""

from runs.engine.lifecycle import (
    Claim,
    begin,
    bring_back,
    cancel,
    claim,
    holds_plan,
    keep,
    resume,
    resume_stopped,
    settle,
    start,
    tell,
)
from runs.engine.new_run import Start, Worktree

__all__ = [
    "Claim",
    "Start",
    "Worktree",
    "begin",
    "bring_back",
    "cancel",
    "claim",
    "holds_plan",
    "keep",
    "resume",
    "resume_stopped",
    "settle",
    "start",
    "tell",
]
