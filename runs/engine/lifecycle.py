"""The life of a run: started, claimed, settled, resumed, cancelled."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from django.db import transaction
from django.utils import timezone

from runs.accounts import permissions
from runs.domain.planning import divergence, event_texts, planner
from runs.domain.planning.planner import Decision
from runs.domain.responses import results
from runs.domain.responses.results import Result
from runs.domain.values.actors import Actor
from runs.domain.values.errors import Refused
from runs.domain.values.events import Entry
from runs.domain.values.phases import Phase
from runs.domain.values.questions import Action, Gate, Question
from runs.domain.values.status import RunStatus
from runs.domain.workflow.plan import Unit
from runs.engine import artifacts, new_run, outcomes, recovery
from runs.engine.change import PLAN_CHANGED, Change, lease_end
from runs.engine.new_run import Start
from runs.executors.orders import Outcome
from runs.jobs import queue
from runs.jobs.table import Job
from runs.models import Run, StepAttempt
from runs.models.statements import Prepared, update


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A step that this worker, and nobody else, is to execute now."""

    run: Run
    attempt: StepAttempt
    unit: Unit


def start(order: Start, *, worker: str = "", waits: bool = False) -> tuple[Run, Claim | None]:
    """Begin a run; with a worker its first step is claimed at once, else the queue gets it.

    A run that waits for its turn does nothing until `begin`.
    """
    with transaction.atomic():
        run = new_run.new_run(order)
        change = Change(run)
        change.worker = worker
        if order.rerun_of:
            change.record(event_texts.run_rerun(order.rerun_of.run_id, order.changes, order.actor))
        change.record(event_texts.run_started(new_run.start_facts(run, order), order.actor))
        attempt = None
        if not waits and change.holds_plan():
            attempt = change.apply(planner.begin(change.plan, change.facts))
        change.write()
    return run, _claimed(run, attempt, worker)


def begin(run_pk: int) -> bool:
    """Let a run go that waited for its turn; False when it does not wait any more."""
    with transaction.atomic():
        run = _locked(run_pk)
        if run.state is not RunStatus.PENDING:
            return False
        change = Change(run)
        if change.holds_plan():
            change.apply(planner.begin(change.plan, change.facts))
        change.write()
    return True


_SIGNED = Prepared(
    lambda run, worker: StepAttempt.objects.select_related("run__project").filter(
        run_id=run, status=StepAttempt.Status.RUNNING, worker=worker
    ),
    *(-1, "a worker"),
)


def claim(run_pk: int, worker: str) -> Claim | None:
    """Take the step a run stands at, unless somebody has it or the run is parked."""
    if not _sign_for(run_pk, worker) and not (bring_back(run_pk) and _sign_for(run_pk, worker)):
        return None
    # None when the run was cancelled in the same moment.
    attempt = _SIGNED.first(run_pk, worker)
    if attempt is None or not holds_plan(attempt):
        return None
    return _claimed(attempt.run, attempt, worker)


def _sign_for(run_pk: int, worker: str) -> bool:
    """One conditional update decides who gets a step that was handed out."""
    now = timezone.now()
    waiting = {"run": run_pk, "status": StepAttempt.Status.QUEUED, "is_remote": False}
    taken = {
        "status": StepAttempt.Status.RUNNING,
        "worker": worker,
        "started_at": now,
        "lease_until": lease_end(now),
    }
    return bool(update(StepAttempt, waiting, taken))


def holds_plan(attempt: StepAttempt) -> bool:
    """Whether a step that was taken is of the plan that was frozen; if not, its run fails."""
    if attempt.run.has_its_plan:
        return True
    with transaction.atomic():
        change = Change(_locked(attempt.run_id))
        if change.run.attempts.filter(pk=attempt.pk, status__in=StepAttempt.OPEN).exists():
            change.refuse_plan()
            change.write()
    return False


def settle(
    held: Claim,
    outcome: Outcome,
    found: tuple[artifacts.FoundFile, ...] = (),
    *,
    asks: Question | None = None,
) -> Claim | None:
    """Record what a step handed back and decide; returns the next step when there is one.

    An executor outside may ask a question of its own with it, which is put to people as it is.
    """
    outcome = _kept_to_plan(held, outcome)
    if outcome.divergences:
        found = ()
    with transaction.atomic():
        run, attempt = _locked(held.run.pk), held.attempt
        change = Change(run)
        # Who executes outside cannot go on here: the queue finds somebody.
        change.worker = "" if attempt.is_remote else attempt.worker
        if not outcomes.record(change, attempt, held.unit, outcome, found):
            return None
        following = None
        if change.holds_plan():
            change.failure_context = _carried_failure(change, attempt, held.unit, outcome)
            following = change.apply(_after(change, attempt, outcome, asks))
        run.warnings_total += len(outcome.result.warnings)
        change.write()
    return _claimed(run, following, attempt.worker)


