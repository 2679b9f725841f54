"""Notes down which answers belong into the directory of a run that another FABER executes."""

from feedback.models import FeedbackRequest, WriteBack
from runs.models import Run


def opened(request: FeedbackRequest) -> None:
    """It was read from the directory: whoever works there knows it."""


def changed(request: FeedbackRequest) -> None:
    """Have `faber sync` write the answer there, once it can not be taken back any more."""
    if request.run.is_foreign and (decision := request.decision) and not decision.is_held:
        WriteBack.objects.get_or_create(response=decision)


def run_moved(run: Run) -> None:
    """The run moves there, and is read from there."""


def catch_up() -> None:
    """`faber sync` looks for what is due whenever it looks at all."""
