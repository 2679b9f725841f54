"""Takes a question back that nobody needs an answer to any more; only whoever asked it can."""

from django.db import transaction

from feedback.models import FeedbackRequest
from feedback.requests import announce, recorded
from feedback.requests.answers import check_open
from runs import engine
from runs.accounts import permissions
from runs.chain import entries
from runs.domain.planning import event_texts
from runs.domain.values.actors import Actor
from runs.domain.values.errors import NotAllowed, NotFound, Refused
from runs.domain.values.questions import Action, Gate
from runs.domain.values.status import RequestStatus
from runs.engine.change import Change, locked
from runs.models import AuditKind, clock


def withdraw(request_id: str, *, actor: Actor, token: str) -> FeedbackRequest:
    """The step that asked is handed out again; a run that was made for the question ends."""
    with transaction.atomic():
        request = FeedbackRequest.objects.filter(request_id=request_id).first()
        if request is None:
            raise NotFound(f"There is no request {request_id}.")
        run = locked(request.run_id)
        request.refresh_from_db()
        request.run = run
        permissions.check_may_act(actor, run.project)
        _check(request, token)
        entries.write(
            AuditKind.RULE,
            actor=actor,
            run=run,
            request_id=request.request_id,
            what="withdrew the question",
        )
        if Gate(request.gate) is Gate.AFTER_STEP:
            _end(request, actor)
        else:
            _go_on(request, actor)
    return request


def _check(request: FeedbackRequest, token: str) -> None:
    if not request.asked_by:
        raise Refused("The workflow asks this, so it cannot be withdrawn.")
    if request.asked_by != token:
        raise NotAllowed("Only the token that asked can withdraw a question.")
    check_open(request)


def _end(request: FeedbackRequest, actor: Actor) -> None:
    change = Change(request.run)
    change.cancel(reason="The question was withdrawn.", actor=actor)
    change.write()
    request.refresh_from_db(fields=["status", "closed_at"])


def _go_on(request: FeedbackRequest, actor: Actor) -> None:
    request.status, request.closed_at = RequestStatus.CANCELLED, clock.now()
    request.save(update_fields=["status", "closed_at"])
    recorded.withdrawal(request, reason="Withdrawn by whoever asked.")
    announce.changed(request)
    engine.resume(
        request.run,
        after=request.attempt,
        gate=Gate(request.gate),
        action=Action.ANSWER,
        approved_gate="",
        request_id=request.request_id,
        feedback={
            "request_id": request.request_id,
            "type": request.type,
            "response": "",
            "comment": "The question was withdrawn; nobody answered it.",
            "withdrawn": True,
            "resume_point": request.resume_point,
        },
        events=[event_texts.run_resumed(request.run.unit, actor)],
    )
