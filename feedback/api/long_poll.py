"""Waits a while for an answer, without taking the site away from everybody else."""

import threading
import time
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from feedback.models import FeedbackRequest, FeedbackResponse
from runs.domain.values.status import RequestStatus

LONGEST = 60.0
POLL_SECONDS = 0.25
# One web process has eight threads. Half of them may wait; who comes then is told to ask again.
SEATS = threading.BoundedSemaphore(4)
RETRY_AFTER = 2
# Where the server in front of Django says whether it was asked to end.
IS_ENDING = "faber.is_ending"


def is_leaving(request: HttpRequest) -> bool:
    """Whether this process ends within seconds: whoever waits had better ask the next one."""
    is_ending: Callable[[], bool] = request.META.get(IS_ENDING, lambda: False)
    return is_ending()


def say_when_to_ask_again(request: HttpRequest, response: HttpResponse, *, had_seat: bool) -> None:
    """Also to whoever would ask again at once."""
    if not had_seat or is_leaving(request):
        response["Retry-After"] = str(RETRY_AFTER)


def is_settled(request_id: str) -> bool:
    """Whether nobody can change the outcome any more; one look at an index."""
    held = FeedbackResponse.objects.filter(
        request__request_id=request_id, state=FeedbackResponse.State.HELD
    )
    is_open = FeedbackRequest.objects.filter(request_id=request_id, status=RequestStatus.PENDING)
    return not is_open.exists() and not held.exists()


def wait(
    request_id: str,
    seconds: float,
    *,
    has_news: Callable[[], bool] = lambda: False,
    sleep: Callable[[float], None] | None = None,
) -> tuple[bool, bool]:
    """Whether the request is settled, and whether there was a seat to wait in.

    What whoever waits has to hear meanwhile ends the wait early.
    """
    if is_settled(request_id):
        return True, True
    if has_news():
        return False, True
    if not SEATS.acquire(blocking=False):
        return False, False
    try:
        ends = time.monotonic() + min(seconds, LONGEST)
        while (left := ends - time.monotonic()) > 0:
            (sleep or time.sleep)(min(POLL_SECONDS, left))
            if is_settled(request_id):
                return True, True
            if has_news():
                break
        return False, True
    finally:
        SEATS.release()
