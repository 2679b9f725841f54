"""What is done from the page of a request besides the answer: asking, handing over, overriding."""

from collections.abc import Callable

from django.http import HttpResponse
from django.shortcuts import resolve_url
from django.views.decorators.http import require_POST

from feedback.desk import review, thread, views
from feedback.desk.page import find
from feedback.models import FeedbackRequest
from feedback.requests import answers
from feedback.requests.handover import delegation
from feedback.requests.inquiries import asking
from runs.domain.values.actors import Actor
from runs.domain.values.errors import FaberError, Invalid, Problem
from runs.pages.http import PageRequest, SeeOther, noted, refusing, visitor
from runs.pages.sign_in.views import keeping_words


@keeping_words
@require_POST
@refusing
def ask(request: PageRequest, request_id: str) -> HttpResponse:
    actor = visitor(request)
    asked = find(request_id, seen_by=actor)
    problem = None
    try:
        asking.ask(request_id, request.POST.get(thread.FIELD, ""), actor=actor)
        review.drop_draft(asked, request.user, thread.FIELD)
    except FaberError as error:
        noted(request, error)
        problem = error
    if problem is None and not request.htmx:
        return SeeOther(f"{resolve_url('request', request_id)}#thread")
    return views.thread_again(request, find(request_id, seen_by=actor), problem)


@keeping_words
@require_POST
@refusing
def override(request: PageRequest, request_id: str) -> HttpResponse:
    def decide(_asked: FeedbackRequest, actor: Actor) -> None:
        reason = request.POST.get("reason", "").strip()
        if not reason:
            raise Invalid([Problem("", "Give the reason for your override.")])
        response, seal = request.POST.get("response", ""), request.POST.get("seal", "")
        answers.respond(request_id, response, actor=actor, seal=seal, override=reason)

    return _done(request, request_id, "override", decide)


@keeping_words
@require_POST
@refusing
def delegate(request: PageRequest, request_id: str) -> HttpResponse:
    def hand_over(_asked: FeedbackRequest, actor: Actor) -> None:
        to, comment = request.POST.get("to", ""), request.POST.get("comment", "")
        delegation.delegate(request_id, to, actor=actor, comment=comment)

    return _done(request, request_id, "delegate", hand_over)


def _done(
    request: PageRequest,
    request_id: str,
    what: str,
    work: Callable[[FeedbackRequest, Actor], None],
) -> HttpResponse:
    """Do it and show the request; where it is refused, with what was typed."""
    actor = visitor(request)
    asked = find(request_id, seen_by=actor)
    try:
        work(asked, actor)
    except FaberError as error:
        noted(request, error)
        typed = {what: request.POST.dict()}
        return views.refused_page(request, find(request_id, seen_by=actor), error, typed)
    return SeeOther(resolve_url("request", request_id))
