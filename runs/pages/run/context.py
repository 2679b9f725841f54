"""Pages of what a run's steps were told."""

from django.http import HttpResponse, JsonResponse
from django.views.decorators.http import require_safe

from runs.context import reader
from runs.engine.find import find_run
from runs.pages.http import PageRequest, fresh, page, refusing, visitor


@require_safe
@refusing
def package(request: PageRequest, run_id: str, number: int) -> HttpResponse:
    run = find_run(run_id, seen_by=visitor(request))
    shown = reader.package_of(run, number, other=request.GET.get("with", ""))
    context = {"run": run, "package": shown, "chosen": shown.compared_with}
    return page(request, "runs/package.html", context, part="difference")


@require_safe
@refusing
def package_json(request: PageRequest, run_id: str, number: int) -> HttpResponse:
    document = reader.whole(find_run(run_id, seen_by=visitor(request)), number)
    return fresh(JsonResponse(document, json_dumps_params={"indent": 2, "ensure_ascii": False}))
