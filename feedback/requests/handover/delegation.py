"""Hands a request over: by whoever is asked, or by an operator in their place."""

from django.db import transaction

from feedback.models import FeedbackRequest
from feedback.requests import announce, recorded
from feedback.requests.answers import check_open, counted
from runs.accounts import permissions, users
from runs.chain import entries
from runs.domain.values.actors import Actor
from runs.domain.values.errors import AlreadyAnswered, Invalid, NotAllowed, NotFound, Problem
from runs.domain.values.events import timestamp
from runs.engine.change import locked
from runs.models import AuditKind, Run, clock

LONGEST_COMMENT = 2000


def delegate(request_id: str, to: str, *, actor: Actor, comment: str = "") -> FeedbackRequest:
    """Let somebody else answer in one's place; both names stay on record."""
    with transaction.atomic():
        request = FeedbackRequest.objects.filter(request_id=request_id).first()
        if request is None:
            raise NotFound(f"There is no request {request_id}.")
        run = locked(request.run_id)
        request.refresh_from_db()
        request.run = run
        check_open(request)
        giver = _giver(request, actor)
        name = _receiver(run, request, to)
        _hand(request, giver, name, actor, comment.strip()[:LONGEST_COMMENT])
    return request


def _giver(request: FeedbackRequest, actor: Actor) -> str:
    """In whose place the other will answer."""
    already = {response.identity for response in counted(request)}
    if actor.identity in already:
        raise AlreadyAnswered("You have answered this already, so there is nothing to hand over.")
    refusal = permissions.refusal_to_answer(actor, request.run, request.deciders)
    if not refusal:
        return actor.username or actor.account or actor.name
    if actor.is_agent or not permissions.may_operate(actor, request.run.project):
        raise NotAllowed(refusal)
    return request.assignee or actor.username or actor.account or actor.name


def _receiver(run: Run, request: FeedbackRequest, to: str) -> str:
    if wrong := users.people().problem_with(to.strip()):
        raise Invalid([Problem("to", wrong)])
    if to.strip().startswith("group:"):
        raise Invalid([Problem("to", "name an account, not a group")])
    user = users.find(to.strip())
    if refusal := permissions.refusal_to_answer(users.actor_of(user), run, ()):
        raise Invalid(
            [Problem("to", f"{user.get_username()} can't answer this request. {refusal}")]
        )
    if user.get_username() == request.assignee:
        raise Invalid([Problem("to", f"{user.get_username()} has it already")])
    return user.get_username()


def _hand(request: FeedbackRequest, giver: str, name: str, actor: Actor, comment: str) -> None:
    if giver.casefold() == name.casefold() and not request.assignee:
        raise Invalid([Problem("to", "choose somebody else than yourself")])
    at = timestamp(clock.now())
    handed = {"from": giver, "to": name, "at": at, "comment": comment}
    request.delegated = [*request.delegated, handed]
    request.assignee = name
    request.save(update_fields=["delegated", "assignee"])
    recorded.question(request, list(request.artifacts.defer("content")))
    entries.write(
        AuditKind.RULE,
        actor=actor,
        run=request.run,
        request_id=request.request_id,
        what=f"handed over from {giver} to {name}",
        comment=comment,
    )
    announce.delegated(request, name)
    announce.changed(request)
