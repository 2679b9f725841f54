"""Puts a question to the agent behind an open request; the request stays as it is."""

from django.db import transaction
from django.db.models import Max

from feedback.models import FeedbackRequest, Inquiry
from feedback.requests.answers import check_open
from feedback.requests.inquiries import on_record
from feedback.requests.inquiries.addressee import addressee_of
from runs.accounts import permissions
from runs.domain.values.actors import Actor
from runs.domain.values.errors import Invalid, NotFound, Problem
from runs.engine.change import locked
from runs.jobs import queue
from runs.jobs.table import Job
from runs.models import clock

LONGEST = 10_000


def ask(request_id: str, question: str, *, actor: Actor) -> Inquiry:
    """Note the question and have it answered; who may comment on the request may ask."""
    with transaction.atomic():
        request = FeedbackRequest.objects.filter(request_id=request_id).first()
        if request is None:
            raise NotFound(f"There is no request {request_id}.")
        run = locked(request.run_id)
        request.refresh_from_db()
        request.run = run
        permissions.check_may_comment(actor, run)
        check_open(request)
        text = _checked(question)
        asked = addressee_of(request)
        now = clock.now()
        last = request.inquiries.aggregate(last=Max("number"))["last"] or 0
        inquiry = Inquiry.objects.create(
            request=request,
            number=last + 1,
            question=text,
            asked_by=actor.describe(),
            asked_at=now,
            queued_at=now,
            attempt=asked.attempt,
            token=asked.token,
            agent=asked.agent[:100],
        )
        on_record.question(inquiry)
        if not inquiry.token:
            queue.enqueue(Job.ANSWER_INQUIRY, inquiry.pk)
    return inquiry


def _checked(question: str) -> str:
    text = question.replace("\0", "").strip()
    if not text:
        raise Invalid([Problem("question", "must not be empty")])
    if len(text) > LONGEST:
        raise Invalid([Problem("question", f"must have at most {LONGEST:,} characters")])
    return text
