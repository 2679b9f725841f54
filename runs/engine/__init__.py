"""Every change of a run: started, claimed, settled, resumed, cancelled; executing is `worker`'s."""

from runs.engine.lifecycle import (
    Claim,
    begin,
    bring_back,
    cancel,
    claim,
    holds_plan,
    keep,
    record,
    resume,
    resume_stopped,
    settle,
    start,
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
    "record",
    "resume",
    "resume_stopped",
    "settle",
    "start",
]
