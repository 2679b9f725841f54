"""Calls the programs whose question is settled; what fails is tried again for about a day."""

import json
import logging
import secrets
from datetime import timedelta
from http import HTTPStatus

from django.db.models import QuerySet
from django.utils import timezone

from feedback.channels.callbacks import outbound
from feedback.channels.callbacks.addresses import BadAddress
from feedback.channels.callbacks.outbound import CallFailed
from feedback.channels.callbacks.signing import signed
from feedback.models import Callback
from feedback.requests import outbox
from feedback.requests.request_json import request_shape
from runs.jobs import log_context
from runs.jobs.table import Job
from runs.models import clock

logger = logging.getLogger(__name__)

# Longer than any call may take: whoever has a call has it alone for this long.
_TURN = timedelta(minutes=2)
# How long to wait after each failure; there are so many tries and one more.
PAUSES = tuple(
    timedelta(seconds=seconds)
    for seconds in (10, 30, 120, 300, 900, 3600, 3 * 3600, 6 * 3600, 11 * 3600)
)
TRIES = len(PAUSES) + 1


def call(callback_pk: int) -> None:
    """Tell one program what became of its request.

    Whoever is killed between the call and its record makes the call again: the receiver knows
    it by its id.
    """
    rows = Callback.objects.select_related("request__run", "token")
    callback = outbox.take(rows, callback_pk, turn=_TURN)
    if callback is None:
        return
    log_context.note_run(callback.request.run.run_id)
    if callback.token is None or callback.token.revoked_at:
        _stop(callback, "the token that asked was revoked")
        return
    body = json.dumps(request_shape(callback.request), ensure_ascii=False).encode()
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "FABER",
        **signed(callback.request.request_id, timezone.now(), body, token_pk=callback.token.pk),
    }
    try:
        status = outbound.post(callback.url, headers, body)
    except (BadAddress, CallFailed) as error:
        _put_off(callback, str(error))
        return
    if 200 <= status < 300:
        _done(callback)
    elif status == HTTPStatus.GONE:
        _stop(callback, "it returned 410 Gone, so FABER stopped calling it")
    else:
        _put_off(callback, f"it returned {status}{redirect_told(status)}")


def call_now(callback_pk: int) -> None:
    """Call at once, also what was given up."""
    waiting = Callback.objects.filter(pk=callback_pk, delivered_at=None)
    waiting.update(is_due=True, next_try_at=clock.now())
    call(callback_pk)


def _done(callback: Callback) -> None:
    _row(callback).update(is_due=False, delivered_at=timezone.now(), last_error="")


def _stop(callback: Callback, why: str) -> None:
    """For good, and nothing is broken: nobody is to try again."""
    logger.info("%s is not called any more: %s.", callback.request.request_id, why)
    _row(callback).update(is_due=False, attempts=0, last_error=why)


def _put_off(callback: Callback, why: str) -> None:
    logger.warning("%s could not be called back: %s.", callback.request.request_id, why)
    failed = callback.attempts + 1
    if failed >= TRIES:
        _row(callback).update(is_due=False, next_try_at=clock.now(), last_error=why)
        return
    outbox.put_off(callback, clock.now() + spread(PAUSES[failed - 1]), why, Job.CALL_BACK)


def _row(callback: Callback) -> QuerySet[Callback]:
    return Callback.objects.filter(pk=callback.pk)


def spread(pause: timedelta) -> timedelta:
    """A little more or less, so that calls which failed together do not come together again."""
    return pause * (0.8 + secrets.randbelow(401) / 1000)


def redirect_told(status: int) -> str:
    return "; redirects are not followed" if 300 <= status < 400 else ""
