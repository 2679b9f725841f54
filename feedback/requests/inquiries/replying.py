"""Takes the replies of programs: remote executors and clients that asked by the API or MCP."""

from django.db.models import QuerySet

from feedback.models import FeedbackRequest, Inquiry
from feedback.requests.answers import check_open
from feedback.requests.inquiries import settling
from runs.accounts import permissions
from runs.domain.values.actors import Actor
from runs.domain.values.errors import Invalid, NotAllowed, NotFound, Problem, Refused
from runs.models import clock
from runs.worker.remote import RemoteLease


def reply(request: FeedbackRequest, number: int, text: str, *, actor: Actor, token: str) -> Inquiry:
    """Record what a program says; it decides nothing, and only whoever is asked can."""
    inquiry = request.inquiries.filter(number=number).select_related("request__run").first()
    if inquiry is None:
        raise NotFound(f"The request {request.request_id} has no question {number}.")
    permissions.check_may_act(actor, request.run.project)
    if not inquiry.token:
        raise Refused("FABER puts this question to the agent itself.")
    if inquiry.token not in names_of(token):
        raise NotAllowed("Only the token that the question is for can reply.")
    if not text.strip():
        raise Invalid([Problem("answer", "must not be empty")])
    check_open(request)
    if not settling.settle(inquiry, answer=text.strip(), usage={"agent": token}):
        raise Refused(f"Question {number} has a reply already.")
    return inquiry


def names_of(token: str) -> set[str]:
    """By what a token is known: its name, and how a lease spells it."""
    return {token, RemoteLease.name_of(token)}


def is_asked(request_id: str, token: str) -> bool:
    """Whether there is a question that a program has not heard of."""
    return _unheard(request_id, token).exists()


def deliver(request_id: str, token: str) -> bool:
    """Whether the program is being told something: it need not be woken for that again."""
    unheard = _unheard(request_id, token)
    # A write that finds nothing would still take SQLite's only lock.
    return unheard.exists() and bool(unheard.update(delivered_at=clock.now()))


def _unheard(request_id: str, token: str) -> QuerySet[Inquiry]:
    return Inquiry.objects.filter(
        request__request_id=request_id,
        token__in=names_of(token),
        state=Inquiry.Stage.WAITING,
        delivered_at=None,
    ).exclude(token="")
