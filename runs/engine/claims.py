"""Who has a step: signed for, renewed, given back, taken away from whoever stopped reporting."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.db import transaction

from runs.domain.values.status import RunStatus
from runs.domain.workflow.plan import Unit
from runs.engine import recovery
from runs.engine.change import Change, lease_end, locked
from runs.models import Run, StepAttempt, clock
from runs.models.statements import Prepared, update


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A step that this worker, and nobody else, is to execute now."""

    run: Run
    attempt: StepAttempt
    unit: Unit
    since: float = 0.0  # when a worker here took it, on the monotonic clock, or a little before
    # By what the run is recognised as the one that was read then; nothing: it must be read again.
    known: Mapping[str, object] = field(default_factory=dict)
    new_events: "NewEvents | None" = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEvents:
    """The events that were written when a step was handed out, and the hash they follow."""

    after: str
    events: Sequence[dict[str, object]]


_SIGNED = Prepared(
    lambda run, worker: StepAttempt.objects.select_related("run__project").filter(
        run_id=run, status=StepAttempt.Status.RUNNING, worker=worker
    ),
    *(-1, "a worker"),
)


def claim(run_pk: int, worker: str) -> Claim | None:
    """Take the step a run stands at, unless somebody has it or the run is parked."""
    since = time.monotonic()
    if not _sign_for(run_pk, worker) and not (bring_back(run_pk) and _sign_for(run_pk, worker)):
        return None
    return held_by(worker, run_pk, since=since)


def held_by(worker: str, run_pk: int, *, since: float) -> Claim | None:
    """The step of a run that this worker has; None when it was cancelled in the same moment."""
    attempt = _SIGNED.first(run_pk, worker)
    if attempt is None or not holds_plan(attempt):
        return None
    return claimed(attempt.run, attempt, worker, since)


def _sign_for(run_pk: int, worker: str) -> bool:
    """One conditional update decides who gets a step that was handed out.

    It does not wait for the disk: whatever a step can do begins behind a write that does, of the
    package that it is told.
    """
    now = clock.noted()
    waiting = {"run": run_pk, "status": StepAttempt.Status.QUEUED, "is_remote": False}
    taken = {
        "status": StepAttempt.Status.RUNNING,
        "worker": worker,
        "started_at": now,
        "lease_until": lease_end(now),
    }
    return bool(update(StepAttempt, waiting, taken, waits=False))


def holds_plan(attempt: StepAttempt) -> bool:
    """Whether a step that was taken is of the plan that was frozen; if not, its run fails."""
    if attempt.run.has_its_plan:
        return True
    with transaction.atomic():
        change = Change(locked(attempt.run_id))
        if change.run.attempts.filter(pk=attempt.pk, status__in=StepAttempt.OPEN).exists():
            change.refuse_plan()
            change.write()
    return False


def is_settled(held: Claim) -> bool:
    """Whether the step is finished by whoever holds this claim; its commit may have been unseen."""
    finished = {"status": StepAttempt.Status.FINISHED, "worker": held.attempt.worker}
    return StepAttempt.objects.filter(pk=held.attempt.pk, **finished).exists()


def bring_back(run_pk: int, *, seen: datetime | None = None) -> bool:
    """Take a step whose holder gave it up, or was `seen` not to renew its lease, from the holder.

    It is handed out again, if it may be.
    """
    with transaction.atomic():
        run = locked(run_pk)
        attempt = run.attempts.filter(status=StepAttempt.Status.RUNNING).first()
        change = Change(run)
        if attempt is None or not recovery.is_free(attempt, now=change.now, seen=seen):
            return False
        again = None
        if run.has_its_plan:
            again = recovery.take_over(change, attempt)
        else:
            change.refuse_plan()
        change.write()
    return again is not None


def keep(attempt_pk: int, worker: str) -> bool:
    """Renew a lease; False when the step is no longer ours."""
    held = StepAttempt.objects.filter(
        pk=attempt_pk, worker=worker, status=StepAttempt.Status.RUNNING
    )
    return bool(held.update(lease_until=lease_end(clock.noted())))


def claimed(
    run: Run,
    attempt: StepAttempt | None,
    worker: str,
    since: float,
    new_events: NewEvents | None = None,
) -> Claim | None:
    if attempt is None or not worker or attempt.status != StepAttempt.Status.RUNNING:
        return None
    if run.state is not RunStatus.IN_PROGRESS:  # the run failed while this was being written
        return None
    unit = run.frozen_plan.units[attempt.position]
    return Claim(
        run=run,
        attempt=attempt,
        unit=unit,
        since=since,
        known=_marks_of(run),
        new_events=new_events,
    )


def _marks_of(run: Run) -> Mapping[str, object]:
    """What differs as soon as anybody has changed the run, its history or its plan."""
    return {
        "id": run.pk,
        "head_code": run.head_code,
        "updated_at": run.updated_at,
        "plan": run.plan,
    }
