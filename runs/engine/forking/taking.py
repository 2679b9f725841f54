"""Finds what a run did before a point, and writes it into the new run that begins there."""

from collections.abc import Iterator, Mapping

from runs.domain.planning import event_texts, forks, planner
from runs.domain.planning.forks import GateBehind
from runs.domain.responses import results
from runs.domain.values.errors import Refused
from runs.domain.values.events import Entry, EventType
from runs.domain.workflow.definition import AutonomyLevel
from runs.domain.workflow.plan import Plan, Unit
from runs.engine.change import Change
from runs.engine.files import artifacts
from runs.engine.forking.values import Fork, TakenStep
from runs.models import Artifact, Event, Run, StepAttempt
from runs.models.statements import insert
from runs.ports import asker
from runs.workspaces import forked

_DONE = {EventType.STEP_COMPLETE, EventType.STEP_SKIP}


def fork_of(original: Run, plan: Plan, named: str, *, in_worktree: bool) -> Fork:
    """What a run of this plan takes over when it begins at a step; refused where it cannot."""
    levels = (plan.autonomy.level, original.frozen_plan.autonomy.level)
    if AutonomyLevel.DRY_RUN in levels:
        raise Refused("A dry run executes nothing, so nothing can be taken over.")
    at = forks.point(plan, named)
    forks.check_same_before(original.frozen_plan, plan, at)
    steps = _steps(original, plan, at)
    made = [step.attempt for step in steps if step.attempt]
    last = max(made, key=lambda attempt: attempt.pk, default=None)
    files = _files(original, last)
    commit = forked.commit_after(original, last, files) if in_worktree else ""
    approved, left_out = _gates(original, plan, at, is_same=bool(commit))
    return Fork(
        original=original,
        at=at,
        key=named,
        commit=commit,
        steps=steps,
        files=files,
        approved=approved,
        left_out=left_out,
    )


def take_over(change: Change, fork: Fork) -> None:
    """Write what was done before into a new run, marked as such."""
    run, plan, source = change.run, change.plan, fork.original.run_id
    insert(run)  # what is taken over refers to it
    taken = {step.unit.key: step.attempt for step in fork.steps}
    copies = [_copy(run, attempt, source) for attempt in taken.values() if attempt]
    made = {copy.key: copy for copy in StepAttempt.objects.bulk_create(copies)}
    for item in forks.retraced(plan, fork.at):
        if not isinstance(item, planner.StepCompleted):
            entry = event_texts.passed(item, plan, retries=0, executed=None)
            change.record(*([entry] if entry else []))
        elif not item.unit.is_hook:
            change.record(*_told(item.unit, taken[item.unit.key], source))
    change.record(*_kept_files(run, fork, made))
    run.artifacts = {**_named(fork), **run.artifacts}
    run.own_title = run.own_title or fork.original.own_title
    run.position = fork.at
    if fork.at:
        run.entered_phase = plan.units[fork.at - 1].phase.value


def _steps(original: Run, plan: Plan, at: int) -> list[TakenStep]:
    """Every step before the point, as the original finished it."""
    units = [unit for unit in plan.units[:at] if not unit.is_hook]
    if original.position < at:
        raise Refused(f"That run has not reached {plan.units[at].key}.")
    kinds = [EventType.STEP_COMPLETE, EventType.STEP_SKIP, EventType.STEP_START]
    events = Event.objects.filter(run=original, type__in=kinds).order_by("number")
    told = events.values_list("phase", "step", "type")
    latest = {f"{phase}:{step}": kind for phase, step, kind in told}
    finished = original.attempts.filter(status=StepAttempt.Status.FINISHED, is_hook=False)
    attempts = {attempt.key: attempt for attempt in finished.order_by("pk")}
    for unit in units:
        if latest.get(unit.key) not in _DONE:
            raise Refused(f"{unit.key} was not completed in that run.")
    return [TakenStep(unit=unit, attempt=_attempt(unit, latest, attempts)) for unit in units]


