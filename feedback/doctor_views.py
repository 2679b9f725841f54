"""The page that says what is broken, for those who can mend it."""

from django.http import HttpResponse
from django.shortcuts import resolve_url
from django.views.decorators.http import require_http_methods

from feedback import diagnosing
from runs import accounts, permissions
from runs.pages import PageRequest, SeeOther, page, refusing


@require_http_methods(["GET", "HEAD", "POST"])
@refusing
def doctor(request: PageRequest) -> HttpResponse:
    """GET: what is broken; POST: every safe repair."""
    permissions.check_may_operate(accounts.actor_of(request.user))
    found = diagnosing.findings()
    if request.method == "POST":
        diagnosing.repair(found)
        return SeeOther(resolve_url("doctor"))
    context = {"findings": found, "last_heard": diagnosing.last_heard()}
    return page(request, "feedback/doctor.html", context)
