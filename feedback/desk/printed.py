"""What the step printed that a request is about: where all of it is, and its first error."""

from dataclasses import dataclass

from feedback.models import FeedbackRequest
from runs.models import StepAttempt, StepOutput
from runs.pages.run import failures
from runs.pages.run.failures import PrintedError


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintedBefore:
    attempt: StepAttempt | None = None  # when what it printed was kept
    first: PrintedError | None = None


def printed_before(asked: FeedbackRequest) -> PrintedBefore:
    attempt = asked.attempt
    if attempt is None or not StepOutput.objects.filter(attempt=attempt).exists():
        return PrintedBefore()
    first = failures.error_of(attempt)
    # What the step itself says is shown already.
    if first and any(first.error.text in error for error in asked.background.errors):
        first = None
    return PrintedBefore(attempt=attempt, first=first)
