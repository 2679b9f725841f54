"""A site with an https address answers over https only, and says what a proxy has to tell it.

A redirect would come back the same way for ever when the proxy in front does not say that the
request reached it over https.
"""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse

SENTENCE = (
    "This site is at {address}/, and the request did not come over https. If it did and a proxy is "
    "in front, let the proxy set the header X-Forwarded-Proto: https.\n"
)


def https_only(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    def answered(request: HttpRequest) -> HttpResponse:
        if request.is_secure():
            return get_response(request)
        told = SENTENCE.format(address=settings.FABER_BASE_URL)
        return HttpResponse(told, status=400, content_type="text/plain; charset=utf-8")

    return answered
