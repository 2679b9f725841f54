"""The desk of a batch, or of runs that somebody selected: one page, answered in one action."""

import json
from typing import Any

from django.http import HttpResponse, JsonResponse
from django.shortcuts import resolve_url
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from feedback.batches import aggregate, answering, comment, forms, kept, news
from feedback.batches.answering import RowResult
from feedback.batches.group import Group, Selection, links_of, selected
from feedback.batches.page import BatchDesk, desk_of, news_of
from feedback.batches.rows import Entered, key_of
from feedback.models import FeedbackRequest
from feedback.requests import drafts
from feedback.requests.find import find_request
from runs.domain.values.errors import NotFound
from runs.engine import batches
from runs.pages.http import (
    STOP_POLLING,
    PageRequest,
    SeeOther,
    fresh,
    nothing_new,
    page,
    refusing,
    visitor,
)
from runs.pages.sign_in.views import keeping_words

_DESK = "feedback/batch.html"
_PEEK_LINES = 12


@keeping_words
@require_http_methods(["GET", "HEAD", "POST"])
@refusing
def batch_page(request: PageRequest, batch_id: str) -> HttpResponse:
    return _desk(request, batches.find(batch_id, seen_by=visitor(request)))


@keeping_words
@require_http_methods(["GET", "HEAD", "POST"])
@refusing
def selection_page(request: PageRequest) -> HttpResponse:
    """The same desk for whichever runs somebody selected."""
    if request.method != "POST" and not request.GET.get("runs"):
        return SeeOther(resolve_url("runs"))  # where they are selected
    return _desk(request, _selected(request))


def _selected(request: PageRequest) -> Selection:
    return selected(request.GET.getlist("runs"), seen_by=visitor(request))


def _desk(request: PageRequest, batch: Group) -> HttpResponse:
    if request.method == "POST":
        return _sent(request, batch)
    if request.htmx and "v" in request.GET:
        return _news(request, batch)
    return page(request, _DESK, _context(request, batch), part="desk")


@keeping_words
@require_http_methods(["GET", "HEAD", "POST"])
@refusing
def draft(request: PageRequest, batch_id: str) -> HttpResponse:
    """What is typed so far, kept while it is typed."""
    return _draft(request, batches.find(batch_id, seen_by=visitor(request)))


@keeping_words
@require_http_methods(["GET", "HEAD", "POST"])
@refusing
def draft_of_selection(request: PageRequest) -> HttpResponse:
    return _draft(request, _selected(request))


def _draft(request: PageRequest, batch: Group) -> HttpResponse:
    if request.method != "POST":
        return fresh(JsonResponse({"values": kept.kept_of(batch, request.user)}))
    merged = kept.keep(batch, request.user, drafts.read(request.POST.get("draft", "")))
    return fresh(JsonResponse({"conflicts": merged.conflicts}))


@keeping_words
@require_POST
@refusing
def paste(request: PageRequest, batch_id: str) -> HttpResponse:
    """Answers as lines of text."""
    return _pasted(request, batches.find(batch_id, seen_by=visitor(request)))


@keeping_words
@require_POST
@refusing
def paste_for_selection(request: PageRequest) -> HttpResponse:
    return _pasted(request, _selected(request))


def _pasted(request: PageRequest, batch: Group) -> HttpResponse:
    text = request.POST.get("text", "")
    results = answering.answer_text(batch, text, visitor(request))
    left = _lines_left(text, results)
    kept.forget_lines(batch, request.user, left)
    return _answered(request, batch, Entered(), results, text=left)


@require_safe
@refusing
def prompt(request: PageRequest, batch_id: str) -> HttpResponse:
    """The aggregated prompt, to be read as it is or taken elsewhere."""
    return _prompt(request, batches.find(batch_id, seen_by=visitor(request)))


@require_safe
@refusing
def prompt_of_selection(request: PageRequest) -> HttpResponse:
    return _prompt(request, _selected(request))


