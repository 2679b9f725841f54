"""Comments on lines of an artifact: written, changed and removed until they are sent."""

from functools import partial
from typing import Any

from django.http import HttpResponse
from django.shortcuts import resolve_url
from django.utils.http import urlencode
from django.views.decorators.http import require_http_methods, require_POST
from django_htmx.http import retarget

from feedback.desk import begun, review
from feedback.desk.forms import RemarkChangeForm, RemarkForm
from feedback.desk.page import answer_outlook, desk_of
from feedback.models import FeedbackRequest, ReviewComment
from feedback.requests.find import find_request
from runs.accounts import permissions
from runs.pages.http import PageRequest, SeeOther, page, refusing, visitor
from runs.pages.sign_in.views import keeping_words

_DESK = "feedback/request.html"
_FORM = "feedback/_remark_form.html"
_CHANGE = "feedback/_change_form.html"
_ALONE = "feedback/remark.html"


@keeping_words
@require_http_methods(["GET", "HEAD", "POST"])
@refusing
def remarks(request: PageRequest, request_id: str) -> HttpResponse:
    """GET: the field for a comment on lines; POST: the comment."""
    asked = _found(request, request_id)
    if request.method != "POST":
        if not request.GET.get("line"):
            return SeeOther(resolve_url("request", asked.request_id))  # where lines are chosen
        form = RemarkForm(initial={**request.GET.dict(), "kind": "must"})
        return _field(request, asked, form)
    form = RemarkForm(request.POST)
    if not form.is_valid():
        return retarget(_field(request, asked, form, status=422), "#remark-form")
    added = review.remark(asked, request.user, form.place, **form.said)
    begun.forget(asked, request.user, [form.cleaned_data["begun"]])
    return _listed(request, asked, added)


@keeping_words
@require_http_methods(["GET", "HEAD", "POST"])
@refusing
def remark(request: PageRequest, request_id: str, pk: int) -> HttpResponse:
    """GET: a comment in a field; POST: the comment changed."""
    asked = _found(request, request_id)
    found = review.find(asked, request.user, pk)
    kept = {"body": found.body, "kind": found.kind, "replacement": found.replacement}
    form = RemarkChangeForm(request.POST if request.method == "POST" else None, initial=kept)
    if not form.is_valid():
        status = 422 if form.is_bound else 200
        context: dict[str, Any] = {
            "asked": asked,
            "remark": found,
            "form": form,
            "address": request.path,
            "fields": _CHANGE,
        }
        response = page(request, _CHANGE if request.htmx else _ALONE, context, status=status)
        return retarget(response, ".remark-form")
    review.change(found, **form.said)
    begun.forget(asked, request.user, [form.cleaned_data["begun"]])
    return _listed(request, asked, found)


@require_POST
@refusing
def remove(request: PageRequest, request_id: str, pk: int) -> HttpResponse:
    asked = _found(request, request_id)
    review.find(asked, request.user, pk).delete()
    return _listed(request, asked, None)


def _field(
    request: PageRequest, asked: FeedbackRequest, form: RemarkForm, status: int = 200
) -> HttpResponse:
    """Beside its lines for a script, which shows them; on a page of its own otherwise."""
    context: dict[str, Any] = {"asked": asked, "form": form}
    if request.htmx:
        return page(request, _FORM, context, status=status)
    place = {name: form[name].value() or "" for name in ("path", "revision", "quote")}
    context |= {"remark": {**place, "lines": form.where}, "fields": _FORM}
    return page(request, _ALONE, context, status=status)


def _found(request: PageRequest, request_id: str) -> FeedbackRequest:
    asked = find_request(request_id, seen_by=visitor(request))
    permissions.check_may_comment(visitor(request), asked.run)
    return asked


def _listed(
    request: PageRequest, asked: FeedbackRequest, last: ReviewComment | None
) -> HttpResponse:
    if request.htmx:
        desk = desk_of(asked, request.user, visitor(request))
        context = {"desk": desk, "last": last, "outlook": partial(answer_outlook, asked)}
        return page(request, _DESK, context, part="listed")
    address = resolve_url("request", asked.request_id)
    if last is None:
        return SeeOther(f"{address}#remarks")
    if last.side:
        query = urlencode({"tab": "changes", "path": last.path})
        return SeeOther(f"{address}?{query}#changes")
    query = urlencode({"view": "source", "file": last.path})
    return SeeOther(f"{address}?{query}#L{last.line}")
