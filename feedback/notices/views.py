"""One's own notices: where they go, what came, a test, and what a browser shows by itself."""

from django.conf import settings
from django.http import HttpResponse, JsonResponse
from django.shortcuts import resolve_url
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from feedback.channels.notices import channel, receivers, standing
from feedback.inbox import open_requests
from feedback.notices.forms import NoticesForm
from runs.accounts.rate_limit import Window
from runs.chain import entries
from runs.domain.values.errors import Refused
from runs.pages.http import (
    PageRequest,
    SeeOther,
    fresh,
    nothing_new,
    page,
    refusing,
    sight,
    visitor,
)

_PAGE = "feedback/notices.html"
_tests = Window(most=5, seconds=60)


@require_http_methods(["GET", "HEAD", "POST"])
def notices(request: PageRequest) -> HttpResponse:
    if request.method != "POST":
        return _shown(request, NoticesForm(request.user))
    form = NoticesForm(request.user, request.POST)
    if not form.is_valid():
        return _shown(request, form, status=422)
    form.save()
    if "urls" in form.changed_data:
        entries.rule(visitor(request), "changed where their notices go")
    return SeeOther(f"{resolve_url('notices')}?saved")


@require_POST
@refusing
def test(request: PageRequest) -> HttpResponse:
    """Have a message sent everywhere; a worker does, and the page shows what came of it."""
    if not receivers.person(request.user).receivers:
        raise Refused("There is nowhere to send it. Add an address and save it first.")
    if _tests.take(request.user.pk):
        raise Refused("You have tested often just now. Wait a minute.")
    channel.send_test(name=request.user.get_username())
    return SeeOther(f"{resolve_url('notices')}?tested#sent")


@require_safe
def newest(request: PageRequest) -> HttpResponse:
    """Requests that began to wait for somebody after one they know of, for their browser."""
    known = request.GET.get("after", "")
    after = int(known) if known.isascii() and known.isdecimal() and len(known) < 18 else None
    found = open_requests.newest(visitor(request), sight(request), after)
    if not found.requests and found.newest == after:
        return nothing_new()
    return fresh(
        JsonResponse(
            {
                "newest": found.newest,
                "requests": [
                    {
                        "id": asked.request_id,
                        "title": asked.title,
                        "project": asked.run.project.name,
                        "url": resolve_url("request", asked.request_id),
                    }
                    for asked in found.requests
                ],
            }
        )
    )


def _shown(request: PageRequest, form: NoticesForm, *, status: int = 200) -> HttpResponse:
    reached = receivers.person(receivers.reread(request.user))
    context = {
        "form": form,
        "receivers": reached.receivers,
        "sent": standing.of_person(request.user),
        "saved": "saved" in request.GET,
        "tested": "tested" in request.GET,
        "has_mail": bool(settings.FABER_EMAIL_URL),
    }
    return page(request, _PAGE, context, part="sent", status=status)
