"""The page of all runs."""

from django.http import HttpResponse
from django.views.decorators.http import require_safe
from django_htmx.http import push_url

from runs.accounts import permissions
from runs.pages.http import PageRequest, chosen, nothing_new, page, sight, visitor
from runs.pages.lists import listing
from runs.pages.lists.filters import SearchForm


@require_safe
def run_list(request: PageRequest) -> HttpResponse:
    """The list; a poll names the version it has and a search does not."""
    seen = request.GET.get("v")
    if request.htmx and seen == listing.newest():
        return nothing_new()
    form = SearchForm(request.GET, auto_id="%s", sight=sight(request))
    wanted = form.wanted
    listed = listing.listed(wanted, request.GET.get("page", ""))
    context = {
        "form": form,
        "listed": listed,
        "leaf": listed.leaf,
        "is_narrowed": bool(wanted),
        "may_start": permissions.may_start_somewhere(visitor(request)),
    }
    response = page(request, "runs/list.html", context, part="news")
    return push_url(response, chosen(request)) if request.htmx and not seen else response