def bring_back(run_pk: int) -> bool:
    """Take a step from a worker that stopped reporting and hand it out again, if it may be."""
    with transaction.atomic():
        run = _locked(run_pk)
        attempt = run.attempts.filter(status=StepAttempt.Status.RUNNING).first()
        change = Change(run)
        if attempt is None or attempt.lease_until is None or attempt.lease_until >= change.now:
            return False
        again = None
        if run.has_its_plan:
            again = recovery.take_over(change, attempt)
        else:
            change.refuse_plan()
        change.write()
    return again is not None


def keep(attempt_pk: int, worker: str, *, progress: str) -> bool:
    """Renew a lease and show what the step printed; False when the step is no longer ours."""
    held = StepAttempt.objects.filter(
        pk=attempt_pk, worker=worker, status=StepAttempt.Status.RUNNING
    )
    return bool(held.update(lease_until=lease_end(timezone.now()), progress=progress))


def resume(
    run: Run,
    *,
    after: StepAttempt | None,
    gate: Gate,
    action: Action,
    approved_gate: str,
    request_id: str,
    feedback: Mapping[str, object],
    events: Sequence[Entry],
) -> None:
    """Go on from an answer; the caller holds the run's lock and writes the answer with it."""
    change = Change(run)
    change.feedback = feedback
    change.record(*events)
    change.last = after
    if approved_gate and action is Action.CONTINUE:
        run.approvals = {**run.approvals, approved_gate: request_id}
    if change.holds_plan():
        result = _last_result(after)
        if result:
            change.failure_context = outcomes.failure_context(change, change.here, result)
        change.apply(
            planner.after_answer(change.plan, run.position, gate, action, result, change.facts)
        )
    change.write()


def record(run: Run, entries: Sequence[Entry]) -> None:
    """Add to a locked run's history what does not move it."""
    change = Change(run)
    change.record(*entries)
    change.write()


def resume_stopped(run_pk: int, actor: Actor) -> Run:
    """Send a failed run on from the exact step it stopped at."""
    with transaction.atomic():
        run = _locked(run_pk)
        permissions.check_may_steer(actor, run)
        if run.attempts.filter(status__in=StepAttempt.OPEN).exists():
            queue.enqueue(Job.ADVANCE_RUN, run.pk)  # a second job finds the step taken and ends
            return run
        if run.state is RunStatus.PENDING:
            queue.enqueue(Job.GIVE_TURNS, run.project_id)  # it begins if its turn has come
            return run
        if run.state not in (RunStatus.FAILED, RunStatus.IN_PROGRESS):
            raise Refused(f"The run is {run.state.label}; only a stopped run can be resumed.")
        if not run.has_its_plan:
            raise Refused(PLAN_CHANGED)
        change = Change(run)
        change.record(event_texts.run_resumed(run.unit, actor))
        if run.unit is None:
            change.apply(Decision(move=planner.Complete(run.position)))
        else:
            change.apply(planner.arrive(change.plan, run.position, change.facts, action="retry"))
        change.write()
    return run


def cancel(run_pk: int, *, reason: str, actor: Actor) -> Run:
    """End a run and whatever it asks."""
    with transaction.atomic():
        run = _locked(run_pk)
        permissions.check_may_steer(actor, run)
        if run.state.is_final:
            raise Refused(f"The run is already {run.state.label}.")
        change = Change(run)
        change.cancel(reason=reason, actor=actor)
        change.write()
    return run


def _locked(run_pk: int) -> Run:
    """The run's row, locked: taken before any lock on its request or attempt."""
    locked = Run.objects.select_for_update(of=("self",)).select_related("project")
    return locked.get(pk=run_pk)


def _claimed(run: Run, attempt: StepAttempt | None, worker: str) -> Claim | None:
    if attempt is None or not worker or attempt.status != StepAttempt.Status.RUNNING:
        return None
    return Claim(run=run, attempt=attempt, unit=run.frozen_plan.units[attempt.position])


def _kept_to_plan(held: Claim, outcome: Outcome) -> Outcome:
    """The outcome, or a failure in its place when the executor claims more than its step."""
    said = outcome.said or outcome.result
    claims = divergence.claims_in(said, held.run.frozen_plan, held.attempt.position)
    if not claims:
        return outcome
    refused = divergence.refusal(said, held.unit, claims)
    return replace(outcome, result=refused, divergences=tuple(map(str, claims)), evidence=())


def _after(
    change: Change, attempt: StepAttempt, outcome: Outcome, asks: Question | None
) -> Decision:
    if asks:
        return Decision(move=planner.Ask(attempt.position, asks))
    return planner.after_result(change.plan, attempt.position, outcome.result, change.facts)


def _last_result(attempt: StepAttempt | None) -> Result | None:
    if attempt is None or attempt.response is None:
        return None
    return results.read_response(attempt.response, step=attempt.key)


def _carried_failure(
    change: Change, attempt: StepAttempt, unit: Unit, outcome: Outcome
) -> Mapping[str, object] | None:
    """A failure in evaluate reaches every step of the build round it causes."""
    own = outcomes.failure_context(change, unit, outcome.result)
    return own or (attempt.failure_context if unit.phase is Phase.BUILD else None)
