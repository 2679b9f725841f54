"""Brings back the runs that nobody has: their worker died, their job or their turn was lost."""

import logging

from runs import engine
from runs.engine import recovery, turns
from runs.workspaces import worktrees

logger = logging.getLogger(__name__)


def sweep() -> None:
    for run_pk in recovery.find_lost():
        try:
            engine.bring_back(run_pk)
        except Exception:  # one run with broken rows must not keep the others waiting
            logger.exception("could not bring back run %s", run_pk)
    recovery.requeue_stranded()
    turns.catch_up()
    worktrees.catch_up()
