"""Tells monitors whether the process lives and whether it can do its work."""

import logging
from datetime import timedelta

from django.contrib.auth.decorators import login_not_required
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from runs.jobs import heartbeat
from runs.models import migrate

logger = logging.getLogger(__name__)


@login_not_required
@never_cache
@require_safe
def healthz(_request: HttpRequest) -> HttpResponse:
    return HttpResponse("ok", content_type="text/plain")


@login_not_required
@never_cache
@require_safe
def readyz(_request: HttpRequest) -> JsonResponse:
    """200, or 503 with a sentence about the first thing that is missing."""
    age: timedelta | None = None
    try:
        missing = _missing_in_database()
        if not missing:
            age = heartbeat.latest_age()
            missing = _missing_worker(age)
    except DatabaseError:
        # What went wrong may name hosts and users: for the log, not for everybody.
        logger.exception("the database cannot be read")
        missing = {"database": "The database cannot be read."}
    report = {
        "ready": not missing,
        "not_ready": missing,
        "last_beat_seconds": None if age is None else round(age.total_seconds(), 1),
    }
    return JsonResponse(report, status=503 if missing else 200)


def _missing_in_database() -> dict[str, str]:
    if migrate.is_up_to_date():
        return {}
    return {"migrations": "The database is older than this program; `faber up` upgrades it."}


def _missing_worker(age: timedelta | None) -> dict[str, str]:
    if heartbeat.worker_is_alive():
        return {}
    if age is None:
        return {"worker": "No worker has ever reported; `faber work` starts one."}
    return {"worker": f"No worker has reported for {age.total_seconds():.0f} s."}
