"""The page that says what is broken, for those who can mend it."""

from django.http import HttpResponse
from django.shortcuts import resolve_url
from django.views.decorators.http import require_http_methods

from feedback.doctor import diagnosis, proxy, room
from runs.accounts import permissions, users
from runs.pages.http import PageRequest, SeeOther, page, refusing


@require_http_methods(["GET", "HEAD", "POST"])
@refusing
def doctor(request: PageRequest) -> HttpResponse:
    """GET: what is broken; POST: every safe repair."""
    permissions.check_may_operate(users.actor_of(request.user))
    found = diagnosis.findings()
    if request.method == "POST":
        diagnosis.repair(found)
        return SeeOther(resolve_url("doctor"))
    context = {
        "findings": found,
        "room": room.told(),
        "proxy": proxy.told(),
        "last_heard": diagnosis.last_heard(),
        "isolation_is_off": diagnosis.isolation_is_off(),
    }
    return page(request, "feedback/doctor.html", context)
