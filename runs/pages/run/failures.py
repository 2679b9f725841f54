"""The first error in what a failed attempt printed."""

from runs.domain.responses.results import ResultStatus
from runs.domain.values.printed.first_error import STREAMS, PrintedError, error_in
from runs.models import StepAttempt, StepOutput


def error_of(attempt: StepAttempt) -> PrintedError | None:
    if attempt.result != ResultStatus.FAILURE:
        return None
    kept = StepOutput.of(attempt)
    return error_in({name: kept.text(name) for name in STREAMS}) if kept else None
