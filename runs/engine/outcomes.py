"""Writes down what a step handed back: its result, its output, its files."""

from runs.domain.planning import event_texts
from runs.domain.responses import results
from runs.domain.responses.results import Result, ResultStatus
from runs.domain.workflow.plan import Unit
from runs.engine import artifacts
from runs.engine.change import Change
from runs.executors.orders import Outcome
from runs.models import StepAttempt, StepOutput
from runs.models.statements import update


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
        "progress": "",
        "session": outcome.session,
        "usage": outcome.usage,
        "evidence": [piece.shape() for piece in outcome.evidence],
    }
    held = {"id": attempt.pk, "status": StepAttempt.Status.RUNNING, "worker": attempt.worker}
    if not update(StepAttempt, held, values):
        _record_late(attempt, result)
        return False
    for name, value in values.items():
        setattr(attempt, name, value)
    if outcome.stdout or outcome.stderr:
        StepOutput.objects.create(attempt=attempt, stdout=outcome.stdout, stderr=outcome.stderr)
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


def _record_late(attempt: StepAttempt, result: Result) -> None:
    """The result of a lost lease is kept for the record and changes nothing."""
    StepAttempt.objects.filter(pk=attempt.pk).update(late_response=results.to_json(result))


def failure_context(change: Change, unit: Unit, result: Result) -> dict[str, object] | None:
    """What the next execution must know of this failure."""
    if result.status is not ResultStatus.FAILURE or unit.is_hook:
        return None
    return {
        "retry_attempt": change.run.retry_count + 1,
        "max_retries": change.plan.phase(unit.phase).max_retries,
        "previous_failure": {
            "phase": unit.phase.value,
            "step": unit.step.id,
            "error_message": result.message,
            "errors": list(result.errors),
            "failed_at": change.now.isoformat(),
            "details": dict(result.details),
        },
        "suggestions": list(result.suggested_fixes),
    }
