"""Has agents answer what reviewers ask: one question after the other, each in its own session."""

import logging
import secrets
import time
from datetime import timedelta

from django.conf import settings
from django.db import IntegrityError, connection, transaction
from django.db.models import F, Q

from feedback.models import FeedbackRequest, Inquiry
from feedback.requests.inquiries import settling
from runs.domain.responses.results import failure
from runs.domain.values.status import RequestStatus
from runs.domain.values.text import fenced, one_line
from runs.engine.change import lease_end
from runs.engine.concealing import concealed
from runs.executors.agents.remarks import MAY_ANSWER
from runs.executors.orders import Hold, Outcome
from runs.jobs import draining, queue, register
from runs.jobs.table import Job
from runs.models import clock, machine
from runs.models.statements import OUT_OF_REACH
from runs.worker import inquiring
from runs.worker.advance import worker_name
from runs.worker.settling import until_it_answers
from runs.workspaces import recognising

logger = logging.getLogger(__name__)

# A question whose worker died is asked again by itself this often.
MOST_TRIES = 3
DIED = "The worker stopped each time while the agent was answering. Ask again."
NOWHERE = "The files of this run are on {host}, which has no worker now. Start `faber work` there."

# How long a question may wait for a worker before its job counts as lost.
_PATIENCE = timedelta(seconds=5)
_LOOK_SECONDS = 1.0


def answer(inquiry_pk: int) -> None:
    """Answer what waits on the request of this question, the oldest first."""
    first = Inquiry.objects.filter(pk=inquiry_pk).first()
    if first is None:
        return
    if draining.is_asked():
        queue.enqueue(Job.ANSWER_INQUIRY, inquiry_pk)
        return
    while (inquiry := _taken(first.request_id)) is not None:
        _answer(inquiry)


def catch_up() -> None:
    """Ask again what a dead worker was asking, and queue what has no job."""
    now, lasts = clock.now(), timedelta(seconds=settings.FABER_LEASE_SECONDS)
    # Further ahead than any lease: the clock was set back.
    lost = Q(lease_until__lt=now - lasts / 4) | Q(lease_until__gt=now + lasts * 2)
    for inquiry in Inquiry.objects.filter(lost, state=Inquiry.Stage.ASKING):
        _bring_back(inquiry)
    waiting = Inquiry.objects.filter(state=Inquiry.Stage.WAITING)
    for inquiry in waiting.exclude(request__status=RequestStatus.PENDING)[:100]:
        settling.drop(inquiry)
    before = queue.lost_before(Job.ANSWER_INQUIRY, now, _PATIENCE)
    for inquiry in waiting.filter(token="", queued_at__lt=before)[:100]:
        _queue(inquiry)


def _bring_back(inquiry: Inquiry) -> None:
    mine = Inquiry.objects.filter(
        pk=inquiry.pk, state=Inquiry.Stage.ASKING, lease_until=inquiry.lease_until
    )
    if inquiry.tries >= MOST_TRIES:
        settling.settle(inquiry, problem=DIED)
        return
    with transaction.atomic():
        if mine.update(state=Inquiry.Stage.WAITING, worker="", lease_until=None):
            _queue(inquiry)


def _queue(inquiry: Inquiry) -> None:
    with transaction.atomic():
        Inquiry.objects.filter(pk=inquiry.pk).update(queued_at=clock.now())
        queue.enqueue(Job.ANSWER_INQUIRY, inquiry.pk)


def _taken(request_pk: int) -> Inquiry | None:
    """The next question of a request, signed for; None while another of its is being answered."""
    waiting = Inquiry.objects.filter(
        request=request_pk, state=Inquiry.Stage.WAITING, token=""
    ).order_by("number")
    inquiry = waiting.select_related("request__run__project", "attempt__run__project").first()
    if inquiry is None:
        return None
    if inquiry.request.status != RequestStatus.PENDING:
        settling.drop(inquiry)
        return _taken(request_pk)
    if not recognising.is_here(inquiry.request.run):
        _hand_on(inquiry)
        return None
    worker, until = worker_name(), lease_end(clock.now())
    signed = {"state": Inquiry.Stage.ASKING, "worker": worker, "lease_until": until}
    try:
        with transaction.atomic():
            taken = Inquiry.objects.filter(pk=inquiry.pk, state=Inquiry.Stage.WAITING).update(
                **signed, tries=F("tries") + 1
            )
    except IntegrityError:
        return None  # whoever has the other one takes this one next
    for name, value in signed.items():
        setattr(inquiry, name, value)
    return inquiry if taken else _taken(request_pk)


def _hand_on(inquiry: Inquiry) -> None:
    """Let the machine have it that has the run's files."""
    host = inquiry.request.run.host
    if host != machine.name() and register.may_come_back(host):
        queue.hand_to(host, Job.ANSWER_INQUIRY, inquiry.pk)
    else:
        settling.settle(inquiry, problem=NOWHERE.format(host=host))


def _answer(inquiry: Inquiry) -> None:
    holding = Holding(inquiry)
    outcome = _asked(inquiry, holding)
    if holding.is_closed:
        until_it_answers(lambda: settling.drop(inquiry))
        return
    if outcome.ended == "stopped":
        return  # somebody else has it, or nobody: then the sweep asks again
    result = outcome.result
    said = str(result.details.get("answer") or "")
    until_it_answers(
        lambda: settling.settle(
            inquiry,
            answer=said,
            problem="" if said else result.message,
            usage=outcome.usage,
            session=outcome.session,
        )
    )


def _asked(inquiry: Inquiry, holding: "Holding") -> Outcome:
    if inquiry.attempt is None:
        return Outcome(result=failure("The step that the question is about is gone."))
    return inquiring.ask(inquiry.attempt, _question(inquiry), holding)


def _question(inquiry: Inquiry) -> str:
    """The reviewer's words as data, with what they look at."""
    words = fenced(
        concealed(inquiry.question),
        mark=secrets.token_hex(8),
        author=inquiry.who or "a reviewer",
        channel=str(inquiry.asked_by.get("source") or ""),
        permission=MAY_ANSWER,
    )
    return f"The reviewer is asked: {one_line(inquiry.request.prompt, 500)}\n\n{words}"


class Holding:
    """Keeps a worker's hold on a question while the agent answers; ends it with the request."""

    def __init__(self, inquiry: Inquiry) -> None:
        self.is_closed = False  # the request, before there was an answer
        self._mine = Inquiry.objects.filter(
            pk=inquiry.pk, state=Inquiry.Stage.ASKING, worker=inquiry.worker
        )
        self._open = FeedbackRequest.objects.filter(
            pk=inquiry.request_id, status=RequestStatus.PENDING
        )
        self._renewed = self._looked = time.monotonic()
        self._is_lost = False

    def line(self, stream: str, text: str) -> None: ...

    def should_stop(self) -> bool:
        now = time.monotonic()
        is_over = self.is_closed or self._is_lost
        if not is_over and now - self._looked >= _LOOK_SECONDS:
            self._looked = now
            self._look(now)
        return self.is_closed or self._is_lost

    def hold(self) -> Hold:
        lasts = settings.FABER_LEASE_SECONDS
        return Hold(until=self._renewed + lasts, patience=lasts / 8)

    def _look(self, now: float) -> None:
        try:
            if now - self._renewed >= settings.FABER_LEASE_SECONDS / 6:
                self._is_lost = not self._mine.update(lease_until=lease_end(clock.now()))
                self._renewed = now
            self.is_closed = not self._is_lost and not self._open.exists()
        except OUT_OF_REACH as error:
            logger.warning("could not look at a question under way: %s", str(error).strip())
            connection.close()
