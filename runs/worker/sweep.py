"""Brings back the runs that nobody has: their worker died, their job or their turn was lost."""

import logging

from runs import engine
from runs.engine import recovery, turns
from runs.executors import briefing_files
from runs.jobs import log_context
from runs.models.statements import OUT_OF_REACH
from runs.worker import settling
from runs.worker.lookout import Lookout
from runs.workspaces import worktrees

logger = logging.getLogger(__name__)


def sweep(lookout: Lookout) -> None:
    # First: a step whose result was kept need not be executed again.
    settling.settle_kept()
    for lost in lookout.lost():
        with log_context.busy_with_run():
            try:
                engine.bring_back(lost.run_pk, seen=lost.lease_until)
            except OUT_OF_REACH:
                raise
            except Exception:  # one run with broken rows must not keep the others waiting
                logger.exception("could not bring back run %s", lost.run_pk)
    recovery.requeue_stranded()
    turns.catch_up()
    worktrees.catch_up()
    briefing_files.remove_left()
