"""Brings back the steps that dead workers held and the runs that nobody has."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Q

from runs.domain.planning import gates, planner
from runs.domain.planning.planner import Decision
from runs.domain.responses import results
from runs.engine import outcomes
from runs.engine.change import Change
from runs.jobs import queue
from runs.jobs.table import Job
from runs.models import StepAttempt, clock, live_output

CRASHED = "its worker stopped reporting"
STOPPED = "its worker was stopped"
CUT_OFF = "its worker could not reach the database in time"
# Whoever writes one of these does nothing for the step any more, and did not crash.
GIVEN_BACK = (STOPPED, CUT_OFF)
# A step whose worker died is executed again by itself this often; then a person is asked.
MOST_CRASHES = 2
# How long a decided step may wait for a worker before its job counts as lost.
QUEUE_PATIENCE = timedelta(seconds=5)


def take_over(change: Change, lost: StepAttempt) -> StepAttempt | None:
    """Another attempt at a dead worker's step, or a question when it died too often."""
    unit = change.plan.units[lost.position]
    lost.status = StepAttempt.Status.LOST
    lost.finished_at = change.now
    lost.reason = lost.reason if lost.reason in GIVEN_BACK else CRASHED
    printed = live_output.tail(lost)
    broken = results.failure(
        f"{lost.key} was not finished: {lost.reason}.",
        errors=(f"Attempt {lost.number} of {lost.key} ended without a result: {lost.reason}.",),
        details={"output_tail": printed} if printed else None,
    )
    lost.result, lost.response = broken.status.value, results.to_json(broken)
    lost.save(update_fields=["status", "finished_at", "reason", "result", "response"])
    live_output.clear(lost)
    outcomes.tell_end(change, lost, unit, broken)
    if lost.reason in GIVEN_BACK or (
        unit.step.on_crash == "retry" and _crashes(lost) <= MOST_CRASHES
    ):
        return change.again(lost, f"attempt {lost.number}: {lost.reason}")
    change.last = lost
    question = gates.on_failure(change.plan, lost.position, broken)
    return change.apply(Decision(move=planner.Ask(lost.position, question)))


def release(worker_prefix: str, reason: str = STOPPED) -> int:
    """Give back what a worker holds that does nothing for it any more: that is no crash."""
    held = StepAttempt.objects.filter(
        status=StepAttempt.Status.RUNNING, worker__startswith=worker_prefix
    )
    return held.update(lease_until=clock.now(), reason=reason)


def has_steps(worker_prefix: str) -> bool:
    """Whether such a worker executes a step."""
    held = StepAttempt.objects.filter(
        status=StepAttempt.Status.RUNNING, worker__startswith=worker_prefix
    )
    return held.filter(lease_until__gt=clock.now()).exists()


@dataclass(frozen=True, slots=True, kw_only=True)
class Overdue:
    """A step whose lease ran out; a later look tells whether its holder renewed it after all."""

    run_pk: int
    lease_until: datetime
    is_given_back: bool


def find_overdue(run_pk: int | None = None, most: int = 100) -> list[Overdue]:
    """Steps whose lease ran out, or ends later than any lease can: then the clock was set back."""
    now = clock.now()
    too_late = now + 2 * timedelta(seconds=settings.FABER_LEASE_SECONDS)
    over = StepAttempt.objects.filter(
        Q(lease_until__lt=now) | Q(lease_until__gt=too_late),
        status=StepAttempt.Status.RUNNING,
        is_remote=False,
    )
    if run_pk is not None:
        over = over.filter(run_id=run_pk)
    found = over.values_list("run_id", "lease_until", "reason")[:most]
    return [
        Overdue(run_pk=run, lease_until=until, is_given_back=reason in GIVEN_BACK)
        for run, until, reason in found
        if until
    ]


def is_free(attempt: StepAttempt, *, now: datetime, seen: datetime | None) -> bool:
    """Whether a step that somebody holds may be taken away."""
    if seen is not None:
        return attempt.lease_until == seen
    # Nobody renews the lease of an executor outside while it works, so its end is the end.
    is_given_back = attempt.is_remote or attempt.reason in GIVEN_BACK
    return is_given_back and attempt.lease_until is not None and attempt.lease_until <= now


def requeue_stranded(most: int = 100) -> int:
    """Queue the runs again whose step waits for a worker while its job is gone."""
    now = clock.now()
    before = queue.lost_before(Job.ADVANCE_RUN, now, QUEUE_PATIENCE)
    # Where the clock was set back, a job waits for the moment it was queued at to come again.
    is_stranded = Q(queued_at__lt=before) | Q(queued_at__gt=now + QUEUE_PATIENCE)
    stranded = list(
        StepAttempt.objects.filter(is_stranded, status=StepAttempt.Status.QUEUED, is_remote=False)
        # Those wait for workers of their own machine, which are busy.
        .exclude(host__in=queue.hosts_with_jobs())
        .values_list("pk", "run_id")[:most]
    )
    for attempt_pk, run_pk in stranded:
        # From now on it waits for this job, so that the next sweep does not queue another.
        StepAttempt.objects.filter(pk=attempt_pk).update(queued_at=now)
        queue.enqueue(Job.ADVANCE_RUN, run_pk)
    return len(stranded)


def _crashes(lost: StepAttempt) -> int:
    """How often in a row this step's worker died."""
    attempts = StepAttempt.objects.filter(run_id=lost.run_id, position=lost.position)
    in_a_row = 0
    for status, reason in attempts.order_by("-id").values_list("status", "reason"):
        if status != StepAttempt.Status.LOST:
            break
        in_a_row += reason == CRASHED
    return in_a_row
