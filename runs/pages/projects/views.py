"""Pages of projects: what is set for each, to read for all and to change for operators."""

from django.db.models import Count
from django.http import HttpResponse
from django.shortcuts import resolve_url
from django.views.decorators.http import require_http_methods, require_safe

from runs.accounts import permissions
from runs.domain.values.status import RunStatus
from runs.models import Project, Run
from runs.pages.http import PageRequest, SeeOther, page, refusing, sight, visitor
from runs.pages.projects import settings
from runs.pages.projects.forms import ProjectForm
from runs.pages.sign_in.views import keeping_words

_PAGE = "runs/project.html"
_UNFINISHED = [status.value for status in RunStatus if not status.is_final]


@require_safe
def project_list(request: PageRequest) -> HttpResponse:
    projects = sight(request).of(Project.objects.order_by("name"), "pk")
    unfinished = _unfinished()
    listed = [(project, unfinished.get(project.pk, 0)) for project in projects]
    return page(request, "runs/projects.html", {"projects": listed})


def _unfinished() -> dict[int, int]:
    """How many runs of each project go on; finished ones, of which there are ever more, unread."""
    going_on = Run.objects.filter(status__in=_UNFINISHED).order_by()
    return dict(going_on.values_list("project").annotate(Count("pk")))


@keeping_words
@require_http_methods(["GET", "HEAD", "POST"])
@refusing
def project_page(request: PageRequest, name: str) -> HttpResponse:
    actor = visitor(request)
    project = settings.find(name, seen_by=actor)
    if request.method != "POST":
        may_change = permissions.may_operate(actor)
        context = {"form": ProjectForm(project=project), "may_change": may_change}
        return page(
            request, _PAGE, {**context, "project": project, "saved": "saved" in request.GET}
        )
    permissions.check_may_operate(actor)
    form = ProjectForm(request.POST, project=project)
    if not form.is_valid():
        shown = settings.find(name, seen_by=actor)  # the form has filled in the other
        return page(
            request, _PAGE, {"form": form, "project": shown, "may_change": True}, status=422
        )
    form.change(actor)
    return SeeOther(f"{resolve_url('project', project.name)}?saved")
