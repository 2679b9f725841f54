"""Agents that unfinished runs will need and that this machine does not have."""

from collections import defaultdict
from collections.abc import Iterator

from feedback.doctor.finding import MOST, Finding
from runs.domain.values.numbers import number_of
from runs.domain.values.status import RunStatus
from runs.models import Run, machine
from runs.workspaces.agents import missing_for_run

_UNFINISHED = [status.value for status in RunStatus if not status.is_final]


def findings() -> Iterator[Finding]:
    if machine.is_one_of_many():
        return  # where a step is executed is decided later, and that machine may have its agent
    needed: dict[str, list[Run]] = defaultdict(list)
    for run in _newest_unfinished():
        for told in missing_for_run(run):
            needed[told].append(run)
    for told, runs in needed.items():
        what, _, repair = told.partition(". ")
        yield Finding(
            what=what,
            cause=f"{number_of(len(runs), 'unfinished run')} will need it, such as "
            f"{runs[0].run_id}",
            since=None,
            repair=repair,
        )


def _newest_unfinished() -> list[Run]:
    """Each status by itself, in the order of its index: together all of them would be sorted."""
    own = Run.objects.filter(mirrors="").select_related("project").order_by("-created_at", "-pk")
    found = [run for status in _UNFINISHED for run in own.filter(status=status)[:MOST]]
    return sorted(found, key=lambda run: run.created_at, reverse=True)[:MOST]
