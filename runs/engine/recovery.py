"""Brings back the steps that dead workers held and the runs that nobody has."""

from datetime import timedelta

from django.utils import timezone

from runs.domain.planning import gates, planner
from runs.domain.planning.planner import Decision
from runs.domain.responses import results
from runs.engine import outcomes
from runs.engine.change import Change
from runs.jobs import queue
from runs.jobs.table import Job
from runs.models import StepAttempt

CRASHED = "its worker stopped reporting"
STOPPED = "its worker was stopped"
# A step whose worker died is executed again by itself this often; then a person is asked.
MOST_CRASHES = 2
# How long a decided step may wait for a worker before its job counts as lost.
QUEUE_PATIENCE = timedelta(seconds=5)


def take_over(change: Change, lost: StepAttempt) -> StepAttempt | None:
    """Another attempt at a dead worker's step, or a question when it died too often."""
    unit = change.plan.units[lost.position]
    lost.status = StepAttempt.Status.LOST
    lost.finished_at = change.now
    lost.reason = STOPPED if lost.reason == STOPPED else CRASHED
    broken = results.failure(
        f"{lost.key} was not finished: {lost.reason}.",
        errors=(f"Attempt {lost.number} of {lost.key} ended without a result: {lost.reason}.",),
        details={"output_tail": lost.progress} if lost.progress else None,
    )
    lost.result, lost.response = broken.status.value, results.to_json(broken)
    lost.save(update_fields=["status", "finished_at", "reason", "result", "response"])
    outcomes.tell_end(change, lost, unit, broken)
    if lost.reason == STOPPED or (unit.step.on_crash == "retry" and _crashes(lost) <= MOST_CRASHES):
        return change.again(lost, f"attempt {lost.number}: {lost.reason}")
    change.last = lost
    question = gates.on_failure(change.plan, lost.position, broken)
    return change.apply(Decision(move=planner.Ask(lost.position, question)))


def release(worker_prefix: str) -> int:
    """Give back what a worker that is about to be ended holds, without counting a crash."""
    held = StepAttempt.objects.filter(
        status=StepAttempt.Status.RUNNING, worker__startswith=worker_prefix
    )
    return held.update(lease_until=timezone.now(), reason=STOPPED)


def find_lost(most: int = 100) -> list[int]:
    """Runs whose step is held by a worker that stopped reporting."""
    lost = StepAttempt.objects.filter(
        status=StepAttempt.Status.RUNNING, is_remote=False, lease_until__lt=timezone.now()
    )
    return list(lost.values_list("run_id", flat=True)[:most])


def requeue_stranded(most: int = 100) -> int:
    """Queue the runs again whose step waits for a worker while its job is gone."""
    now = timezone.now()
    # Jobs are taken in order: a step that is older than the oldest waiting job has lost its own.
    before = min(now, queue.waiting_since() or now) - QUEUE_PATIENCE
    stranded = list(
        StepAttempt.objects.filter(
            status=StepAttempt.Status.QUEUED, is_remote=False, queued_at__lt=before
        ).values_list("pk", "run_id")[:most]
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
