"""Sends notices, each once as far as its service allows; what fails is tried again for a day.

A worker for short jobs also lets answers take effect, so it never waits for a receiver itself:
each message has a thread of its own, and a job that finds no free one comes back later.
"""

import logging
import threading
from datetime import datetime, timedelta

from django.conf import settings
from django.db import connections as databases
from django.db import transaction
from django.db.models import QuerySet

from feedback.channels.callbacks.calls import spread
from feedback.channels.notices import delivery, receivers
from feedback.channels.notices.failures import SendingFailed
from feedback.channels.notices.receivers import Receiver
from feedback.models import Notice, NoticeKind
from feedback.models.notices import CLOSING
from feedback.requests import outbox
from runs.domain.values.status import RequestStatus
from runs.jobs import queue
from runs.jobs.table import Job
from runs.models import clock

logger = logging.getLogger(__name__)

# Kept while a sending lasts: so long after a worker was killed another sends its notice.
_TURN = timedelta(seconds=9)
# How long to wait after each failure; there are so many tries and one more.
PAUSES = tuple(
    timedelta(seconds=seconds)
    for seconds in (5, 30, 120, 300, 900, 3600, 3 * 3600, 6 * 3600, 11 * 3600)
)
TRIES = len(PAUSES) + 1
_UNTIL_ONE_IS_FREE = timedelta(seconds=1)
_slots = threading.BoundedSemaphore(max(settings.FABER_NOTICE_THREADS, 1))


def hand_over(notice_pk: int) -> None:
    """Have one notice sent, without waiting for it."""
    if not settings.FABER_NOTICE_THREADS:
        send(notice_pk)
    elif _slots.acquire(blocking=False):
        # No daemon: a worker that ends in peace sends what it has begun.
        threading.Thread(target=_send_alone, args=[notice_pk], name="notice").start()
    else:
        queue.enqueue_at(clock.now() + _UNTIL_ONE_IS_FREE, Job.SEND_NOTICE, notice_pk)


def _send_alone(notice_pk: int) -> None:
    try:
        send(notice_pk)
    finally:
        databases.close_all()  # this thread's own
        _slots.release()


def send(notice_pk: int) -> None:
    """Send one notice, or what was collected with it.

    Whoever is killed between the sending and its record sends again: mail with the same id, and
    an edited message stays one; other services cannot tell a repetition.
    """
    notice = outbox.take(_rows(), notice_pk, turn=_TURN)
    if notice is None:
        return
    receiver = receivers.find(notice)
    if receiver is None:
        _drop(notice, "notices to this receiver are off")
    elif why := _needless(notice):
        _drop(notice, why)
    elif (quiet := _quiet_until(notice)) > clock.now():
        _postpone(notice, quiet)
    else:
        _send_to(receiver, notice)


def send_now(notice_pk: int) -> None:
    """Send at once, also what was given up."""
    unsent = Notice.objects.filter(pk=notice_pk, sent_at=None)
    unsent.update(is_due=True, next_try_at=clock.now(), attempts=0)
    send(notice_pk)


def _send_to(receiver: Receiver, notice: Notice) -> None:
    together = [notice, *(_collected(notice) if notice.in_digest else ())]
    try:
        with outbox.Turn(notice, _TURN):
            reference = delivery.deliver(receiver, together)
    except SendingFailed as error:
        for each in together:
            _put_off(each, str(error))
    else:
        _done(together, reference)


def _collected(first: Notice) -> list[Notice]:
    """What else is due in the same digest, each taken by us alone."""
    others = Notice.objects.filter(
        receiver=first.receiver, in_digest=True, is_due=True, next_try_at__lte=clock.now()
    ).exclude(pk=first.pk)
    taken = (outbox.take(_rows(), pk, turn=_TURN) for pk in others.values_list("pk", flat=True))
    found = []
    for notice in filter(None, taken):
        if why := _needless(notice):
            _drop(notice, why)
        else:
            found.append(notice)
    return found


def _needless(notice: Notice) -> str:
    """Why nobody needs it any more; nothing when somebody does."""
    announcement = notice.announcement
    asked, kind = announcement.request, announcement.kind
    if asked is None:
        return ""
    if kind not in CLOSING:
        is_open = asked.status == RequestStatus.PENDING
        return "" if is_open else "the request was closed before"
    told_before = delivery.opening_of(notice)
    if told_before and told_before.is_due and not told_before.sent_at:
        # Whoever was not told yet need not be: unless it is being sent right now.
        Notice.objects.filter(pk=told_before.pk, sent_at=None).update(is_due=False)
        return "the request was closed before anybody was told of it"
    if told_before is None or not told_before.sent_at:
        return "nobody was told of the request"
    if notice.user_id and asked.decision and asked.decision.user_id == notice.user_id:
        return "" if delivery.is_rewritten(notice, told_before) else "they decided it themselves"
    return ""


def _quiet_until(notice: Notice) -> datetime:
    now = clock.now()
    if notice.user is None or notice.announcement.kind == NoticeKind.TEST:
        return now
    return receivers.person(notice.user).hours.after_quiet(now)


def _postpone(notice: Notice, until: datetime) -> None:
    _row(notice).update(attempts=0)
    outbox.put_off(notice, until, "", Job.SEND_NOTICE)


def _done(sent: list[Notice], reference: dict[str, str]) -> None:
    now = clock.now()
    with transaction.atomic():
        for notice in sent:
            said = {"sent_at": now, "last_error": "", "reference": reference}
            if not _row(notice).filter(is_due=True).update(is_due=False, attempts=0, **said):
                _row(notice).update(**said)
                _follow_up(notice)


def _follow_up(notice: Notice) -> None:
    """It was called off while it was being sent: then it needs the end of the story after all."""
    ends = Notice.objects.filter(
        announcement__request=notice.announcement.request,
        announcement__kind__in=CLOSING,
        receiver=notice.receiver,
        sent_at=None,
    )
    for pk in list(ends.values_list("pk", flat=True)):
        Notice.objects.filter(pk=pk).update(is_due=True, attempts=0, next_try_at=clock.now())
        queue.enqueue(Job.SEND_NOTICE, pk)


def _drop(notice: Notice, why: str) -> None:
    """For good, and nothing is broken."""
    _row(notice).update(is_due=False, attempts=0, last_error="", reference={"dropped": why})


def _put_off(notice: Notice, why: str) -> None:
    logger.warning("A notice to %s was not sent: %s.", notice.told_to, why)
    failed = notice.attempts + 1
    if failed >= TRIES:
        _row(notice).update(is_due=False, next_try_at=clock.now(), last_error=why)
        return
    until = clock.now() + spread(PAUSES[failed - 1])
    outbox.put_off(notice, until, why, Job.SEND_NOTICE)
    # Who does not answer keeps one thread waiting, and not one for each notice.
    others = Notice.objects.filter(receiver=notice.receiver, is_due=True, next_try_at__lt=until)
    others.exclude(pk=notice.pk).update(next_try_at=until)


def _row(notice: Notice) -> QuerySet[Notice]:
    return Notice.objects.filter(pk=notice.pk)


def _rows() -> QuerySet[Notice]:
    about = ("request__run__project", "request__snapshot", "request__attempt", "run__project")
    return Notice.objects.select_related(
        "user__notice_settings", "announcement__project", *(f"announcement__{to}" for to in about)
    )
