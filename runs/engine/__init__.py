"""Every change of a run: started, claimed, settled, resumed, cancelled; executing is `worker`'s."""

from runs.engine.claims import (
    Claim,
    NewEvents,
    bring_back,
    claim,
    held_by,
    holds_plan,
    is_settled,
    keep,
)
from runs.engine.lifecycle import (
    Brief,
    Settlement,
    begin,
    cancel,
    put_on_record,
    record,
    resume,
    resume_stopped,
    settle,
    settlement,
    start,
)
from runs.engine.new_run import Start, Worktree

__all__ = [
    "Brief",
    "Claim",
    "NewEvents",
    "Settlement",
    "Start",
    "Worktree",
    "begin",
    "bring_back",
    "cancel",
    "claim",
    "held_by",
    "holds_plan",
    "is_settled",
    "keep",
    "put_on_record",
    "record",
    "resume",
    "resume_stopped",
    "settle",
    "settlement",
    "start",
]
