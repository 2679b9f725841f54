"""Pages of one run, and what can be done with it there."""

from typing import Any

from django.http import HttpResponse, JsonResponse
from django.shortcuts import resolve_url
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_POST, require_safe

from runs import engine
from runs.accounts import permissions
from runs.engine import starting
from runs.engine.find import find_run
from runs.models import Run
from runs.pages.http import (
    STOP_POLLING,
    PageRequest,
    SeeOther,
    download,
    fresh,
    nothing_new,
    page,
    refusing,
    visitor,
)
from runs.pages.run.artifact import file_of
from runs.pages.run.forms import CancelForm
from runs.pages.run.output import output_of, whole
from runs.pages.run.page import page_of, progress_of, version
from runs.record import state_json
from runs.workspaces import worktrees


@require_safe
@refusing
def run_page(request: PageRequest, run_id: str) -> HttpResponse:
    run = find_run(run_id, seen_by=visitor(request))
    if request.htmx:
        return _news(request, run)
    return page(request, "runs/run.html", _everything(request, run))


@require_safe
@refusing
def state(request: PageRequest, run_id: str) -> HttpResponse:
    document = state_json.state_of(find_run(run_id, seen_by=visitor(request)))
    return fresh(JsonResponse(document, json_dumps_params={"indent": 2, "ensure_ascii": False}))


@require_safe
@refusing
def artifact(request: PageRequest, run_id: str, revision: int, path: str) -> HttpResponse:
    return download(find_run(run_id, seen_by=visitor(request)).revisions.all(), revision, path)


@require_safe
@refusing
def file_page(request: PageRequest, run_id: str, revision: int, path: str) -> HttpResponse:
    run = find_run(run_id, seen_by=visitor(request))
    source = request.GET.get("view") == "source"
    shown = file_of(run, revision, path, source=source)
    return page(request, "runs/file.html", {"run": run, "file": shown, "is_source": source})


@require_safe
@refusing
def output(request: PageRequest, run_id: str, attempt_pk: int) -> HttpResponse:
    shown = output_of(find_run(run_id, seen_by=visitor(request)), attempt_pk)
    if request.htmx and request.GET.get("v") == shown.version:
        return nothing_new()
    status = 200 if shown.goes_on or not request.htmx else STOP_POLLING
    return page(request, "runs/output.html", {"printed": shown}, part="output", status=status)


@require_safe
@refusing
def output_file(request: PageRequest, run_id: str, attempt_pk: int, stream: str) -> HttpResponse:
    text, name = whole(find_run(run_id, seen_by=visitor(request)), attempt_pk, stream)
    # A browser saves it and never runs it, whatever the step printed.
    headers = {
        "Content-Disposition": content_disposition_header(True, name) or "attachment",
        "X-Content-Type-Options": "nosniff",
    }
    kept = text.encode(errors="replace")
    return fresh(HttpResponse(kept, content_type="text/plain; charset=utf-8", headers=headers))


@require_POST
@refusing
def cancel(request: PageRequest, run_id: str) -> HttpResponse:
    run = find_run(run_id, seen_by=visitor(request))
    actor = visitor(request)
    form = CancelForm(request.POST)
    if not form.is_valid():
        return page(request, "runs/run.html", _everything(request, run, form), status=422)
    engine.cancel(run.pk, reason=form.cleaned_data["reason"], actor=actor)
    return SeeOther(resolve_url("run", run_id))


@require_POST
@refusing
def resume(request: PageRequest, run_id: str) -> HttpResponse:
    engine.resume_stopped(find_run(run_id, seen_by=visitor(request)).pk, visitor(request))
    return SeeOther(resolve_url("run", run_id))


@require_POST
@refusing
def rerun(request: PageRequest, run_id: str) -> HttpResponse:
    original = find_run(run_id, seen_by=visitor(request))
    named = request.POST.get("from", "")
    again, _ = starting.rerun(original, visitor(request), from_step=named)
    return SeeOther(resolve_url("run", again.run_id))


@require_POST
@refusing
def remove_worktree(request: PageRequest, run_id: str) -> HttpResponse:
    run = find_run(run_id, seen_by=visitor(request))
    permissions.check_may_operate(visitor(request), run.project)
    worktrees.remove(run)
    return SeeOther(resolve_url("run", run_id))


def _news(request: PageRequest, run: Run) -> HttpResponse:
    """What changed since the version the page shows.

    The page of the run is followed to its end, the few lines elsewhere until the run rests.
    """
    if request.GET.get("v") == version(run):
        return nothing_new()
    if request.htmx.target == "progress":
        progress = progress_of(run)
        status = 200 if progress.goes_on else STOP_POLLING
        return page(request, "runs/_progress.html", {"progress": progress}, status=status)
    status = STOP_POLLING if run.state.is_final else 200
    return page(request, "runs/run.html", _everything(request, run), part="live", status=status)


def _everything(
    request: PageRequest, run: Run, cancel_form: CancelForm | None = None
) -> dict[str, Any]:
    actor = visitor(request)
    kind, all_events = request.GET.get("kind", ""), request.GET.get("events") == "all"
    return {
        "shown": page_of(run, actor, kind=kind, all_events=all_events),
        "run": run,
        "all_events": all_events,
        "cancel_form": cancel_form or CancelForm(),
    }
