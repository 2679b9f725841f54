"""The desk: where one request is read, remarked on, answered, and taken back."""

from collections.abc import Mapping
from functools import cache, partial
from typing import Any

from django.http import HttpResponse, JsonResponse
from django.shortcuts import resolve_url
from django.utils.http import urlencode
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django_htmx.http import HttpResponseClientRedirect, retarget

from feedback.channels.notices import standing as notices
from feedback.desk import begun, files, past_failures, printed, review, rounds, thread
from feedback.desk.code import views as code_views
from feedback.desk.files import FileWish
from feedback.desk.forms import AnswerForm
from feedback.desk.page import Desk, answer_outlook, desk_of, find, version_of
from feedback.inbox import filters, open_requests
from feedback.inbox.filters import Filters
from feedback.models import Draft, FeedbackRequest
from feedback.requests import answers, drafts
from feedback.requests.find import find_request
from runs.accounts import permissions
from runs.domain.values.errors import FaberError, NotFound, Stale
from runs.engine import conformance
from runs.pages import guide
from runs.pages.http import (
    STOP_POLLING,
    PageRequest,
    SeeOther,
    download,
    fresh,
    noted,
    nothing_new,
    page,
    refusing,
    status_of,
    visitor,
)
from runs.pages.sign_in.views import keeping_words

_DESK = "feedback/request.html"


@keeping_words
@require_http_methods(["GET", "HEAD", "POST"])
@refusing
def request_page(request: PageRequest, request_id: str) -> HttpResponse:
    asked = find(request_id, seen_by=visitor(request))
    if request.method == "POST":
        return _answer(request, asked)
    if request.htmx.target == "standing":
        return _news(request, asked)
    everything = _everything(request, asked)
    if request.htmx.target == "shown":
        return page(request, _DESK, everything, part="shown")
    if everything["code"] and (part := code_views.fragment(request, everything["code"])):
        return part
    return page(request, _DESK, everything, part="exhibits")


@require_safe
@refusing
def artifact(request: PageRequest, request_id: str, revision: int, path: str) -> HttpResponse:
    return download(
        find_request(request_id, seen_by=visitor(request)).artifacts.all(), revision, path
    )


@keeping_words
@require_http_methods(["GET", "HEAD", "POST"])
@refusing
def draft(request: PageRequest, request_id: str) -> HttpResponse:
    """What is typed so far: kept while it is typed, or by a button where there are no scripts."""
    asked = find_request(request_id, seen_by=visitor(request))
    permissions.check_may_comment(visitor(request), asked.run)
    if request.method != "POST":
        return fresh(JsonResponse({"values": review.draft_of(asked, request.user)}))
    if "draft" in request.POST:
        typed = drafts.read(request.POST["draft"])
        merged = drafts.keep(Draft.objects.all(), typed, request=asked, author_id=request.user.pk)
        return fresh(JsonResponse({"conflicts": merged.conflicts}))
    form = AnswerForm(asked, request.POST)
    form.check()
    review.save_draft(asked, request.user, form.draft)
    return SeeOther(resolve_url("request", request_id))


@require_safe
@refusing
def held(request: PageRequest, request_id: str) -> HttpResponse:
    """Whether an answer can still be taken back; when it cannot, what came of it."""
    asked = find(request_id, seen_by=visitor(request))
    if any(response.is_held for response in asked.responses.all()):
        return nothing_new()
    return _seen_again(request, asked)


@require_POST
@refusing
def undo(request: PageRequest, request_id: str) -> HttpResponse:
    review.undo(find_request(request_id, seen_by=visitor(request)), visitor(request))
    # The request is open again: whoever undid it wants to be there, wherever they clicked.
    return _go_to(request, resolve_url("request", request_id))


@require_POST
@refusing
def go_now(request: PageRequest, request_id: str) -> HttpResponse:
    find_request(request_id, seen_by=visitor(request))
    answers.apply_now(request_id, visitor(request))
    if not request.htmx:
        return SeeOther(resolve_url("request", request_id))
    return _seen_again(request, find(request_id, seen_by=visitor(request)))


def _answer(request: PageRequest, asked: FeedbackRequest) -> HttpResponse:
    form = AnswerForm(asked, request.POST)
    actor = visitor(request)
    try:
        permissions.check_may_comment(actor, asked.run)
        form.check()
        # Kept with the answer, so that taking it back gives the words back too.
        review.save_draft(asked, request.user, form.draft)
        if request.POST.get("begun") == "add":
            begun.add_all(asked, request.user)
        review.send(
            asked,
            form.answer,
            author=request.user,
            actor=actor,
            comment=form.words.comment,
            seal=form.seen,
            has_edits=form.has_edits,
            rule=form.rule,
        )
    except FaberError as error:
        noted(request, error)
        return _refused(request, find(asked.request_id, seen_by=visitor(request)), form, error)
    answered = find(asked.request_id, seen_by=visitor(request))
    if following := _onward(request, answered):
        return _go_to(request, following)
    if not request.htmx:
        return SeeOther(resolve_url("request", asked.request_id))
    return page(request, _DESK, _everything(request, answered), part="desk")


