"""One change of a locked run: what happened is collected, then written at once."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta

from django.conf import settings

from runs.chain import entries
from runs.changes import looking, store
from runs.changes.values import Looked
from runs.domain.planning import event_texts, gates, planner, verification
from runs.domain.planning.planner import Decision, Facts
from runs.domain.values.actors import Actor
from runs.domain.values.errors import OnHold, Refused
from runs.domain.values.events import Entry
from runs.domain.values.status import RunStatus, check_move
from runs.domain.workflow.plan import Plan, Unit
from runs.engine import conformance, history, new_run
from runs.engine.files import artifacts, unshown
from runs.jobs import log_context, queue
from runs.jobs.table import Job
from runs.models import Run, StepAttempt, clock
from runs.models.statements import Prepared, insert, succeed, update
from runs.ports import Asking, NewRequest, asker
from runs.telemetry import telling

PLAN_CHANGED = (
    "The stored plan differs from the one this run started with, so FABER won't execute it. "
    "Rerun to create a plan from the current workflow."
)

# Where a run was last executed: what its worker saw, kept with the result.
WHEREABOUTS = ("host", "host_identity", "folder_mark", "left_commit")
_CHANGING = (
    *("status", "position", "entered_phase", "approvals", "retry_count", "warnings_total"),
    *("cost_usd", "input_tokens", "output_tokens", "budgets"),
    *("own_title", "artifacts", "error", "last_event_id", "last_event_at", "last_event_hash"),
    *("updated_at", "completed_at", "head_code", *WHEREABOUTS),
)


class Outdated(Exception):
    """A run is not any more as whoever changes it knows it: it must be read again."""


_PULL = ("pr_url", "pr_number")


class Change:
    """Holds a run that its caller has locked, until `write` is called.

    A run that is `known` and not locked is written only if it is still as it was known; then it
    is the first row that is written, because its lock comes before any other.
    """

    def __init__(self, run: Run, *, known: Mapping[str, object] | None = None) -> None:
        self.run = run
        self._before = {name: getattr(run, name) for name in _CHANGING}
        if known:  # its worker may have seen other whereabouts since it read the run
            self._before |= dict.fromkeys(WHEREABOUTS)
        self._known = known
        self.now = clock.noted() if known else clock.read_at(run)
        self.last: StepAttempt | None = None  # what was executed before this change
        self.worker = ""  # who goes on with the run; nobody means the queue finds somebody
        self.feedback: Mapping[str, object] | None = None
        self.failure_context: Mapping[str, object] | None = None
        self.gone: Collection[str] = ()  # files that cannot be shown: they are not there any more
        self.looked: Looked | None = (
            None  # what the run changed, if somebody looked before the lock
        )
        self._baseline: Mapping[str, object] | None = None
        self._handed_in: Mapping[str, object] | None = None  # what is left is to look for evidence
        self._entries: list[Entry] = []
        self.told: Sequence[dict[str, object]] = ()  # the events, once they are written
        self._events: Sequence[history.EventRow] = ()
        self._changes: Mapping[str, object] = {}
        self._finished: tuple[StepAttempt, Mapping[str, object]] | None = None
        self._following: StepAttempt | None = None
        self._request: NewRequest | None = None
        self._is_by_policy = False
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
        if isinstance(decision.move, planner.Execute):
            return self._execute(decision.move)
        if self.run._state.adding:
            insert(self.run)  # what it asks refers to it
        match decision.move:
            case planner.Ask() as move:
                self._ask(move)
            case planner.Complete() as move:
                self._complete(move)
            case planner.Cancel():
                reason = self._reason_given()
                self._end(reason, event_texts.run_rejected(reason, self.feedback or {}))
        return None

    def fail(self, reason: str) -> None:
        """The engine itself cannot go on; an operator may resume the run."""
        self._move_to(RunStatus.FAILED)
        self.run.error = reason
        self.record(event_texts.run_failed(reason))

    def cancel(self, *, reason: str, actor: Actor) -> None:
        self._end(reason, event_texts.run_cancelled(reason, actor))

    def _end(self, reason: str, told: Entry) -> None:
        self._move_to(RunStatus.CANCELLED)
        self.run.completed_at = self.now
        self.run.error = reason
        asker().withdraw(self.run, reason)
        self._close_attempts(reason)
        self.record(told)

    def finish(self, attempt: StepAttempt, values: Mapping[str, object]) -> bool:
        """End an attempt; False when somebody else has its step by now."""
        if self._known:
            self._finished = attempt, values  # written behind the run
        elif not update(StepAttempt, _held(attempt), values):
            return False
        for name, value in values.items():
            setattr(attempt, name, value)
        return True

    def write(self) -> None:
        """Write the run, its events and its job; the last thing a transaction does."""
        if self.run.is_foreign:
            raise Refused(
                f"Another FABER site executes this run in {self.run.mirrors}. Do it there."
            )
        if self.run.on_hold and not self.run.state.is_final:
            raise OnHold
        is_first = self.run._state.adding or self._known
        changed = self._write_run_first() if is_first else self._write_locked()
        if self._request:
            self._request.open()
        if self._queued:
            queue.enqueue(Job.ADVANCE_RUN, self.run.pk)
        if "status" in changed and self.run.state.is_stopped:
            self._make_room()
        is_new = not self._before["last_event_id"]
        is_over = "status" in changed and self.run.state.is_final
        has_failed = "status" in changed and self.run.state is RunStatus.FAILED
        if is_over:
            entries.run_ended(self.run)
            telling.run_ended(self.run)
        if is_new or is_over or has_failed:
            asker().run_moved(self.run)
        if self._names_new_pull():
            asker().pull_opened(self.run)
        if self._request and self._is_by_policy:
            asker().approve_by_policy(self._request.request_id)

    def _names_new_pull(self) -> bool:
        before, now = (self._before["artifacts"], self.run.artifacts)
        return now is not before and any(now.get(key) != before.get(key) for key in _PULL)

    def write_down(self) -> Sequence[dict[str, object]]:
        """Settle what is to be written, and tell its events; nothing is decided after this."""
        self._events = history.written_down(self.run, self._entries, now=self.now)
        self._entries.clear()
        self._changes = self._changed()
        self.told = [event.document for event in self._events]
        return self.told

    def _write_run_first(self) -> Mapping[str, object]:
        if not self._changes:
            self.write_down()
        if not self._known:
            insert(self.run)
        elif not update(Run, self._known, self._changes):
            raise Outdated
        self._write_attempts()
        if not history.store(self.run, self._events):
            raise Outdated
        return self._changes

    def _write_locked(self) -> Mapping[str, object]:
        self._append()
        changed = self._changed()
        update(Run, {"id": self.run.pk}, changed)
        self._write_attempts()
        return changed

    def _changed(self) -> Mapping[str, object]:
        self.run.updated_at = self.now
        self.run.head_code = history.head_code(self.run)
        now = {name: getattr(self.run, name) for name in _CHANGING}
        return {name: value for name, value in now.items() if value != self._before[name]}

    def _write_attempts(self) -> None:
        """One statement for both: what is finished gives its place to what follows."""
        if self._following:
            self._following.run_id = self.run.pk
        if self._finished and self._following:
            attempt, values = self._finished
            held = {name: value for name, value in _held(attempt).items() if name != "id"}
            if not succeed(attempt, self._following, held=held, changed=tuple(values)):
                raise Outdated
        elif self._finished:
            attempt, values = self._finished
            if not update(StepAttempt, _held(attempt), values):
                raise Outdated
        elif self._following:
            insert(self._following)

    def _append(self) -> None:
        """Write the events; a run whose next event is there already goes no further."""
        told = history.append(self.run, self._entries, now=self.now)
        if told is None:
            why = history.changed(self.run)
            if self.run.state is not RunStatus.CANCELLED:
                self._refuse_history(why)
            told = history.append(self.run, self._entries, now=self.now)
        self.told = told or ()
        self._entries.clear()

    def _refuse_history(self, why: str) -> None:
        """Fail in place of what was decided; results and answers stay on record."""
        for name in ("status", "completed_at"):
            setattr(self.run, name, self._before[name])
        if self.run.state is not RunStatus.FAILED:
            self._move_to(RunStatus.IN_PROGRESS)
        if self._request:
            self._request.open()  # the history tells of it
        self._queued, self._request = False, None
        asker().withdraw(self.run, why)
        self._close_attempts(why)
        if self._following:
            self._following.status = StepAttempt.Status.CANCELLED
            self._following.finished_at, self._following.reason = self.now, why[:500]
        self.fail(why)

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
        self._handed_in = lost.handed_in
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
        unit = self.plan.unit_at(move.at, entered=self.run.entered_phase)
        made_here = self.last if self.last and self.last.position == move.at else None
        shown = artifacts.shown_at(self.run, made_here, gone=self.gone)
        question = gates.addressed(self.plan, move.at, move.question)
        question = new_run.filled(question, self.run, unit, made_here.number if made_here else 1)
        question = unshown.told(question, self.run, made_here)
        looked = self._looked_at(looking.place_of(unit, question))
        question = looking.told(question, looked)
        self._request = asker().prepared(
            self.run,
            unit,
            question,
            Asking(
                gate_key=move.gate_key,
                shown=shown,
                after=made_here,
                now=self.now,
                snapshot=store.made(self.run, looked.place, looked.taken) if looked.taken else None,
            ),
        )
        self._is_by_policy = move.by_policy
        told = event_texts.asked(question, unit, self._request.request_id, _executed(made_here))
        self.record(*told)

    def _looked_at(self, place: str) -> Looked:
        """What was seen before the lock, as mostly; a question nobody foresaw is rare."""
        looked = self.looked
        if looked and looked.place == place:
            return looked
        since = store.before(self.run, place)
        if looked and looked.taken and since is None:
            return Looked(place=place, taken=looked.taken.in_first_round)
        return looking.look(self.run, place, since)

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
        is_remote = unit.step.remote and self._handed_in is None
        attempt = StepAttempt(
            run=self.run,
            phase=unit.phase.value,
            step=unit.step.id,
            is_hook=unit.is_hook,
            is_remote=is_remote,
            position=at,
            number=self._next_number(unit, action, reason),
            action=action,
            reason=reason[:500],
            feedback=self.feedback,
            failure_context=self.failure_context,
            baseline=self._baseline,
            handed_in=self._handed_in,
            queued_at=self.now,
        )
        if self.worker and not is_remote:
            attempt.status = StepAttempt.Status.RUNNING
            attempt.worker, attempt.started_at = self.worker, self.now
            attempt.lease_until = lease_end(self.now)
        elif not is_remote:
            self._queued = True
        if not unit.is_hook:
            # Told when the step is handed out: whoever takes it up only signs for it.
            self.record(event_texts.step_started(unit, attempt=attempt.number, action=action))
        self._following = attempt
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
        left = "" if verdict.conforms else f"The run deviated from its plan: {verdict.summary()}."
        return " ".join(filter(None, [left, history.changed(self.run)]))

    def _reason_given(self) -> str:
        given = self.feedback or {}
        unit = self.run.unit
        where = unit.key if unit else "the end"
        return str(given.get("comment") or f"{given.get('response', 'cancelled')} at {where}")


def _held(attempt: StepAttempt) -> dict[str, object]:
    """Where an attempt is still its worker's."""
    running = StepAttempt.Status.RUNNING
    return {"id": attempt.pk, "status": running, "worker": attempt.worker}


_LOCKED = Prepared(
    lambda pk: clock.noting_time(
        Run.objects.select_for_update(of=("self",)).select_related("project").filter(pk=pk)
    ),
    -1,
)


def locked(run_pk: int) -> Run:
    """The run's row, locked: taken before any lock on its request or attempt."""
    run = _LOCKED.first(run_pk)
    if run is None:
        raise Run.DoesNotExist
    log_context.note_run(run.run_id)
    return run


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
