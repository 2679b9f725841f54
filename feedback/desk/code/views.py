"""Parts of the tab of code changes, and what people do there."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import PurePosixPath
from typing import Any

from django.http import HttpResponse
from django.shortcuts import resolve_url
from django.template.loader import render_to_string
from django.utils.http import urlencode
from django.views.decorators.http import require_POST, require_safe

from feedback.desk.code.page import IMAGES, ChangesWish, CodeTab
from feedback.desk.forms import RemarkForm
from feedback.desk.rounds import Rounds
from feedback.models import FeedbackRequest, ReviewComment, ViewedFile
from feedback.requests import code_changes
from feedback.requests.find import find_request
from runs.accounts import permissions
from runs.changes import store
from runs.changes.values import ChangedFile, Since
from runs.domain.values.errors import NotFound
from runs.models import CodeSnapshot
from runs.pages.http import PageRequest, SeeOther, fresh, page, refusing, visitor

_TAB = "feedback/_changes.html"


_OF_FILES = {"view", "file"}  # links to a line of a document name them


def wanted_by(query: Mapping[str, str], chosen_before: str = "") -> ChangesWish:
    return ChangesWish(
        since=query.get("since", ""),
        layout=query.get("layout", chosen_before),
        path=query.get("path", ""),
        side="old" if query.get("side") == "old" else "new",
        line=_number(query.get("line", "")),
        first=_number(query.get("first", "")),
        last=_number(query.get("last", "")),
        is_whole="first" in query,
    )


def is_wanted(
    query: Mapping[str, str], asked: FeedbackRequest, rounds: Callable[[], Rounds]
) -> bool:
    """Whether the page opens on the code: by wish, or as nothing else is there or was reviewed."""
    kept = _shown(asked)
    if kept is None:
        return False
    if tab := query.get("tab"):
        return tab == "changes"
    if not kept.files or query.keys() & _OF_FILES:
        return False
    return not asked.artifacts.exists() or (asked.round > 1 and rounds().are_about_code)


def tab_of(
    request: PageRequest,
    asked: FeedbackRequest,
    *,
    remarks: Sequence[ReviewComment] = (),
    can_comment: bool = False,
) -> CodeTab | None:
    kept = _shown(asked)
    if kept is None:
        return None
    return CodeTab(
        asked,
        kept,
        request.user,
        wanted_by(request.GET, request.COOKIES.get("layout", "")),
        remarks=remarks,
        comment_field=partial(_comment_field, request, asked) if can_comment else None,
    )


def _shown(asked: FeedbackRequest) -> CodeSnapshot | None:
    """What the tab is about; a run that never changed anything has none."""
    kept = asked.snapshot
    return kept if kept and (kept.files or kept.previous_id) else None


def _comment_field(
    request: PageRequest, asked: FeedbackRequest, place: Mapping[str, object]
) -> str:
    context = {"asked": asked, "form": RemarkForm(initial=place)}
    return render_to_string("feedback/_remark_form.html", context, request=request)


def fragment(request: PageRequest, tab: CodeTab) -> HttpResponse | None:
    """What htmx asks for when a file is opened, or more of its lines; else None."""
    target = request.htmx.target or ""
    if target.startswith("gap-"):
        stretch = tab.more_lines()
        return page(request, _TAB, {"tab": tab, "stretch": stretch}, part="more")
    if target.startswith("change-body-"):
        section = tab.section()
        return page(request, _TAB, {"tab": tab, "section": section}, part="body")
    return None


@require_POST
@refusing
def view_file(request: PageRequest, request_id: str) -> HttpResponse:
    """Mark a file as viewed, or as not viewed again; for oneself alone."""
    asked = find_request(request_id, seen_by=visitor(request))
    permissions.check_may_comment(visitor(request), asked.run)
    since = Since.ROUND if request.POST.get("since") == Since.ROUND else Since.BASE
    file = _found(asked, request.POST.get("path", ""), since)
    mark: dict[str, Any] = {
        "run_id": asked.run_id,
        "viewer_id": request.user.pk,
        "path": file.path[:500],
    }
    if request.POST.get("viewed"):
        ViewedFile.objects.update_or_create(**mark, defaults={"part": file.part})
    else:
        ViewedFile.objects.filter(**mark).delete()
    if request.htmx:
        return fresh(HttpResponse(status=204))
    query = urlencode({"tab": "changes", "since": since.value, "path": file.path})
    return SeeOther(f"{resolve_url('request', request_id)}?{query}")


@require_safe
@refusing
def image(request: PageRequest, request_id: str, since: str, side: str, part: str) -> HttpResponse:
    """One side of a changed picture; anything else is not shown as one."""
    asked = find_request(request_id, seen_by=visitor(request))
    counted_from = Since.ROUND if since == Since.ROUND else Since.BASE
    listing = code_changes.changes_of(asked, counted_from).listing
    file = next((file for file in listing.files if file.part == part), None)
    kind = IMAGES.get(PurePosixPath(file.path).suffix.lower()) if file else None
    content = store.content_of(file) if file and kind else None
    data = (content.old if side == "old" else content.new) if content else None
    if data is None:
        raise NotFound("Image not found.")
    response = HttpResponse(data, content_type=kind)
    response["X-Content-Type-Options"] = "nosniff"
    return fresh(response)


def _found(asked: FeedbackRequest, path: str, since: Since) -> ChangedFile:
    listing = code_changes.changes_of(asked, since).listing
    file = next((file for file in listing.files if file.path == path), None)
    if file is None:
        raise NotFound(f"{path} is not among the changes of this request.")
    return file


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 8 else 0
