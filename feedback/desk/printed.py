"""What the step printed that a request is about: where all of it is, and its first error."""

from dataclasses import dataclass, replace

from feedback.models import FeedbackRequest
from runs.domain.values.background import Background
from runs.domain.values.printed.first_error import PrintedError
from runs.models import StepAttempt, StepOutput
from runs.pages.run import failures


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintedBefore:
    told: Background  # without the errors that are shown as what they are: output
    attempt: StepAttempt | None = None  # when what it printed was kept
    first: PrintedError | None = None


def printed_before(asked: FeedbackRequest) -> PrintedBefore:
    told, attempt = asked.background, asked.attempt
    if attempt is None or not StepOutput.objects.filter(attempt=attempt).exists():
        return PrintedBefore(told=told)
    first = failures.error_of(attempt)
    own = tuple(
        error
        for error in told.errors
        if not (told.is_output(error) or (first and error == first.error.text))
    )
    # What the step itself says is shown already.
    if first and any(first.error.text in error for error in own):
        first = None
    return PrintedBefore(told=replace(told, errors=own), attempt=attempt, first=first)
