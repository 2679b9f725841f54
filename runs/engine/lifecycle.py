"""The life of a run: started, settled, resumed, cancelled."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field, replace

from django.db import IntegrityError, transaction

from runs.accounts import permissions
from runs.changes import looking, store
from runs.changes.values import Looked
from runs.domain.planning import divergence, event_texts, forks, planner
from runs.domain.planning.planner import Decision, Facts
from runs.domain.responses import results
from runs.domain.responses.results import Result
from runs.domain.values.actors import Actor
from runs.domain.values.errors import Refused
from runs.domain.values.events import Entry
from runs.domain.values.phases import Phase
from runs.domain.values.questions import Action, Gate, Question
from runs.domain.values.status import RunStatus
from runs.domain.workflow.plan import Plan, Unit
from runs.engine import concealing, new_run, outcomes
from runs.engine.change import PLAN_CHANGED, WHEREABOUTS, Change, Outdated, locked
from runs.engine.claims import Claim, NewEvents, claimed
from runs.engine.files import artifacts, unshown
from runs.engine.forking import taking
from runs.engine.new_run import Start
from runs.executors.orders import Outcome
from runs.jobs import queue
from runs.jobs.table import Job
from runs.models import Run, StepAttempt
from runs.ports import asker
from runs.spending import counting

# How long a worker relies on what it read of a run and its project: short steps follow each other.
KNOWN_SECONDS = 5.0

# What a worker keeps of its next step is written by what this gives, in the step's transaction.
Brief = Callable[[Claim], Callable[[], None] | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settlement:
    """What came of a step: held to its plan, without secrets, ready to be put on record."""

    outcome: Outcome
    found: tuple[artifacts.FoundFile, ...] = ()
    asks: Question | None = None
    whereabouts: Mapping[str, str] = field(default_factory=dict)  # of the run, by its columns
    looked: Looked | None = None  # what the run changed, where people are to be asked
    left_at: Mapping[str, object] | None = None  # how the step left its worktree


def start(order: Start, *, worker: str = "", waits: bool = False) -> tuple[Run, Claim | None]:
    """Begin a run; with a worker its first step is claimed at once, else the queue gets it.

    A run that waits for its turn does nothing until `begin`.
    """
    given = {"work_id": order.work_id, "target": order.target, "prompt": order.prompt}
    new_run.check_values(order.plan, **given, inputs=order.inputs)
    since = time.monotonic()
    with transaction.atomic():
        run = new_run.new_run(order)
        change = Change(run)
        change.worker = worker
        if order.rerun_of:
            change.record(event_texts.run_rerun(order.rerun_of.run_id, order.changes, order.actor))
        change.record(event_texts.run_started(new_run.start_facts(run, order), order.actor))
        if order.fork:
            taking.take_over(change, order.fork)
        attempt = None
        if not waits and change.holds_plan():
            attempt = change.apply(_first(change))
        change.write()
    return run, claimed(run, attempt, worker, since)


def _first(change: Change) -> Decision:
    """What a run does first; one that was forked goes on behind what it took over."""
    at = forks.point(change.plan, change.run.forked_at) if change.run.forked_at else 0
    return planner.take_up(change.plan, at, change.facts)


def begin(run_pk: int) -> bool:
    """Let a run go that waited for its turn; False when it does not wait any more."""
    with transaction.atomic():
        run = locked(run_pk)
        if run.state is not RunStatus.PENDING or run.is_foreign or run.on_hold:
            return False
        change = Change(run)
        if change.holds_plan():
            change.apply(_first(change))
        change.write()
    return True


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
    return put_on_record(held, settlement(held, outcome, found, asks=asks))


def settlement(
    held: Claim,
    outcome: Outcome,
    found: tuple[artifacts.FoundFile, ...] = (),
    *,
    asks: Question | None = None,
) -> Settlement:
    """What a step handed back, as it may be kept."""
    outcome = _kept_to_plan(held, unshown.noted(outcome, found))
    outcome = concealing.without_secrets(outcome)
    return Settlement(
        outcome=outcome,
        found=() if outcome.divergences else found,
        asks=concealing.asked(asks) if asks else None,
        whereabouts={name: getattr(held.run, name) for name in WHEREABOUTS},
        looked=_looked(held, outcome, asks),
        left_at=held.attempt.left_at,
    )


def _looked(held: Claim, outcome: Outcome, asks: Question | None) -> Looked | None:
    """What the run changed, if a question is to be expected; taking it may last."""
    plan = held.run.frozen_plan
    move = _after(plan, held.attempt, outcome, asks, held.run.facts).move
    if not isinstance(move, planner.Ask):
        return None
    place = looking.place_of(plan.units[move.at], move.question)
    return looking.look(held.run, place, lambda: store.before(held.run, place))


def put_on_record(
    held: Claim, what: Settlement, *, goes_on: bool = True, brief: Brief | None = None
) -> Claim | None:
    """Finish a step and decide; whoever does not go on leaves the next one to the queue.

    A worker that goes on with the next step decides on what it knows of the run, and may `brief`
    itself for that step in the same transaction.
    """
    if goes_on and (decision := _foreseen(held, what)):
        with suppress(Outdated, IntegrityError):
            return _go_on(held, what, decision, brief)
    since, outcome = time.monotonic(), what.outcome
    if what.looked and what.looked.taken:
        store.keep_parts(what.looked.taken)
    with transaction.atomic():
        run, attempt = locked(held.run.pk), held.attempt
        change, after = Change(run), run.last_event_hash
        change.looked = what.looked
        # Who executes outside cannot go on here: the queue finds somebody.
        change.worker = attempt.worker if goes_on and not attempt.is_remote else ""
        if not _finish(change, held, what):
            return None
        following = None
        if change.holds_plan():
            facts = replace(change.facts, overspent=counting.exhausted(run, held.unit))
            move = _after(change.plan, attempt, outcome, what.asks, facts)
            following = change.apply(move)
        run.warnings_total += len(outcome.result.warnings)
        change.write()
    return claimed(run, following, change.worker, since, NewEvents(after=after, events=change.told))


def _foreseen(held: Claim, what: Settlement) -> Decision | None:
    """What is decided, if all it takes is known to this worker."""
    outcome = what.outcome
    is_known = held.known and time.monotonic() - held.since < KNOWN_SECONDS
    is_more = what.found or what.asks or outcome.stdout or outcome.stderr or outcome.usage
    if not is_known or is_more or held.attempt.is_remote or held.unit.step.budget:
        return None
    run = held.run
    facts = replace(run.facts, overspent=counting.exhausted(run, held.unit))
    decision = _after(run.frozen_plan, held.attempt, outcome, None, facts)
    return decision if _takes_no_look(decision.move, run) else None


def _takes_no_look(move: planner.Move, run: Run) -> bool:
    """Whether a move can be made of what is known: nobody else has a say in it."""
    match move:
        case planner.Execute():
            return move.action == "continue"
        case planner.Ask():
            return not move.by_policy and not run.project.assign
        case _:
            return isinstance(move, planner.Complete)


def _go_on(held: Claim, what: Settlement, decision: Decision, brief: Brief | None) -> Claim | None:
    """The same for a run that is written as it is known here, unless it is not that any more."""
    since, run = time.monotonic(), copy(held.run)
    change, after = Change(run, known=held.known), run.last_event_hash
    change.worker, change.looked = held.attempt.worker, what.looked
    _finish(change, held, what)
    following = change.apply(decision)
    run.warnings_total += len(what.outcome.result.warnings)
    new_events = NewEvents(after=after, events=change.write_down())
    claim = claimed(run, following, change.worker, since, new_events)
    keep = brief(claim) if brief and claim else None
    with transaction.atomic():
        change.write()
        if keep:
            keep()
    return claim


def _finish(change: Change, held: Claim, what: Settlement) -> bool:
    for name, value in what.whereabouts.items():
        setattr(change.run, name, value)
    held.attempt.left_at = what.left_at
    if not outcomes.record(change, held.attempt, held.unit, what.outcome, what.found):
        return False
    change.failure_context = _carried_failure(change, held.attempt, held.unit, what.outcome)
    return True


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
    looked: Looked | None = None,
) -> None:
    """Go on from an answer; the caller holds the run's lock and writes the answer with it."""
    change = Change(run)
    change.looked = looked
    change.feedback = feedback
    change.record(*events)
    change.last = after
    if approved_gate and action is Action.CONTINUE:
        run.approvals = {**run.approvals, approved_gate: request_id}
    if change.holds_plan():
        result = _last_result(after)
        own = outcomes.failure_context(change, change.here, result) if result else None
        change.failure_context = own or outcomes.round_failure(change)
        facts = change.facts
        if gate is Gate.BUDGET and action is Action.CONTINUE:
            counting.raised(run, feedback.get("budget"))
            facts = replace(facts, overspent=counting.exhausted(run, change.here))
        change.apply(planner.after_answer(change.plan, run.position, gate, action, result, facts))
    change.write()


