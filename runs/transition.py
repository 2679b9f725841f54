"""One change of a locked run: what happened is collected, then written at once."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from django.conf import settings
from django.utils import timezone

from runs import artifacts, history, queue
from runs.domain import planner, telling, verification
from runs.domain.actors import Actor
from runs.domain.events import Entry
from runs.domain.plan import Unit
from runs.domain.planner import Decision, Facts
from runs.domain.status import RunStatus, check_move
from runs.models import Event, Run, StepAttempt
from runs.ports import Asking, asker

ADVANCE = "runs.tasks.advance_run"
GIVE_TURNS = "runs.tasks.give_turns"

_CHANGING = (
    "status",
    "position",
    "entered_phase",
    "approvals",
    "retry_count",
    "warnings_total",
    "artifacts",
    "error",
    "last_event_id",
    "last_event_at",
    "last_event_hash",
    "updated_at",
    "completed_at",
)


class Transition:
    """Holds a run that its caller has locked, until `write` is called."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.plan = run.frozen_plan
        self._before = {name: getattr(run, name) for name in _CHANGING}
        self.now: datetime = timezone.now()
        self.last: StepAttempt | None = None  # what was executed before this change
        self.worker = ""  # who goes on with the run; nobody means the queue finds somebody
        self.feedback: Mapping[str, object] | None = None
        self.failure_context: Mapping[str, object] | None = None
        self._entries: list[Entry] = []
        self._policy_request = ""
        self._queued = False

    @property
    def facts(self) -> Facts:
        return self.run.facts

    def tell(self, *entries: Entry) -> None:
        self._entries.extend(entries)

    def apply(self, decision: Decision) -> StepAttempt | None:
        """Carry a decision out; returns the attempt that is to be executed, if one is."""
        for item in decision.passed:
            self._pass(item)
        match decision.move:
            case planner.Execute() as move:
                return self._execute(move)
            case planner.Ask() as move:
                self._ask(move)
            case planner.Complete() as move:
                self._complete(move)
            case planner.Cancel():
                self.cancel(reason=self._reason_given(), actor=None)
        return None

    def fail(self, reason: str) -> None:
        """The engine itself cannot go on; an operator may resume the run."""
        self._move_to(RunStatus.FAILED)
        self.run.error = reason
        self.tell(telling.run_failed(reason))

    def cancel(self, *, reason: str, actor: Actor | None) -> None:
        self._move_to(RunStatus.CANCELLED)
        self.run.completed_at = self.now
        self.run.error = reason
        asker().withdraw(self.run, reason)
        self.run.attempts.filter(status__in=StepAttempt.OPEN).update(
            status=StepAttempt.Status.CANCELLED, finished_at=self.now, reason=reason[:500]
        )
        self.tell(telling.run_cancelled(reason, actor))

    def write(self) -> None:
        """Write the run, its events and its job; the last thing a transaction does."""
        history.append(self.run, self._entries, now=self.now)
        self._entries.clear()
        self.run.updated_at = self.now
        changed = [name for name in _CHANGING if getattr(self.run, name) != self._before[name]]
        self.run.save(update_fields=changed)
        if self._queued:
            queue.enqueue(ADVANCE, self.run.pk)
        if self.run.batch_id and "status" in changed and self.run.state.is_stopped:
            self._make_room(self.run.batch_id)
        is_new = not self._before["last_event_id"]
        if is_new or (self.run.state.is_final and self._before["status"] != self.run.status):
            asker().run_moved(self.run)
        if self._policy_request:
            asker().approve_by_policy(self._policy_request)

    def _make_room(self, batch_pk: int) -> None:
        """Have the next run of the batch begin, if one waits for its turn."""
        # By a job: a turn is given under the batch's lock, which is taken before any run's.
        if Run.objects.filter(batch_id=batch_pk, status=RunStatus.PENDING).exists():
            queue.enqueue(GIVE_TURNS, batch_pk)

    def again(self, lost: StepAttempt, reason: str) -> StepAttempt:
        """Another attempt at exactly what a dead worker had."""
        self.feedback, self.failure_context = lost.feedback, lost.failure_context
        unit = self.plan.units[lost.position]
        return self._make_attempt(unit, lost.position, lost.action, reason)

    # The moves

    def _execute(self, move: planner.Execute) -> StepAttempt:
        self._move_to(RunStatus.IN_PROGRESS)
        self.run.position = move.at
        self.run.error = ""
        unit = self.plan.units[move.at]
        if move.action in ("revise", "retry") and not unit.is_hook:
            self.tell(telling.step_retried(unit, move.action))
        return self._make_attempt(unit, move.at, move.action)

    def _ask(self, move: planner.Ask) -> None:
        reached = sum(1 for unit in self.plan.units[: move.at] if not unit.is_hook)
        verdict = verification.verify_so_far(self.plan.step_keys, self._traces(), reached=reached)
        self._move_to(RunStatus.IN_PROGRESS)
        self.run.position = move.at
        if not verdict.conforms:
            self.fail(f"The run left its plan: {verdict.summary()}.")
            return
        self._move_to(RunStatus.AWAITING_FEEDBACK)
        # An approval older than this decision point is stale.
        self.run.approvals = {k: v for k, v in self.run.approvals.items() if k != move.gate_key}
        unit = self.plan.units[move.at]
        made_here = self.last if self.last and self.last.position == move.at else None
        shown = artifacts.shown_at(self.run, made_here)
        request_id = asker().open_request(
            self.run,
            unit,
            move.question,
            Asking(gate_key=move.gate_key, shown=shown, after=made_here),
        )
        self.tell(*telling.asked(move.question, unit, request_id, _executed(made_here)))
        if move.by_policy:
            self._policy_request = request_id

    def _complete(self, move: planner.Complete) -> None:
        verdict = verification.verify(self.plan.step_keys, self._traces())
        self._move_to(RunStatus.IN_PROGRESS)
        self.run.position = move.at
        if not verdict.conforms:
            self.fail(f"The run left its plan: {verdict.summary()}.")
            return
        self._move_to(RunStatus.COMPLETED)
        self.run.completed_at = self.now
        self.tell(
            telling.run_completed(
                self.plan,
                duration_ms=self.run.duration_ms,
                events=self.run.last_event_id + len(self._entries) + 1,
                retries=self.run.retry_count,
            )
        )

    def _pass(self, item: planner.Passed) -> None:
        match item:
            case planner.PhaseEntered(phase):
                self.run.entered_phase = phase.value
            case planner.LoopEntered(number, _):
                self.run.retry_count = number
                self.run.entered_phase = ""
            case _:
                pass
        entry = telling.passed(
            item, self.plan, retries=self.run.retry_count, executed=_executed(self.last)
        )
        if entry:
            self.tell(entry)

    def _move_to(self, status: RunStatus) -> None:
        if self.run.status != status:
            check_move(self.run.state, status)
            self.run.status = status.value

    def _make_attempt(self, unit: Unit, at: int, action: str, reason: str = "") -> StepAttempt:
        attempt = StepAttempt(
            run=self.run,
            phase=unit.phase.value,
            step=unit.step.id,
            is_hook=unit.is_hook,
            is_remote=unit.step.remote,
            position=at,
            number=self._next_number(unit, action, reason),
            action=action,
            reason=reason[:500],
            feedback=self.feedback,
            failure_context=self.failure_context,
            queued_at=self.now,
        )
        if self.worker and not unit.step.remote:
            attempt.status = StepAttempt.Status.RUNNING
            attempt.worker, attempt.started_at = self.worker, self.now
            attempt.lease_until = lease_end(self.now)
        elif not unit.step.remote:
            self._queued = True
        if not unit.is_hook:
            # Told when the step is handed out: whoever takes it up only signs for it.
            self.tell(telling.step_started(unit, attempt=attempt.number, action=action))
        attempt.save(force_insert=True)
        return attempt

    def _next_number(self, unit: Unit, action: str, reason: str) -> int:
        if action in ("start", "continue") and not self.run.retry_count and not reason:
            return 1  # a first visit needs no look at the table
        before = self.run.attempts.filter(phase=unit.phase.value, step=unit.step.id)
        return (before.order_by("-number").values_list("number", flat=True).first() or 0) + 1

    def _traces(self) -> list[verification.Trace]:
        """What the history tells so far, with what this change is about to add."""
        told = Event.objects.filter(run=self.run, type__in=verification.TELLING).order_by("number")
        known = [
            verification.Trace(type=kind, key=f"{phase}:{step}")
            for kind, phase, step in told.values_list("type", "phase", "step")
        ]
        return known + [
            verification.Trace(type=entry.type, key=f"{entry.phase}:{entry.step}")
            for entry in self._entries
            if entry.type in verification.TELLING
        ]

    def _reason_given(self) -> str:
        given = self.feedback or {}
        unit = self.run.unit
        where = unit.key if unit else "the end"
        return str(given.get("comment") or f"{given.get('response', 'cancelled')} at {where}")


def lease_end(now: datetime) -> datetime:
    return now + timedelta(seconds=settings.FABER_LEASE_SECONDS)


def _executed(attempt: StepAttempt | None) -> telling.Executed | None:
    if attempt is None:
        return None
    return telling.Executed(
        key=attempt.key,
        number=attempt.number,
        duration_ms=attempt.duration_ms or 0,
        message=str((attempt.response or {}).get("message", "")),
        result=attempt.result,
    )