def _prompt(request: PageRequest, batch: Group) -> HttpResponse:
    text = aggregate.prompt(batch)
    if request.htmx:
        return page(request, _DESK, {"prompt": text}, part="prompt")
    return fresh(HttpResponse(text, content_type="text/plain; charset=utf-8"))


@require_safe
@refusing
def peek(request: PageRequest, batch_id: str, request_id: str) -> HttpResponse:
    """The first lines of what a request shows."""
    asked = find_request(request_id, seen_by=visitor(request))
    if asked.run.batch_id != batches.find(batch_id, seen_by=visitor(request)).pk:
        raise NotFound(f"There is no request {request_id!r} in {batch_id}.")
    return _peek(request, asked)


@require_safe
@refusing
def peek_in_selection(request: PageRequest, request_id: str) -> HttpResponse:
    return _peek(request, find_request(request_id, seen_by=visitor(request)))


def _peek(request: PageRequest, asked: FeedbackRequest) -> HttpResponse:
    if not request.htmx:
        return SeeOther(resolve_url("request", asked.request_id))
    shown = [
        {
            "path": artifact.path,
            "revision": artifact.revision,
            "lines": artifact.lines[:_PEEK_LINES] if artifact.is_text else (),
            "more": max(0, len(artifact.lines) - _PEEK_LINES) if artifact.is_text else 0,
        }
        for artifact in asked.artifacts.all()[:3]
    ]
    return page(request, _DESK, {"shown": shown, "asked": asked}, part="peek")


def _sent(request: PageRequest, batch: Group) -> HttpResponse:
    actor = visitor(request)
    given = forms.entered(request.POST)
    if wish := request.POST.get("fill"):
        given = forms.filled(given, desk_of(batch, actor), wish)
        return page(request, _DESK, _context(request, batch, given), part="desk")
    read = aggregate.read(batch)
    sent = forms.sent(given, read, request.POST.get("seals", ""))
    results = answering.respond_many(sent.known, sent.answers, actor, sent.seals)
    applied = {result.run_id for result in results if result.is_applied}
    recorded = {key_of(row) for row in sent.known.rows if row.run.run_id in applied}
    kept.forget(batch, request.user, given, recorded)
    return _answered(request, batch, given, results)


def _answered(
    request: PageRequest, batch: Group, given: Entered, results: list[RowResult], text: str = ""
) -> HttpResponse:
    """What became of each; when nothing is left to say, a page that can be loaded again."""
    comment.tell_of(batch)
    refused = [result for result in results if not result.is_applied]
    if results and not refused and not request.htmx:
        return SeeOther(links_of(batch).with_query(sent=len(results)))
    context = {
        **_context(request, batch, given, results),
        "text": text,
        "is_empty": not results,
    }
    status = 200 if results and len(refused) < len(results) else 422
    return page(request, _DESK, context, part="desk", status=status)


def _lines_left(text: str, results: list[RowResult]) -> str:
    """The lines that were not taken, to be mended in place."""
    lines = text.replace("\r\n", "\n").split("\n")
    refused = {result.line for result in results if not result.is_applied}
    return "\n".join(line for n, line in enumerate(lines, start=1) if n in refused)


def _news(request: PageRequest, batch: Group) -> HttpResponse:
    since = request.GET.get("v", "")
    if since == news.version_of(batch):
        return nothing_new()
    desk = news_of(batch, visitor(request), since)
    status = STOP_POLLING if desk.is_over else 200
    return page(request, _DESK, {"desk": desk, "oob": True}, part="news", status=status)


def _context(
    request: PageRequest,
    batch: Group,
    given: Entered | None = None,
    results: list[RowResult] | None = None,
) -> dict[str, Any]:
    draft = kept.kept_of(batch, request.user)
    shown = kept.entered_in(draft) if given is None else given
    desk: BatchDesk = desk_of(batch, visitor(request), shown, results or ())
    return {
        "desk": desk,
        "draft": json.dumps(draft),
        "text": draft.get("text", ""),
        "sent": _number(request.GET.get("sent", "")),
    }


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 6 else 0
