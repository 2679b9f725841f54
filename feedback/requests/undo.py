"""An answer in its undo time: it takes effect or is taken back, and whoever is first decides."""

from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from feedback.channels.github import outbox
from feedback.models import FeedbackRequest, FeedbackResponse
from feedback.requests.answers import carry_out, locked
from runs.domain.values.actors import Actor, Source
from runs.domain.values.errors import NotAllowed, Refused

_HELD, _TAKEN = FeedbackResponse.State.HELD, FeedbackResponse.State.TAKEN
# How long after its time a held answer may wait for its job before the sweep does the work.
_PATIENCE = timedelta(seconds=5)


def take_effect(response_pk: int) -> bool:
    """Send the run on; False when the answer was taken back or took effect before."""
    request_id = FeedbackResponse.objects.values_list("request__request_id", flat=True).get(
        pk=response_pk
    )
    with transaction.atomic():
        request, run = locked(request_id)
        if not _claim(response_pk, _TAKEN):
            return False
        response = FeedbackResponse.objects.get(pk=response_pk)
        carry_out(run, request, response, author_of(response))
    return True


def retract(request_id: str, actor: Actor) -> FeedbackResponse:
    """Take an answer back while nothing has come of it; the request is open again."""
    with transaction.atomic():
        request, _run = locked(request_id)
        response = _held_by(request, actor)
        if not _claim(response.pk, FeedbackResponse.State.RETRACTED):
            raise Refused("It is too late to undo this: the run has gone on.")
        FeedbackRequest.objects.filter(pk=request.pk).update(
            status=FeedbackRequest.Status.PENDING, closed_at=None
        )
        outbox.update(request)
    return response


def go_now(request_id: str, actor: Actor) -> None:
    """End the undo time early; late is no error, because the run goes on either way."""
    with transaction.atomic():
        request, _run = locked(request_id)
        response = _held_by(request, actor)
        take_effect(response.pk)


def catch_up(run_pk: int | None = None, most: int = 100) -> int:
    """Let answers take effect whose job is gone; of one run those that are due."""
    held = FeedbackResponse.objects.filter(state=_HELD)
    now = timezone.now()
    if run_pk is None:
        due = held.filter(held_until__lt=now - _PATIENCE)
    else:
        due = held.filter(request__run_id=run_pk, held_until__lte=now)
    return sum(take_effect(pk) for pk in list(due.values_list("pk", flat=True)[:most]))


def _claim(response_pk: int, state: FeedbackResponse.State) -> bool:
    """One conditional update decides between the worker and the person."""
    held = FeedbackResponse.objects.filter(pk=response_pk, state=_HELD)
    return bool(held.update(state=state))


def _held_by(request: FeedbackRequest, actor: Actor) -> FeedbackResponse:
    decision = request.decision
    if decision is None:
        raise Refused("There is no answer to undo.")
    if decision.identity != actor.identity:
        raise NotAllowed(f"Only {decision.who} can undo or hasten this answer.")
    return decision


def author_of(response: FeedbackResponse) -> Actor:
    """Whoever gave an answer, as it is on record."""
    by = response.provided_by
    return Actor(
        name=response.who,
        source=Source(response.source),
        method=str(by.get("method", "")),
        email=str(by.get("email", "")),
        account=str(by.get("account", "")),
        user_id=response.user_id,
    )
