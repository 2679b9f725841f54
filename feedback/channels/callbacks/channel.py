"""Notes down which programs want to be called; `calls` calls them, after the commit."""

from feedback.channels.callbacks import outbound
from feedback.channels.callbacks.addresses import BadAddress
from feedback.channels.callbacks.outbound import CallFailed
from feedback.models import Callback, FeedbackRequest
from feedback.requests import outbox
from runs.domain.values.errors import Invalid, Problem
from runs.domain.values.status import RequestStatus
from runs.jobs import queue
from runs.jobs.table import Job
from runs.models import AccessToken, Run, clock


def check(url: str, *, place: str = "callback_url") -> None:
    """Refuse an address that will not be called; it asks for names, so outside any transaction."""
    try:
        outbound.checked(url)
    except (BadAddress, CallFailed) as error:
        raise Invalid([Problem(place, str(error))]) from error


def promise(request: FeedbackRequest, url: str, token: AccessToken) -> None:
    """Remember whom to call, in the transaction that opens the request."""
    Callback.objects.create(request=request, url=url, token=token)


def opened(request: FeedbackRequest) -> None:
    """Who asks leaves an address with `promise`."""


def changed(request: FeedbackRequest) -> None:
    """Have it called once the request is settled for good, whatever comes after."""
    promised = getattr(request, "callback", None)  # who locks a request reads it along
    if promised is None or not _is_settled(request):
        return
    still = Callback.objects.filter(pk=promised.pk, is_due=False, delivered_at=None, attempts=0)
    if still.update(is_due=True, next_try_at=clock.now()):
        queue.enqueue(Job.CALL_BACK, promised.pk)


def run_moved(run: Run) -> None:
    """A program waits for its own request only."""


def catch_up() -> None:
    """Queue the calls that should have been made by now and were not."""
    outbox.catch_up(Callback.objects.all(), Job.CALL_BACK)


def _is_settled(request: FeedbackRequest) -> bool:
    """Whether nothing can change any more: an answer in its undo time can be taken back."""
    if request.status == RequestStatus.PENDING:
        return False
    decision = request.decision
    return decision is None or not decision.is_held
