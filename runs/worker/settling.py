"""Puts results on record, for as long as that takes: a database may be gone for a while."""

import logging
import time
from collections.abc import Callable
from typing import TypeVar

from django.db import connection

from runs import engine
from runs.engine import Brief, Claim, Settlement, recovery
from runs.jobs import draining
from runs.models import StepAttempt
from runs.models.statements import OUT_OF_REACH
from runs.worker import spool

logger = logging.getLogger(__name__)

LONGEST_PAUSE = 2.0

T = TypeVar("T")


def settle(claim: Claim, settlement: Settlement, brief: Brief | None = None) -> Claim | None:
    """Finish a step, however often it takes; returns the next one when there is one."""
    tried = False

    def once() -> Claim | None:
        nonlocal tried
        since, was_tried, tried = time.monotonic(), tried, True
        if was_tried and engine.is_settled(claim):  # the answer to the commit was lost
            return engine.held_by(claim.attempt.worker, claim.run.pk, since=since)
        # Whoever is about to end leaves the next step to others, before it counts as begun.
        goes_on = not draining.is_asked()
        return engine.put_on_record(claim, settlement, goes_on=goes_on, brief=brief)

    with spool.kept(claim, settlement):
        return until_it_answers(once)


def give_back(worker: str) -> None:
    """Let others have at once what a worker has and will not do."""
    until_it_answers(lambda: recovery.release(worker, recovery.CUT_OFF))


def settle_kept() -> None:
    """Put on record what workers had done that died before they could."""
    spool.settle_left(_settle_kept)


def _settle_kept(kept: spool.SpooledResult) -> None:
    attempt = StepAttempt.objects.select_related("run__project").filter(pk=kept.attempt).first()
    if attempt is None:
        return
    # Whoever has the step by now has another name, and then this is a late result.
    attempt.worker = kept.worker
    unit = attempt.run.frozen_plan.units[attempt.position]
    held = Claim(run=attempt.run, attempt=attempt, unit=unit)
    if not engine.is_settled(held):
        engine.put_on_record(held, kept.settlement, goes_on=False)


def until_it_answers(ask: Callable[[], T]) -> T:
    """Ask the database again and again, on another connection each time, as long as it is gone."""
    told, pause = False, 0.0
    while True:
        try:
            return ask()
        except OUT_OF_REACH as error:
            if not told:
                logger.warning("the database cannot be used, trying again: %s", str(error).strip())
            connection.close()
        time.sleep(pause)
        told, pause = True, min(LONGEST_PAUSE, 2 * pause + 0.1)
