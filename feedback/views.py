"""Pages of requests: the inbox, and the desk where one is answered."""

from functools import partial
from typing import Any

from django.http import HttpResponse
from django.shortcuts import resolve_url
from django.views.decorators.http import require_http_methods, require_safe
from django_htmx.http import retarget

from feedback import answering, showing
from feedback.finding import find_request
from feedback.forms import AnswerForm
from feedback.models import FeedbackRequest
from runs import accounts
from runs.domain.errors import FaberError, Stale
from runs.pages import (
    STOP_POLLING,
    PageRequest,
    SeeOther,
    download,
    nothing_new,
    page,
    refusing,
    status_of,
)
from runs.signing_in import keeping_words

_DESK = "feedback/request.html"


@require_safe
def inbox(request: PageRequest) -> HttpResponse:
    if request.htmx and request.GET.get("v") == showing.inbox_version():
        return nothing_new()
    shown = showing.inbox(request.GET.get("page", ""))
    return page(request, "feedback/inbox.html", {"inbox": shown}, part="requests")


@keeping_words
@require_http_methods(["GET", "HEAD", "POST"])
@refusing
def request_page(request: PageRequest, request_id: str) -> HttpResponse:
    asked = showing.find(request_id)
    if request.method == "POST":
        return _answer(request, asked)
    if request.htmx.target == "standing":
        return _news(request, asked)
    return page(request, _DESK, _everything(request, asked), part="artifacts")


@require_safe
@refusing
def artifact(_request: PageRequest, request_id: str, revision: int, path: str) -> HttpResponse:
    return download(find_request(request_id).artifacts.all(), revision, path)


def _answer(request: PageRequest, asked: FeedbackRequest) -> HttpResponse:
    form = AnswerForm(asked, request.POST)
    actor = accounts.actor_of(request.user)
    try:
        form.check()
        answering.respond(
            asked.request_id, form.answer, actor=actor, words=form.words, seal=form.seen
        )
    except FaberError as error:
        return _refused(request, showing.find(asked.request_id), form, error)
    if not request.htmx:
        return SeeOther(resolve_url("request", asked.request_id))
    return page(request, _DESK, _everything(request, showing.find(asked.request_id)), part="desk")


def _refused(
    request: PageRequest, asked: FeedbackRequest, form: AnswerForm, error: FaberError
) -> HttpResponse:
    """Say why, at the place that can mend it; what was typed stays on the page."""
    # What changed is beside the form, so all of it has to be seen again.
    part = "content" if isinstance(error, Stale) else "desk"
    context = {**_everything(request, asked, form.kept(asked, error)), "problem": error}
    response = page(request, _DESK, context, part=part, status=status_of(error))
    return retarget(response, f"#{part}")


def _news(request: PageRequest, asked: FeedbackRequest) -> HttpResponse:
    """What happened to an open request since the page was made; typed words are not touched."""
    if request.GET.get("v") == showing.version_of(asked):
        return nothing_new()
    context = _everything(request, asked)
    status = 200 if context["desk"].is_open else STOP_POLLING
    return page(request, _DESK, context, part="news", status=status)


def _everything(
    request: PageRequest, asked: FeedbackRequest, form: AnswerForm | None = None
) -> dict[str, Any]:
    source = request.GET.get("view") == "source"
    return {
        "desk": showing.desk(asked, accounts.actor_of(request.user), form),
        "evidence": showing.evidence_of(asked),
        # Called by the template, so that a part without artifacts does not render them.
        "artifacts": partial(showing.artifacts_of, asked, source=source),
        "is_source": source,
    }
