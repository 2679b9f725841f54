"""What the worker runs."""

import logging

from runs import engine
from runs.engine import recovery, turns
from runs.jobs import heartbeat
from runs.ports import asker
from runs.worker import advance
from runs.workspaces import worktrees

logger = logging.getLogger(__name__)


def advance_run(run_pk: int) -> None:
    """Go on with a run until it parks."""
    advance.drive(engine.claim(run_pk, advance.worker_name()))


def give_turns(project_pk: int) -> None:
    """A run of the project has stopped: another may begin."""
    turns.give(project_pk)


def tidy_worktree(run_pk: int) -> None:
    """A run has completed: its worktree is not needed any more."""
    worktrees.tidy(run_pk)


def sweep() -> None:
    """Bring back what should be running and is not."""
    for run_pk in recovery.find_lost():
        try:
            engine.bring_back(run_pk)
        except Exception:  # one run with broken rows must not keep the others waiting
            logger.exception("could not bring back run %s", run_pk)
    recovery.requeue_stranded()
    turns.catch_up()
    worktrees.catch_up()
    asker().catch_up()


def beat() -> None:
    heartbeat.record()
