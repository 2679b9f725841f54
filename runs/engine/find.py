"""Finds a run by whatever somebody calls it."""

import re

from django.db.models import QuerySet

from runs.accounts import membership
from runs.domain.values.actors import Actor
from runs.domain.values.errors import NotFound, Refused
from runs.jobs import log_context
from runs.models import Run

_UUID_PREFIX = re.compile(r"[0-9a-f]{8}[0-9a-f-]{0,28}")


def find_run(reference: str, *, seen_by: Actor | None, among: QuerySet[Run] | None = None) -> Run:
    """A run by its full id, its uuid, an unambiguous prefix of that, or `latest`.

    Nobody in `seen_by` is the site itself, for which every project exists.
    """
    wanted = reference.strip().lower()
    runs = (Run.objects.all() if among is None else among).select_related("project")
    if "/" in wanted:
        named = runs.filter(run_id=wanted)
        found = [run for run in named if not seen_by or membership.sees(seen_by, run.project)]
    elif wanted == "latest":
        found = list(_seen(runs, seen_by).order_by("-created_at", "-id")[:1])
    elif _UUID_PREFIX.fullmatch(wanted):
        # The run id ends in the uuid, and a uuid column compares differently on each database.
        found = list(_seen(runs, seen_by).filter(run_id__contains=f"/{wanted}")[:5])
    else:
        found = []
    if not found:
        raise NotFound(f"There is no run {reference!r}.")
    if len(found) > 1:
        several = ", ".join(run.run_id for run in found)
        raise Refused(f"{reference!r} matches several runs: {several}.")
    log_context.note_run(found[0].run_id)
    return found[0]


def _seen(runs: QuerySet[Run], seen_by: Actor | None) -> QuerySet[Run]:
    return membership.sight_of(seen_by).of(runs) if seen_by else runs
