"""Finds a run by whatever somebody calls it."""

import re

from django.db.models import QuerySet

from runs.domain.values.errors import NotFound, Refused
from runs.models import Run

_UUID_PREFIX = re.compile(r"[0-9a-f]{8}[0-9a-f-]{0,28}")


def find_run(reference: str, among: QuerySet[Run] | None = None) -> Run:
    """A run by its full id, its uuid, an unambiguous prefix of that, or `latest`."""
    wanted = reference.strip().lower()
    runs = (Run.objects.all() if among is None else among).select_related("project")
    if wanted == "latest":
        found = list(runs.order_by("-created_at", "-id")[:1])
    elif "/" in wanted:
        found = list(runs.filter(run_id=wanted))
    elif _UUID_PREFIX.fullmatch(wanted):
        # The run id ends in the uuid, and a uuid column compares differently on each database.
        found = list(runs.filter(run_id__contains=f"/{wanted}")[:5])
    else:
        found = []
    if not found:
        raise NotFound(f"There is no run {reference!r}.")
    if len(found) > 1:
        several = ", ".join(run.run_id for run in found)
        raise Refused(f"{reference!r} may be any of several runs: {several}.")
    return found[0]
