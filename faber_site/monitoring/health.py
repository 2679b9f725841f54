"""Tells monitors whether the process lives and whether it can do its work."""

import logging
from collections.abc import Sequence

from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from runs.jobs import agreement, heartbeat, queue
from runs.jobs.agreement import Disagreement, Matter
from runs.jobs.engine import OutOfReach
from runs.models import migrate

logger = logging.getLogger(__name__)

_PROBES = ("/healthz", "/readyz")


def is_probe(request: HttpRequest) -> bool:
    return request.path in _PROBES


def probe(request: HttpRequest) -> HttpResponse | None:
    """The answer to a probe, before anything else looks at the request.

    Whoever probes calls the process by its address: neither the host's name nor https matter.
    """
    if not is_probe(request):
        return None
    return healthz(request) if request.path == "/healthz" else readyz(request)


@never_cache
@require_safe
def healthz(_request: HttpRequest) -> HttpResponse:
    return HttpResponse("ok", content_type="text/plain")


@never_cache
@require_safe
def readyz(_request: HttpRequest) -> JsonResponse:
    """200, or 503 with a sentence about the first thing that is missing."""
    ages: heartbeat.Ages = {}
    warnings: dict[str, str] = {}
    try:
        missing = _missing_in_database()
        if not missing:
            ages = heartbeat.ages()
            found = agreement.disagreements()
            missing = _missing_queue() | _missing_worker(ages) | _missing_keys(found)
            warnings = {each.about.name.lower(): each.about.value for each in found}
    except DatabaseError:
        # What went wrong may name hosts and users: for the log, not for everybody.
        logger.exception("the database can't be read")
        missing = {"database": "The database can't be read."}
    report = {
        "ready": not missing,
        "not_ready": missing,
        "warnings": warnings,
        "last_beat_seconds": _seconds(ages),
    }
    return JsonResponse(report, status=503 if missing else 200)


def _missing_in_database() -> dict[str, str]:
    if migrate.is_up_to_date():
        return {}
    return {"migrations": "The database is older than this version. Upgrade it with `faber up`."}


def _missing_keys(found: Sequence[Disagreement]) -> dict[str, str]:
    """With another key than the workers have, no job of this process is ever done."""
    keys = [each for each in found if each.about is Matter.KEYS]
    return {"keys": f"{Matter.KEYS} `faber doctor` names them."} if keys else {}


def _missing_queue() -> dict[str, str]:
    try:
        queue.check()
    except OutOfReach:  # whoever has jobs to send logs why
        return {"queue": "The broker of the job queue is out of reach."}
    return {}


def _missing_worker(ages: heartbeat.Ages) -> dict[str, str]:
    silent = heartbeat.silent(ages)
    if not silent:
        return {}
    known = [age for age in ages.values() if age is not None]
    if not known:
        return {"worker": "No worker has reported yet. Start one with `faber work`."}
    if len(silent) < len(ages):
        return {"worker": f"No worker handles {silent[0].what}."}
    return {"worker": f"No worker has reported for {min(known).total_seconds():.0f} s."}


def _seconds(ages: heartbeat.Ages) -> float | None:
    """Since when the lane that was silent longest has been."""
    known = [age.total_seconds() for age in ages.values() if age is not None]
    return round(max(known), 1) if known and len(known) == len(ages) else None
