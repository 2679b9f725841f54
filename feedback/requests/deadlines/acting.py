"""Does what time asks for, each thing once: reminds, asks others too, decides what nobody did.

A moment on the request is the truth, and a conditional update of it decides who acts. Whatever
was missed while the site was down is done once.
"""

import logging
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F, QuerySet

from feedback.models import FeedbackRequest
from feedback.requests import announce, answers, recorded
from feedback.requests.answers import Words
from runs.domain.values.actors import TIMEOUT
from runs.domain.values.errors import OnHold, Refused, Stale
from runs.domain.values.moments.durations import read_duration
from runs.domain.values.moments.timing import Moments, next_reminder
from runs.domain.values.status import RequestStatus
from runs.engine.change import locked
from runs.jobs import queue
from runs.jobs.table import Job
from runs.models import clock

logger = logging.getLogger(__name__)

# How long something due may wait for its job before another is queued.
_PATIENCE = timedelta(seconds=30)


def catch_up(most: int = 100) -> None:
    """Queue what time asks for by now; what was queued and lost is queued again."""
    now = clock.now()
    due = _open().filter(acts_at__lte=now).order_by("acts_at")
    for pk, seen in list(due.values_list("pk", "acts_at")[:most]):
        with transaction.atomic():
            # From now on it waits for this job, so that the next sweep does not queue another.
            if _still(pk, acts_at=seen).update(acts_at=now + _PATIENCE):
                queue.enqueue(Job.KEEP_TIME, pk)


def act(request_pk: int) -> None:
    """Do what is due for one request by now, and note when to look at it again."""
    now = clock.now()
    if not _times_out(request_pk, now):
        _escalate(request_pk, now)
        _remind(request_pk, now)
    _look_again(request_pk)


def _open() -> QuerySet[FeedbackRequest]:
    # An imported run rests, and another site's run is that site's business.
    return FeedbackRequest.objects.filter(
        status=RequestStatus.PENDING, run__on_hold=False, run__mirrors=""
    )


def _still(pk: int, **seen: object) -> QuerySet[FeedbackRequest]:
    """The request, if it is open and as it was seen: by its own columns only, which the database
    looks at again when somebody else was writing them."""
    return FeedbackRequest.objects.filter(pk=pk, status=RequestStatus.PENDING, **seen)


def _times_out(pk: int, now: datetime) -> bool:
    """Whether it is closed by what its workflow says for silence, or was by somebody just now."""
    late = _open().filter(pk=pk, due_at__lte=now).exclude(on_timeout="").first()
    if late is None or late.due_at is None:
        return False
    said = f"Nobody decided by {late.due_at:%Y-%m-%d %H:%M:%S} UTC."
    try:
        answers.respond(late.request_id, late.on_timeout, actor=TIMEOUT, words=Words(comment=said))
    except Stale:
        # Nobody has seen what is there now: silence about it says nothing.
        logger.warning("%s does not time out: what it shows has changed", late.request_id)
        _still(pk).update(on_timeout="")
        return False
    except OnHold:
        return False
    except Refused:  # somebody was first
        return True
    return True


def _escalate(pk: int, now: datetime) -> None:
    with transaction.atomic():
        due = _open().filter(pk=pk, escalate_at__lte=now)
        run_pk = due.values_list("run_id", flat=True).first()
        if run_pk is None:
            return
        run = locked(run_pk)
        request = due.first()
        if request is None:
            return
        mine = _still(pk, escalate_at=request.escalate_at)
        if not mine.update(**_asked_too(request, now)):
            return
        request.refresh_from_db()
        request.run = run
        recorded.question(request, list(request.artifacts.defer("content")))
        announce.escalated(request, request.escalate_to)
        announce.changed(request)


def _asked_too(request: FeedbackRequest, now: datetime) -> dict[str, object]:
    """Nobody named means anybody may answer: a name more would only shut others out."""
    joined = dict.fromkeys([*request.reviewers, *request.escalate_to])
    reviewers = list(joined) if request.reviewers else []
    return {"escalate_at": None, "escalated_at": now, "reviewers": reviewers}


def _remind(pk: int, now: datetime) -> None:
    with transaction.atomic():
        due = _open().filter(pk=pk, remind_at__lte=now)
        request = due.select_related("run__project").first()
        if request is None:
            return
        later = next_reminder(
            request.requested_at,
            read_duration(request.remind_every),
            now,
            request.run.project.hours,
        )
        mine = _still(pk, remind_at=request.remind_at)
        if mine.update(remind_at=later, reminded=F("reminded") + 1):
            announce.reminded(request, request.audience)


def _look_again(pk: int) -> None:
    request = _open().filter(pk=pk).first()
    if request is None:
        return
    moments = Moments(
        due_at=request.due_at, remind_at=request.remind_at, escalate_at=request.escalate_at
    )
    later = moments.next(times_out=bool(request.on_timeout))
    _still(pk, acts_at=request.acts_at).update(acts_at=later)
