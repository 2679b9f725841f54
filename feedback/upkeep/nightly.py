"""Has the site cleaned up once a day, by one process of all machines."""

import logging
import time
from datetime import timedelta

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import OuterRef, Subquery

from feedback.models import FeedbackRequest, FeedbackResponse
from feedback.totals import kept
from feedback.upkeep import prune
from runs.domain.values.status import RequestStatus
from runs.jobs import queue
from runs.jobs.table import Job
from runs.models import Run, Upkeep, clock

logger = logging.getLogger(__name__)

_NAME = "nightly"
# A little less than a day: it stays at about the same time, and never skips one.
_EVERY = timedelta(hours=23, minutes=30)
_LOOK_SECONDS = 300.0
# What is over in any case is kept so long for people to look at.
KEPT = timedelta(days=30)


class Reminder:
    """Looks now and then whether it is time."""

    def __init__(self) -> None:
        self._next_look = time.monotonic()

    def look(self) -> None:
        if time.monotonic() < self._next_look:
            return
        self._next_look = time.monotonic() + _LOOK_SECONDS
        _name_projects()
        if _claim():
            queue.enqueue(Job.CLEAN_UP)


def clean_up() -> None:
    """With FABER_RETENTION_DAYS also what older runs printed and were told."""
    days, now = settings.FABER_RETENTION_DAYS, clock.now()
    removed = prune.prune(now - timedelta(days=days)) if days else prune.tidy(now - KEPT)
    told = ", ".join(f"{count} {name}" for name, count in removed.shape().items() if count)
    logger.info("cleaned up: %s", told or "nothing was old enough")
    kept.look_over()


def _name_projects() -> None:
    """Of what a worker of the release before asked or answered, while machines are upgraded."""
    asked = FeedbackRequest.objects.filter(status=RequestStatus.PENDING, project=None)
    own = Run.objects.filter(pk=OuterRef("run")).values("project")
    answered = FeedbackResponse.objects.filter(project=None)
    of_request = Run.objects.filter(requests=OuterRef("request")).values("project")
    for rows, project in ((asked, own), (answered, of_request)):
        if rows.exists():
            rows.update(project=Subquery(project))


def _claim() -> bool:
    """One conditional update decides between the machines; a new site begins its first day."""
    now = clock.now()
    due = Upkeep.objects.filter(name=_NAME, done_at__lt=now - _EVERY)
    if due.exists():
        return bool(due.update(done_at=now))
    if not Upkeep.objects.filter(name=_NAME).exists():
        try:
            with transaction.atomic():
                Upkeep.objects.create(name=_NAME, done_at=now)
        except IntegrityError:
            return False  # another machine did in this moment
    return False
