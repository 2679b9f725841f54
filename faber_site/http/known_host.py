"""A request for a host that the site does not have gets a sentence, not Django's bare page."""

import logging
from collections.abc import Callable

from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse

logger = logging.getLogger(__name__)

SENTENCE = (
    "This host is not allowed. If a proxy is in front, let it set the header Host as the browser "
    "sent it, or add the host to FABER_ALLOWED_HOSTS.\n"
)


def known_host(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    def answered(request: HttpRequest) -> HttpResponse:
        try:
            request.get_host()
        except DisallowedHost:
            host = request.META.get("HTTP_HOST", "")
            logger.warning("refused a request for the host %r; see FABER_ALLOWED_HOSTS", host)
            return HttpResponse(SENTENCE, status=400, content_type="text/plain; charset=utf-8")
        return get_response(request)

    return answered
