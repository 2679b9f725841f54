"""The page of the inbox."""

from urllib.parse import urlsplit

from django.http import HttpResponse, QueryDict
from django.views.decorators.http import require_safe
from django_htmx.http import push_url, replace_url

from feedback.inbox import open_requests
from feedback.inbox.filters import FilterForm, Filters
from runs.accounts import users
from runs.pages.http import PageRequest, nothing_new, page


@require_safe
def inbox(request: PageRequest) -> HttpResponse:
    if request.htmx and request.GET.get("v") == open_requests.version():
        return nothing_new()
    filters = FilterForm(request.GET).filters
    actor = users.actor_of(request.user)
    shown = open_requests.inbox(filters, actor, request.GET.get("page", ""))
    response = page(request, "feedback/inbox.html", {"inbox": shown}, part="news")
    return _address_kept(request, response, filters)


def _address_kept(request: PageRequest, response: HttpResponse, filters: Filters) -> HttpResponse:
    """A new filter is a new address; while somebody types, only the last one is kept."""
    if not request.htmx or "v" in request.GET:
        return response
    address = f"{request.path}?{filters.query}" if filters else request.path
    before = FilterForm(QueryDict(urlsplit(request.htmx.current_url or "").query)).filters
    return (replace_url if filters.goes_on_typing(before) else push_url)(response, address)
