"""The site's icon, with how many requests are open: what a hidden tab shows of it."""

from datetime import timedelta

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.templatetags.static import static
from django.utils.cache import patch_cache_control
from django.views.decorators.http import require_safe

KEPT = timedelta(days=7)
MOST_SHOWN = 9


@login_not_required
def favicon(_request: HttpRequest) -> HttpResponseRedirect:
    """Where browsers look when a page, such as those of the admin, names no icon."""
    return HttpResponseRedirect(static("favicon.svg"))


@require_safe
@login_not_required
def counting_favicon(request: HttpRequest, count: int) -> HttpResponse:
    """The same for everybody: a number in the address says nothing about the site."""
    shown = f"{MOST_SHOWN}+" if count > MOST_SHOWN else str(count or "")
    response = render(request, "favicon.svg", {"shown": shown}, content_type="image/svg+xml")
    patch_cache_control(response, public=True, max_age=int(KEPT.total_seconds()))
    return response
