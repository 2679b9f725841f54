"""The page of the inbox."""

from urllib.parse import urlsplit

from django.http import HttpResponse, JsonResponse
from django.views.decorators.http import require_safe
from django_htmx.http import push_url, replace_url

from feedback.inbox import filters as filters_of
from feedback.inbox import open_requests
from feedback.inbox.filters import FilterForm, Filters
from feedback.inbox.open_requests import Inbox
from runs.accounts import permissions
from runs.models import DEMO
from runs.pages import guide, kept
from runs.pages.http import PageRequest, fresh, nothing_new, page, sight, visitor


@require_safe
def inbox(request: PageRequest) -> HttpResponse:
    seen = sight(request)
    filters = FilterForm(request.GET).filters
    known = request.GET.get("v")
    if request.htmx and known and not open_requests.has_news(known, filters, seen):
        return nothing_new()
    number = request.GET.get("page", "")
    facts = open_requests.facts(filters, seen, number)

    def made() -> HttpResponse:
        shown = open_requests.inbox(filters, visitor(request), seen, number, facts=facts)
        context = {"inbox": shown, **_welcome(request, shown)}
        return page(request, "feedback/inbox.html", context, part="news")

    response = kept.page(request, facts, made)
    return _address_kept(request, response, filters)


@require_safe
def waiting(request: PageRequest) -> HttpResponse:
    """How many requests are open, for pages that show it in their title; 204 when they know."""
    now = open_requests.waiting(sight(request))
    if request.GET.get("v") == now.version:
        return nothing_new()
    count = {"count": now.count.count, "shown": str(now.count)}
    return fresh(JsonResponse({"version": now.version, **count}))


def _welcome(request: PageRequest, shown: Inbox) -> dict[str, object]:
    """For an inbox that is empty or holds the demo: where to go from here."""
    demo = next((r.asked for r in shown.rows if r.asked.run.project.name == DEMO), None)
    if demo is None and shown.waiting.count:
        return {}
    return {
        "guide": guide.newest(request.user, sight(request)),
        "asked": demo,
        "may_start": permissions.may_start_somewhere(visitor(request)),
    }


def _address_kept(request: PageRequest, response: HttpResponse, filters: Filters) -> HttpResponse:
    """A new filter is a new address; while somebody types, only the last one is kept."""
    if not request.htmx or "v" in request.GET:
        return response
    address = f"{request.path}?{filters.query}" if filters.query else request.path
    before = filters_of.read(urlsplit(request.htmx.current_url or "").query)
    return (replace_url if filters.goes_on_typing(before) else push_url)(response, address)