def record(run: Run, entries: Sequence[Entry]) -> None:
    """Add to a locked run's history what does not move it."""
    change = Change(run)
    change.record(*entries)
    change.write()


def resume_stopped(run_pk: int, actor: Actor) -> Run:
    """Send a failed or imported run on from the exact step it stopped at."""
    with transaction.atomic():
        run = locked(run_pk)
        permissions.check_may_steer(actor, run)
        was_on_hold = _release(run)
        if was_on_hold and run.state is RunStatus.AWAITING_FEEDBACK:
            record(run, [event_texts.run_resumed(run.unit, actor)])
            asker().ask_again(run)
            return run
        if run.attempts.filter(status__in=StepAttempt.OPEN).exists():
            queue.enqueue(Job.ADVANCE_RUN, run.pk)  # a second job finds the step taken and ends
            return run
        if run.state is RunStatus.PENDING:
            queue.enqueue(Job.GIVE_TURNS, run.project_id)  # it begins if its turn has come
            return run
        if run.state not in (RunStatus.FAILED, RunStatus.IN_PROGRESS):
            raise Refused(f"The run is {run.state.label}. Only stopped runs can be resumed.")
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


def _release(run: Run) -> bool:
    """End the rest of an imported run; False when it does not rest."""
    was_on_hold, run.on_hold = run.on_hold, False
    if was_on_hold:
        # Gates ahead are asked here, whatever a directory says of them.
        run.approvals = {}
        run.save(update_fields=["on_hold", "approvals"])
    return was_on_hold


def cancel(run_pk: int, *, reason: str, actor: Actor) -> Run:
    """End a run and whatever it asks."""
    with transaction.atomic():
        run = locked(run_pk)
        permissions.check_may_steer(actor, run)
        if run.state.is_final:
            raise Refused(f"The run is already {run.state.label}.")
        change = Change(run)
        change.cancel(reason=reason, actor=actor)
        change.write()
    return run


def _kept_to_plan(held: Claim, outcome: Outcome) -> Outcome:
    """The outcome, or a failure in its place when the executor claims more than its step."""
    said = outcome.said or outcome.result
    claims = divergence.claims_in(said, held.run.frozen_plan, held.attempt.position)
    if not claims:
        return outcome
    refused = divergence.refusal(said, held.unit, claims)
    return replace(outcome, result=refused, divergences=tuple(map(str, claims)), evidence=())


def _after(
    plan: Plan, attempt: StepAttempt, outcome: Outcome, asks: Question | None, facts: Facts
) -> Decision:
    if asks:
        return Decision(move=planner.Ask(attempt.position, asks))
    return planner.after_result(plan, attempt.position, outcome.result, facts)


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
