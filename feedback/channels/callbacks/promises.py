"""Keeps in mind which programs want to be called; `calling` calls them, after the commit."""

from django.utils import timezone

from feedback.channels.callbacks import outbound
from feedback.channels.callbacks.addresses import BadAddress
from feedback.channels.callbacks.outbound import CallFailed
from feedback.models import Callback, FeedbackRequest
from feedback.requests import outbox
from runs.domain.values.errors import Invalid, Problem
from runs.jobs import queue
from runs.models import AccessToken

CALL = "feedback.tasks.call_back"


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


def catch_up() -> None:
    """Queue the calls that should have been made by now and were not."""
    outbox.queue_again(Callback.objects.all(), CALL)