def _onward(request: PageRequest, answered: FeedbackRequest) -> str:
    """The next request, for whoever works through the inbox; nothing when this was the last."""
    if not request.POST.get("onward"):
        return ""
    listed = _opened_from(request)
    following = open_requests.following(answered, visitor(request), listed)
    if following is None:
        return ""
    query = urlencode({"onward": listed.onward, "done": answered.request_id})
    return f"{resolve_url('request', following.request_id)}?{query}"


def _opened_from(request: PageRequest) -> Filters:
    """The list in the inbox that somebody works through; the next request is of it too."""
    return filters.read(request.POST.get("onward") or request.GET.get("onward", ""))


def _refused(
    request: PageRequest, asked: FeedbackRequest, form: AnswerForm, error: FaberError
) -> HttpResponse:
    """Say why, at the place that can mend it; what was typed stays on the page."""
    # What changed is beside the form, so all of it has to be seen again.
    part = "content" if isinstance(error, Stale) else "desk"
    context = {**_everything(request, asked, form.kept(asked, error)), "problem": error}
    response = page(request, _DESK, context, part=part, status=status_of(error))
    return retarget(response, f"#{part}")


def refused_page(
    request: PageRequest, asked: FeedbackRequest, error: FaberError, typed: Mapping[str, object]
) -> HttpResponse:
    """The same for what is done beside the answer."""
    context = {**_everything(request, asked), "problem": error, "steering": typed}
    return page(request, _DESK, context, status=status_of(error))


def thread_again(
    request: PageRequest, asked: FeedbackRequest, problem: FaberError | None
) -> HttpResponse:
    """The questions to the agent with the newest among them, or with why it was not asked."""
    context = {**_everything(request, asked), "unasked": problem}
    if problem is None:
        return page(request, _DESK, context, part="thread")
    typed = request.POST.get(thread.FIELD, "")
    context["thread"] = partial(thread.thread_of, asked, visitor(request), typed)
    return page(request, _DESK, context, part="thread", status=status_of(problem))


def _news(request: PageRequest, asked: FeedbackRequest) -> HttpResponse:
    """What happened to an open request since the page was made; typed words are not touched."""
    if request.GET.get("v") == version_of(asked):
        return nothing_new()
    context = _everything(request, asked)
    status = 200 if context["desk"].is_open else STOP_POLLING
    return page(request, _DESK, context, part="news", status=status)


def _seen_again(request: PageRequest, asked: FeedbackRequest) -> HttpResponse:
    """The part of the page that told of the answer, told anew."""
    if request.htmx.target == "done":
        return page(request, "feedback/_done.html", {"done": _done(request, asked)})
    response = page(request, _DESK, _everything(request, asked), part="desk")
    return retarget(response, "#desk")


def _go_to(request: PageRequest, address: str) -> HttpResponse:
    return HttpResponseClientRedirect(address) if request.htmx else SeeOther(address)


def _everything(
    request: PageRequest, asked: FeedbackRequest, form: AnswerForm | None = None
) -> dict[str, Any]:
    actor = visitor(request)
    desk = desk_of(asked, request.user, actor, form, inbox=_opened_from(request))
    wanted = wanted_by(request.GET)
    can_comment = desk.is_open and not desk.refusal
    before = cache(partial(rounds.rounds_of, asked))
    return {
        "desk": desk,
        "code": code_views.tab_of(request, asked, remarks=desk.remarks, can_comment=can_comment),
        "is_code": code_views.is_wanted(request.GET, asked, before),
        "done": _done_before(request),
        "onward": bool(request.GET.get("onward") or request.POST.get("onward")),
        # Called by the template, so that a part without them does not make them.
        "outlook": partial(answer_outlook, asked),
        "conformance": partial(conformance.shown_of, asked.run),
        "notified": partial(notices.of_request, asked),
        "guide": partial(guide.beside, request.user, asked.run),
        "thread": cache(partial(thread.thread_of, asked, actor, desk.question_begun)),
        "rounds": before,
        "memory": partial(past_failures.memory_of, asked),
        "printed": partial(printed.printed_before, asked),
        "exhibits": partial(files.exhibits_of, asked, actor, wanted, desk.remarks, desk.begun),
    }


def wanted_by(query: Mapping[str, str]) -> FileWish:
    return FileWish(
        file=query.get("file", ""),
        view=query.get("view", ""),
        since=query.get("since", ""),
        line=_number(query.get("line", "")),
        start=_number(query.get("start", "")),
    )


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 8 else 0


def _done_before(request: PageRequest) -> Desk | None:
    """What the person answered just before this page opened by itself."""
    name = request.GET.get("done", "")
    if not name:
        return None
    try:
        return _done(request, find(name, seen_by=visitor(request)))
    except NotFound:
        return None


def _done(request: PageRequest, asked: FeedbackRequest) -> Desk | None:
    desk = desk_of(asked, request.user, visitor(request))
    return None if desk.is_open else desk
