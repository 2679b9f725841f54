"""Starting a run or a batch in the browser, for those who may."""

from django.http import HttpResponse
from django.shortcuts import resolve_url
from django.views.decorators.http import require_http_methods

from runs.accounts import permissions
from runs.domain.values.actors import Actor, Role
from runs.domain.values.errors import FaberError, Invalid
from runs.engine import batches, starting
from runs.pages.http import PageRequest, SeeOther, page, refusing, sight, status_of, visitor
from runs.pages.sign_in.views import keeping_words
from runs.pages.start.forms import StartForm

_PAGE = "runs/start.html"


@keeping_words
@require_http_methods(["GET", "HEAD", "POST"])
@refusing
def start(request: PageRequest) -> HttpResponse:
    actor = visitor(request)
    if not permissions.may_start_somewhere(actor):
        permissions.check_may_start(actor)
    operates = actor.has_role(Role.OPERATOR, Role.ADMIN)
    if request.method != "POST":
        return page(request, _PAGE, {"form": StartForm(operates=operates, sight=sight(request))})
    form = StartForm(request.POST, operates=operates, sight=sight(request))
    if not form.is_valid():
        return page(request, _PAGE, {"form": form}, status=422)
    try:
        return SeeOther(_started(form, actor))
    except FaberError as error:
        _point_out(form, error)
        return page(request, _PAGE, {"form": form}, status=status_of(error))


def _started(form: StartForm, actor: Actor) -> str:
    if form.is_for_many:
        return resolve_url("batch", batches.start(form.batch_wish, actor).batch_id)
    run, _ = starting.start(form.wish, actor)
    return resolve_url("run", run.run_id)


_FIELDS = {"work_ids": "work_ids", "work_id": "work_ids", "project": "project"}


def _point_out(form: StartForm, error: FaberError) -> None:
    """Each problem at the field that can mend it; what no field can, above all of them."""
    problems = error.problems if isinstance(error, Invalid) else ()
    if not problems:
        form.add_error("workflow" if error.code == "not_found" else None, str(error))
    for problem in problems:
        name = _FIELDS.get(problem.place, problem.place)
        if name in form.fields:
            form.add_error(name, problem.message)
        else:
            form.add_error(None, str(problem))
