"""Tells which unfinished runs work in the same folder, or in a project that takes only one."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db.models import Q, QuerySet

from runs.domain.values.status import RunStatus
from runs.models import Project, Run

_UNFINISHED = [status.value for status in RunStatus if not status.is_final]
MOST = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Busy:
    """A project whose next run would not be alone."""

    project: Project
    runs: Sequence[Run]


def of(run: Run) -> list[Run]:
    """The others in the folder of this run, as long as it has not ended itself."""
    if run.state.is_final:
        return []
    others = _unfinished().filter(workspace=run.workspace).exclude(pk=run.pk)
    return list(others[:MOST])


def busy(projects: Iterable[Project]) -> list[Busy]:
    """Where somebody works already, so that whoever starts a run knows it before."""
    known = list(projects)
    folders = [project.workspace for project in known if project.workspace]
    alone = [project.pk for project in known if project.exclusive]
    runs = list(_unfinished().filter(Q(workspace__in=folders) | Q(project__in=alone))[:MOST])
    found = [Busy(project=project, runs=_concerned(project, runs)) for project in known]
    return [busy for busy in found if busy.runs]


def _concerned(project: Project, runs: Sequence[Run]) -> list[Run]:
    if project.exclusive:
        return [run for run in runs if run.project_id == project.pk]
    return [run for run in runs if run.workspace == project.workspace]


def _unfinished() -> QuerySet[Run]:
    rows = Run.objects.filter(status__in=_UNFINISHED, mirrors="")
    return rows.only("run_id", "uuid", "status", "work_id", "workspace", "project_id").order_by(
        "pk"
    )
