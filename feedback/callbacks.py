"""Keeps in mind which programs want to be called; `calling` calls them, after the commit."""

from datetime import timedelta

from django.utils import timezone

from feedback import outbound
from feedback.domain.callback_urls import BadAddress
from feedback.models import Callback, FeedbackRequest
from feedback.outbound import CallFailed
from runs import queue
from runs.domain.errors import Invalid, Problem
from runs.models import AccessToken

CALL = "feedback.tasks.call_back"
# How long a due call may wait for its job before the sweep queues another.
_PATIENCE = timedelta(seconds=30)


def check(url: str) -> None:
    """Refuse an address that will not be called; it asks for names, so outside any transaction."""
    try:
        outbound.checked(url)
    except (BadAddress, CallFailed) as error:
        raise Invalid([Problem("callback_url", str(error))]) from error


def promise(request: FeedbackRequest, url: str, token: AccessToken) -> None:
    """Remember whom to call, in the transaction that opens the request."""
    Callback.objects.create(request=request, url=url, token=token)


def keep_promise(request: FeedbackRequest) -> None:
    """Have it called, in the transaction that settles the request: once, whatever comes after."""
    promised = getattr(request, "callback", None)  # who locks a request reads it along
    if promised is None:
        return
    still = Callback.objects.filter(pk=promised.pk, is_due=False, delivered_at=None, attempts=0)
    if still.update(is_due=True, next_try_at=timezone.now()):
        queue.enqueue(CALL, promised.pk)


def catch_up(most: int = 100) -> None:
    """Queue the calls that should have been made by now and were not."""
    now = timezone.now()
    late = Callback.objects.filter(is_due=True, next_try_at__lt=now - _PATIENCE)
    for pk in list(late.values_list("pk", flat=True)[:most]):
        # From now on it waits for this job, so that the next sweep does not queue another.
        if late.filter(pk=pk).update(next_try_at=now):
            queue.enqueue(CALL, pk)
