"""The desk of a batch: one page for all its runs, answered in one action."""

from typing import Any

from django.http import HttpResponse
from django.shortcuts import resolve_url
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from feedback.batches import aggregate, answering, comment, forms, news
from feedback.batches.answering import RowResult
from feedback.batches.page import BatchDesk, desk_of, news_of
from feedback.batches.rows import Entered
from feedback.requests.find import find_request
from runs.accounts import users
from runs.domain.values.errors import NotFound
from runs.engine import batches
from runs.models import Batch
from runs.pages.http import STOP_POLLING, PageRequest, SeeOther, fresh, nothing_new, page, refusing
from runs.pages.sign_in.views import keeping_words

_DESK = "feedback/batch.html"
_PEEK_LINES = 12


@keeping_words
@require_http_methods(["GET", "HEAD", "POST"])
@refusing
def batch_page(request: PageRequest, batch_id: str) -> HttpResponse:
    batch = batches.find(batch_id)
    if request.method == "POST":
        return _sent(request, batch)
    if request.htmx and "v" in request.GET:
        return _news(request, batch)
    return page(request, _DESK, _context(request, batch), part="desk")


@require_POST
@refusing
def paste(request: PageRequest, batch_id: str) -> HttpResponse:
    """Answers as lines of text."""
    batch = batches.find(batch_id)
    text = request.POST.get("text", "")
    results = answering.answer_text(batch, text, users.actor_of(request.user))
    left = _lines_left(text, results)
    return _answered(request, batch, Entered(), results, text=left)


@require_safe
@refusing
def prompt(request: PageRequest, batch_id: str) -> HttpResponse:
    """The aggregated prompt, to be read as it is or taken elsewhere."""
    text = aggregate.prompt(batches.find(batch_id))
    if request.htmx:
        return page(request, _DESK, {"prompt": text}, part="prompt")
    return fresh(HttpResponse(text, content_type="text/plain; charset=utf-8"))


@require_safe
@refusing
def peek(request: PageRequest, batch_id: str, request_id: str) -> HttpResponse:
    """The first lines of what a request shows."""
    asked = find_request(request_id)
    if asked.run.batch_id != batches.find(batch_id).pk:
        raise NotFound(f"There is no request {request_id!r} in {batch_id}.")
    if not request.htmx:
        return SeeOther(resolve_url("request", request_id))
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


def _sent(request: PageRequest, batch: Batch) -> HttpResponse:
    actor = users.actor_of(request.user)
    given = forms.entered(request.POST)
    if wish := request.POST.get("fill"):
        given = forms.filled(given, desk_of(batch, actor), wish)
        return page(request, _DESK, _context(request, batch, given), part="desk")
    read = aggregate.read(batch)
    sent = forms.sent(given, read, request.POST.get("seals", ""))
    results = answering.respond_many(sent.known, sent.answers, actor, sent.seals)
    return _answered(request, batch, given, results)


def _answered(
    request: PageRequest, batch: Batch, given: Entered, results: list[RowResult], text: str = ""
) -> HttpResponse:
    """What became of each; when nothing is left to say, a page that can be loaded again."""
    comment.tell(batch.pk)
    refused = [result for result in results if not result.is_applied]
    if results and not refused and not request.htmx:
        return SeeOther(f"{resolve_url('batch', batch.batch_id)}?sent={len(results)}")
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


def _news(request: PageRequest, batch: Batch) -> HttpResponse:
    since = request.GET.get("v", "")
    if since == news.version_of(batch):
        return nothing_new()
    desk = news_of(batch, users.actor_of(request.user), since)
    status = STOP_POLLING if desk.is_over else 200
    return page(request, _DESK, {"desk": desk, "oob": True}, part="news", status=status)


def _context(
    request: PageRequest,
    batch: Batch,
    given: Entered | None = None,
    results: list[RowResult] | None = None,
) -> dict[str, Any]:
    desk: BatchDesk = desk_of(batch, users.actor_of(request.user), given, results or ())
    return {"desk": desk, "sent": _number(request.GET.get("sent", ""))}


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 6 else 0
