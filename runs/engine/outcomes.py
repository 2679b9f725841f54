"""Writes down what a step handed back: its result, its output, its files."""

from datetime import datetime

from runs.domain.planning import event_texts
from runs.domain.responses import results
from runs.domain.responses.results import Result, ResultStatus
from runs.domain.values.phases import Phase
from runs.domain.workflow.plan import Unit
from runs.engine.change import Change
from runs.engine.files import artifacts
from runs.executors.orders import Outcome
from runs.models import StepAttempt, StepOutput, live_output
from runs.spending import counting


def record(
    change: Change,
    attempt: StepAttempt,
    unit: Unit,
    outcome: Outcome,
    found: tuple[artifacts.FoundFile, ...],
) -> bool:
    """Finish an attempt, unless somebody else has its step by now: then False, and nothing done."""
    result = outcome.result
    values: dict[str, object] = {
        "status": StepAttempt.Status.FINISHED,
        "finished_at": change.now,
        "result": result.status.value,
        "response": results.to_json(result),
        "files": [file.path for file in found if file.content is not None],
        "session": outcome.session,
        **({"left_at": attempt.left_at} if attempt.left_at else {}),
        "usage": outcome.usage,
        **counting.columns(outcome.usage),
        "evidence": [piece.shape() for piece in outcome.evidence],
    }
    if not change.finish(attempt, values):
        _record_late(attempt, outcome)
        return False
    if outcome.stdout or outcome.stderr:
        live_output.clear(attempt)
        printed = StepOutput.columns(outcome.stdout, outcome.stderr)
        StepOutput.objects.create(attempt=attempt, **printed)
    if outcome.divergences:
        change.record(
            event_texts.diverged(
                unit, outcome.divergences, attempt=attempt.number, message=result.message
            )
        )
    tell_end(change, attempt, unit, result)
    named = artifacts.named_by(result)
    change.record(*artifacts.keep(change.run, attempt, found))
    change.record(*artifacts.tell_named(change.run, attempt, named))
    change.run.artifacts = {**change.run.artifacts, **named}
    change.run.own_title = change.run.own_title or artifacts.heading_of(found)
    counting.add(change.run, outcome.usage)
    change.last = attempt
    return True


def tell_end(change: Change, attempt: StepAttempt, unit: Unit, result: Result) -> None:
    """A failure is told at once; a success when whoever must see it has seen it."""
    duration = attempt.duration_ms or 0
    if unit.is_hook:
        change.record(event_texts.hook_executed(unit, result, duration_ms=duration))
    elif result.status is ResultStatus.FAILURE:
        change.record(
            event_texts.step_failed(
                unit,
                result,
                attempt=attempt.number,
                duration_ms=duration,
                evidence=attempt.evidence,
            )
        )


def _record_late(attempt: StepAttempt, outcome: Outcome) -> None:
    """The result of a lost lease is kept for the record and changes nothing."""
    lost = StepAttempt.objects.filter(pk=attempt.pk).exclude(status=StepAttempt.Status.FINISHED)
    is_kept = lost.update(late_response=results.to_json(outcome.result))
    if is_kept and (outcome.stdout or outcome.stderr):
        printed = StepOutput.columns(outcome.stdout, outcome.stderr)
        StepOutput.objects.update_or_create(attempt=attempt, defaults=printed)


def failure_context(change: Change, unit: Unit, result: Result) -> dict[str, object] | None:
    """What the next execution must know of this failure."""
    if result.status is not ResultStatus.FAILURE or unit.is_hook:
        return None
    return _failed(change, unit, result, number=change.run.retry_count + 1, at=change.now)


def round_failure(change: Change) -> dict[str, object] | None:
    """What sent the run back to build: it reaches the round's steps through every gate."""
    run = change.run
    if not run.retry_count or change.here.phase is not Phase.BUILD:
        return None
    failures = run.attempts.filter(
        phase=Phase.EVALUATE.value,
        is_hook=False,
        status=StepAttempt.Status.FINISHED,
        result=ResultStatus.FAILURE.value,
    )
    last = failures.order_by("-id").first()
    if last is None or last.response is None:
        return None
    result = results.read_response(last.response, step=last.key)
    unit, at = change.plan.units[last.position], last.finished_at or change.now
    return _failed(change, unit, result, number=run.retry_count, at=at)


def _failed(
    change: Change, unit: Unit, result: Result, *, number: int, at: datetime
) -> dict[str, object]:
    return {
        "retry_attempt": number,
        "max_retries": change.plan.phase(unit.phase).max_retries,
        "previous_failure": {
            "phase": unit.phase.value,
            "step": unit.step.id,
            "error_message": result.message,
            "errors": list(result.errors),
            "failed_at": at.isoformat(),
            "details": dict(result.details),
        },
        "suggestions": list(result.suggested_fixes),
    }