def _attempt(
    unit: Unit, latest: dict[str, str], attempts: dict[str, StepAttempt]
) -> StepAttempt | None:
    if latest[unit.key] == EventType.STEP_SKIP:
        return None
    if unit.key not in attempts:
        raise Refused(f"What {unit.key} handed back is not on this site.")
    return attempts[unit.key]


def _files(original: Run, last: StepAttempt | None) -> list[Artifact]:
    """The newest revisions that were there when the last of these steps was left behind."""
    if last is None:
        return []
    later = original.attempts.filter(pk__gt=last.pk).order_by("pk").first()
    kept = original.revisions.defer("content").order_by("path", "revision")
    if later:
        kept = kept.filter(created_at__lte=later.queued_at)
    return list({file.path: file for file in kept}.values())


def _gates(
    original: Run, plan: Plan, at: int, *, is_same: bool
) -> tuple[list[GateBehind], list[str]]:
    """Those that were approved there, for exactly what the new run begins with, and the others."""
    counts = is_same and not original.imported_at and not original.is_foreign
    given = asker().approved_gates(original) if counts else frozenset()
    behind = list(forks.gates_behind(plan, at))
    approved = [gate for gate in behind if gate.key in given]
    left_out = dict.fromkeys(gate.name for gate in behind if gate not in approved)
    return approved, list(left_out)


def _copy(run: Run, attempt: StepAttempt, source: str) -> StepAttempt:
    """The same execution, counted where it was: it cost nothing here."""
    return StepAttempt(
        run=run,
        phase=attempt.phase,
        step=attempt.step,
        is_remote=attempt.is_remote,
        position=attempt.position,
        number=attempt.number,
        action=attempt.action,
        feedback=attempt.feedback,
        status=StepAttempt.Status.FINISHED,
        queued_at=attempt.queued_at,
        started_at=attempt.started_at,
        finished_at=attempt.finished_at,
        result=attempt.result,
        response=attempt.response,
        files=attempt.files,
        evidence=attempt.evidence,
        left_at=attempt.left_at,
        taken_over_from=attempt.taken_over_from or source,
    )


def _kept_files(run: Run, fork: Fork, made: Mapping[str, StepAttempt]) -> list[Entry]:
    """Keep the files as the original had them, under the same numbers, and tell it."""
    keys = [file.pk for file in fork.files]
    kept = Artifact.objects.filter(pk__in=keys).select_related("attempt").order_by("path")
    copies = run.revisions.bulk_create(
        Artifact(
            run=run,
            attempt=made.get(file.attempt.key) if file.attempt else None,
            path=file.path,
            revision=file.revision,
            sha256=file.sha256,
            size=file.size,
            content=file.content,
        )
        for file in kept
    )
    return [
        artifacts.told_of(copy, *_made_at(copy, fork), taken_over_from=fork.original.run_id)
        for copy in copies
    ]


def _made_at(file: Artifact, fork: Fork) -> tuple[str, str]:
    """The step it is told at: of what a person edited, the last one before the point."""
    if file.attempt:
        return file.attempt.phase, file.attempt.step
    last = fork.steps[-1].unit
    return last.phase.value, last.step.id


def _told(unit: Unit, attempt: StepAttempt | None, source: str) -> Iterator[Entry]:
    if attempt is None:
        yield event_texts.step_taken_over(unit, EventType.STEP_SKIP, source)
        return
    for kind in (EventType.STEP_START, EventType.STEP_COMPLETE):
        yield event_texts.step_taken_over(unit, kind, source, attempt=attempt.number)


def _named(fork: Fork) -> dict[str, object]:
    """What the steps said they made; the branch of a worktree is the run's own."""
    named: dict[str, object] = {}
    for step in fork.steps:
        if step.attempt and step.attempt.response is not None:
            said = results.read_response(step.attempt.response, step=step.unit.key)
            named |= artifacts.named_by(said)
    return named
