"""One change of a locked run: what happened is collected, then written at once."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from django.conf import settings
from django.utils import timezone

from runs.domain.planning import event_texts, planner, verification
from runs.domain.planning.planner import Decision, Facts
from runs.domain.values.actors import Actor
from runs.domain.values.errors import Refused
from runs.domain.values.events import Entry
from runs.domain.values.status import RunStatus, check_move
from runs.domain.workflow.plan import Plan, Unit
from runs.engine import artifacts, conformance, history
from runs.jobs import queue
from runs.jobs.table import Job
from runs.models import Run, StepAttempt
from runs.models.statements import insert, update
from runs.ports import Asking, asker

PLAN_CHANGED = (
    "The plan stored with this run is not the one it was started on, so nothing of it is executed. "
    "Run it again to make a plan from the workflow as it is now."
)

_CHANGING = (
    *("status", "position", "entered_phase", "approvals", "retry_count", "warnings_total"),
    *("artifacts", "error", "last_event_id", "last_event_at", "last_event_hash"),
    *("updated_at", "completed_at"),
)


class Change:
    """Holds a run that its caller has locked, until `write` is called."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self._before = {name: getattr(run, name) for name in _CHANGING}
        self.now: datetime = timezone.now()
        self.last: StepAttempt | None = None  # what was executed before this change
        self.worker = ""  # who goes on with the run; nobody means the queue finds somebody
        self.feedback: Mapping[str, object] | None = None
        self.failure_context: Mapping[str, object] | None = None
        self._baseline: Mapping[str, object] | None = None
        self._entries: list[Entry] = []
        self._policy_request = ""
        self._queued = False

    @property
    def plan(self) -> Plan:
        return self.run.frozen_plan

    @property
    def here(self) -> Unit:
        """The unit the run stands at."""
        return self.plan.units[self.run.position]

    @property
    def facts(self) -> Facts:
        return self.run.facts

    def record(self, *entries: Entry) -> None:
        self._entries.extend(entries)

    def holds_plan(self) -> bool:
        """Whether the plan is the one that was frozen; any other is refused and decides nothing."""
        if self.run.has_its_plan:
            return True
        self.refuse_plan()
        return False

    def refuse_plan(self) -> None:
        """Execute nothing of a plan that is not the one the run was started on."""
        self._move_to(RunStatus.IN_PROGRESS)
        self._close_attempts(PLAN_CHANGED)
        self.fail(PLAN_CHANGED)

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
        self.record(event_texts.run_failed(reason))

    def cancel(self, *, reason: str, actor: Actor | None) -> None:
        self._move_to(RunStatus.CANCELLED)
        self.run.completed_at = self.now
        self.run.error = reason
        asker().withdraw(self.run, reason)
        self._close_attempts(reason)
        self.record(event_texts.run_cancelled(reason, actor))

    def write(self) -> None:
        """Write the run, its events and its job; the last thing a transaction does."""
        if self.run.is_foreign:
            raise Refused(f"Another FABER executes this run, in {self.run.mirrors}; do it there.")
        history.append(self.run, self._entries, now=self.now)
        self._entries.clear()
        self.run.updated_at = self.now
        now = {name: getattr(self.run, name) for name in _CHANGING}
        changed = {name: value for name, value in now.items() if value != self._before[name]}
        update(Run, {"id": self.run.pk}, changed)
        if self._queued:
            queue.enqueue(Job.ADVANCE_RUN, self.run.pk)
        if "status" in changed and self.run.state.is_stopped:
            self._make_room()
        is_new = not self._before["last_event_id"]
        if is_new or (self.run.state.is_final and self._before["status"] != self.run.status):
            asker().run_moved(self.run)
        if self._policy_request:
            asker().approve_by_policy(self._policy_request)

    def _make_room(self) -> None:
        """Have the next run begin that waits for its turn, and let go of what is not needed."""
        run, batch = self.run, self.run.batch_id
        waits = batch and Run.objects.filter(batch_id=batch, status=RunStatus.PENDING).exists()
        # By a job: a turn is given under the project's lock, which is taken before any run's.
        # A run that is being started to wait for this one cannot be seen yet, so it is not sought.
        if waits or (run.state.is_final and run.project.exclusive):
            queue.enqueue(Job.GIVE_TURNS, run.project_id)
        if run.state is RunStatus.COMPLETED and run.worktree_of:
            queue.enqueue(Job.TIDY_WORKTREE, run.pk)

    def again(self, lost: StepAttempt, reason: str) -> StepAttempt:
        """Another attempt at exactly what a dead worker had."""
        self.feedback, self.failure_context = lost.feedback, lost.failure_context
        self._baseline = lost.baseline  # what the lost attempt did counts for this one
        unit = self.plan.units[lost.position]
        return self._make_attempt(unit, lost.position, lost.action, reason)

    # The moves

    def _execute(self, move: planner.Execute) -> StepAttempt:
        self._move_to(RunStatus.IN_PROGRESS)
        self.run.position = move.at
        self.run.error = ""
        unit = self.plan.units[move.at]
        if move.action in ("revise", "retry") and not unit.is_hook:
            self.record(event_texts.step_retried(unit, move.action))
        return self._make_attempt(unit, move.at, move.action)

    def _ask(self, move: planner.Ask) -> None:
        reached = sum(1 for unit in self.plan.units[: move.at] if not unit.is_hook)
        self._move_to(RunStatus.IN_PROGRESS)
        self.run.position = move.at
        if fault := self._fault(reached):
            self.fail(fault)
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
        self.record(*event_texts.asked(move.question, unit, request_id, _executed(made_here)))
        if move.by_policy:
            self._policy_request = request_id

    def _complete(self, move: planner.Complete) -> None:
        self._move_to(RunStatus.IN_PROGRESS)
        self.run.position = move.at
        if fault := self._fault(len(self.plan.step_keys)):
            self.fail(fault)
            return
        self._move_to(RunStatus.COMPLETED)
        self.run.completed_at = self.now
        self.record(
            event_texts.run_completed(
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
        entry = event_texts.passed(
            item, self.plan, retries=self.run.retry_count, executed=_executed(self.last)
        )
        if entry:
            self.record(entry)

    def _close_attempts(self, reason: str) -> None:
        self.run.attempts.filter(status__in=StepAttempt.OPEN).update(
            status=StepAttempt.Status.CANCELLED, finished_at=self.now, reason=reason[:500]
        )

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
            baseline=self._baseline,
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
            self.record(event_texts.step_started(unit, attempt=attempt.number, action=action))
        insert(attempt)
        return attempt

    def _next_number(self, unit: Unit, action: str, reason: str) -> int:
        if action in ("start", "continue") and not self.run.retry_count and not reason:
            return 1  # a first visit needs no look at the table
        before = self.run.attempts.filter(phase=unit.phase.value, step=unit.step.id)
        return (before.order_by("-number").values_list("number", flat=True).first() or 0) + 1

    def _fault(self, reached: int) -> str:
        """Why a run that claims to have come so far may not go on; empty when it may."""
        traces = conformance.traces_of(self.run, self._entries)
        verdict = verification.verify_so_far(self.plan.step_keys, traces, reached=reached)
        left = "" if verdict.conforms else f"The run left its plan: {verdict.summary()}."
        return " ".join(filter(None, [left, history.changed(self.run)]))

    def _reason_given(self) -> str:
        given = self.feedback or {}
        unit = self.run.unit
        where = unit.key if unit else "the end"
        return str(given.get("comment") or f"{given.get('response', 'cancelled')} at {where}")


def lease_end(now: datetime) -> datetime:
    return now + timedelta(seconds=settings.FABER_LEASE_SECONDS)


def _executed(attempt: StepAttempt | None) -> event_texts.Executed | None:
    if attempt is None:
        return None
    return event_texts.Executed(
        key=attempt.key,
        number=attempt.number,
        duration_ms=attempt.duration_ms or 0,
        message=attempt.message,
        result=attempt.result,
        evidence=attempt.evidence,
    )
