"""Starts many runs together, of which some wait for their turn; each then goes its own way."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from runs import engine
from runs.accounts import membership
from runs.domain.planning import batch as rules
from runs.domain.values.actors import Actor
from runs.domain.values.errors import Invalid, NotFound, Problem
from runs.domain.values.ids import check_work_id
from runs.engine import starting, turns
from runs.engine.starting import Wish
from runs.models import Batch

AT_ONCE = rules.AT_ONCE


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchWish:
    """What somebody asks for: one wish for all, and what makes each run its own."""

    wish: Wish
    work_ids: Sequence[str] = ()
    targets: Sequence[str] = ()  # instead of work ids, where there are none
    concurrency: int = AT_ONCE
    issue: str = ""  # where the whole group is told about


def start(wanted: BatchWish, actor: Actor) -> Batch:
    """Start all of it or nothing; those above the limit wait for their turn."""
    wishes = _wishes(wanted)
    at_once = rules.check_concurrency(wanted.concurrency)
    issue = check_work_id(wanted.issue.removeprefix("#"))
    # Files and git are read before the transaction.
    orders = _orders(wishes, actor)
    with transaction.atomic():
        batch = Batch.objects.create(
            batch_id=make_batch_id(),
            project=orders[0].project,
            workflow_id=orders[0].plan.workflow_id,
            concurrency=at_once,
            issue=issue,
            started_by=actor.name,
            started_by_user_id=actor.user_id,
        )
        for number, order in enumerate(orders):
            turns.start(replace(order, batch=batch), waits=number >= at_once)
    return batch


def make_batch_id() -> str:
    return f"coord-{timezone.now():%Y%m%d}-{os.urandom(3).hex()}"


def find(batch_id: str, *, seen_by: Actor | None) -> Batch:
    """Nobody in `seen_by` is the site itself, for which every project exists."""
    found = Batch.objects.select_related("project").filter(batch_id=batch_id.strip()).first()
    if found is None or (seen_by and not membership.sees(seen_by, found.project)):
        raise NotFound(f"There is no batch {batch_id!r}.")
    return found


def batch_url(batch: Batch) -> str:
    return f"{settings.FABER_BASE_URL}/batches/{batch.batch_id}/"


def _wishes(wanted: BatchWish) -> list[Wish]:
    ids, targets = tuple(wanted.work_ids), tuple(wanted.targets)
    if ids and len(targets) > 1:
        raise Invalid([Problem("targets", "give several work ids or several targets, not both")])
    if ids:
        rules.check_distinct(ids)
        if wrong := [problem for work_id in ids for problem in _wrong(work_id)]:
            raise Invalid(wrong)
        target = targets[0] if targets else wanted.wish.target
        return [replace(wanted.wish, work_id=work_id, target=target) for work_id in ids]
    rules.check_distinct(targets, "targets" if targets else "work_ids")
    return [replace(wanted.wish, target=target) for target in targets]


def _wrong(work_id: str) -> list[Problem]:
    try:
        check_work_id(work_id)
    except Invalid as error:
        return [Problem("work_ids", each.message) for each in error.problems]
    return []


def _orders(wishes: Sequence[Wish], actor: Actor) -> list[engine.Start]:
    first = starting.prepare(wishes[0], actor)
    if first.workspace != wishes[0].workspace.resolve():
        # The workflow brings a workspace of its own, one for each run.
        return [first, *(starting.prepare(wish, actor) for wish in wishes[1:])]
    return [replace(first, work_id=wish.work_id, target=wish.target) for wish in wishes]
