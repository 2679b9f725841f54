"""A line for each HTTP request, and an id by which all lines about it are found."""

import logging
import re
import time
import uuid
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from faber_site.monitoring import health, http_metrics
from runs.jobs import log_context

logger = logging.getLogger(__name__)

HEADER = "X-Request-ID"
_FIT = re.compile(r"[A-Za-z0-9._-]{1,64}")


def access_log(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """The outermost middleware: what it measures is what a client waits for."""

    def answered(request: HttpRequest) -> HttpResponse:
        began = time.perf_counter()
        given = request.headers.get(HEADER, "")
        name = given if _FIT.fullmatch(given) else uuid.uuid4().hex
        token = log_context.request_id.set(name)
        try:
            with log_context.busy_with_run():
                response = health.probe(request) or get_response(request)
                response[HEADER] = name
                took = time.perf_counter() - began
                http_metrics.note(request, response, took)
                _note(request, response, took)
        finally:
            log_context.request_id.reset(token)
        return response

    return answered


def _note(request: HttpRequest, response: HttpResponse, took: float) -> None:
    """Without the query, which may hold anything; looks for news that find none are quiet."""
    is_quiet = response.status_code == 204 or health.is_probe(request)
    fields = {
        "method": request.method,
        "path": request.path,
        "status": response.status_code,
        "milliseconds": round(took * 1000),
    }
    level = logging.DEBUG if is_quiet else logging.INFO
    logger.log(
        level,
        "%(method)s %(path)s %(status)s %(milliseconds)s ms",
        fields,
        extra={"fields": fields},
    )
