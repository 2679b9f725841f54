"""Lets runs begin in turn where only so many may work at a time, and tells who else works there."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db import transaction
from django.db.models import Q, QuerySet

from runs import engine
from runs.domain.values.numbers import number_of
from runs.domain.values.status import RunStatus
from runs.engine import Claim
from runs.models import Batch, Project, Run
from runs.workflow_files import ask_only

# A project that takes one run at a time is held from a run's first step to its end.
_HOLDING = (RunStatus.IN_PROGRESS, RunStatus.AWAITING_FEEDBACK, RunStatus.FAILED)
_UNFINISHED = [status.value for status in RunStatus if not status.is_final]
MOST = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnWait:
    """Why a run has not begun: who has its place, and how many stand before it."""

    holders: Sequence[Run]
    before: int  # older runs that wait as well
    batch: Batch | None = None

    @property
    def reason(self) -> str:
        if self.batch:
            return f"the batch allows {number_of(self.batch.concurrency, 'parallel run')}"
        if self.holders:
            return "the project allows one run at a time"
        return "it starts shortly"

    @property
    def in_short(self) -> str:
        names = ", ".join(holder.short_id for holder in self.holders)
        return f"waiting for {names}" if names else "queued"

    @property
    def in_full(self) -> str:
        said = self.reason
        if self.holders:
            said += "; running now: "
            said += ", ".join(f"{r.short_id} ({r.state.label})" for r in self.holders)
        if self.before:
            said += f"; {number_of(self.before, 'more run')} ahead of it"
        return said

    def __str__(self) -> str:
        return f"The run is queued: {self.in_full}."


@dataclass(frozen=True, slots=True, kw_only=True)
class BusyProject:
    """A project whose next run would not be alone."""

    project: Project
    runs: Sequence[Run]


def start(
    order: engine.Start, *, worker: str = "", waits: bool = False
) -> tuple[Run, Claim | None]:
    """Begin a run, or have it wait until the one that holds its project has ended."""
    if not order.project.exclusive:
        return engine.start(order, worker=worker, waits=waits)
    with transaction.atomic():
        project = locked(order.project.pk)
        taken = project.exclusive and (_holders(project) | _waiting(project)).exists()
        return engine.start(order, worker=worker, waits=waits or taken)


def give(project_pk: int) -> int:
    """Let as many waiting runs begin as there is room for, oldest first; tells how many did."""
    # A look without a lock first: mostly nobody waits, or nobody has made room.
    project = Project.objects.filter(pk=project_pk).first()
    if project is None or not _next(project):
        return 0
    with transaction.atomic():
        return sum(engine.begin(run_pk) for run_pk in _next(locked(project_pk)))


def catch_up(most: int = 100) -> int:
    """Give the turns that should have been given while nobody was there to do it."""
    limited = Q(batch__isnull=False) | Q(project__exclusive=True)
    waiting = Run.objects.filter(limited, status=RunStatus.PENDING)
    projects = waiting.order_by("project").values_list("project", flat=True).distinct()
    return sum(give(project_pk) for project_pk in list(projects[:most]))


def wait_of(run: Run) -> TurnWait | None:
    """Why this run has not begun; None when it has."""
    if run.state is not RunStatus.PENDING or run.is_foreign or run.on_hold:
        return None
    older = _waiting(run.project).filter(pk__lt=run.pk)
    if run.project.exclusive:
        holders = list(_named(_holders(run.project)))
        return TurnWait(holders=holders, before=older.count())
    if run.batch:
        return TurnWait(holders=(), before=older.filter(batch=run.batch).count(), batch=run.batch)
    return TurnWait(holders=(), before=0)


def holders_of(projects: Iterable[Project]) -> dict[int, list[Run]]:
    """By project the runs that hold it, for those that take one at a time."""
    exclusive = {project.pk for project in projects if project.exclusive}
    found: dict[int, list[Run]] = {}
    if exclusive:
        for run in _named(_working().filter(project__in=exclusive)):
            found.setdefault(run.project_id, []).append(run)
    return found


def _next(project: Project) -> list[int]:
    waiting = _waiting(project).order_by("pk")
    if project.exclusive:
        return [] if _holders(project).exists() else list(waiting.values_list("pk", flat=True)[:1])
    alone = list(waiting.filter(batch=None).values_list("pk", flat=True))
    batches = Batch.objects.filter(pk__in=waiting.order_by().values("batch"))
    return sorted([*alone, *(pk for batch in batches for pk in _next_of(batch, waiting))])


def _next_of(batch: Batch, waiting: QuerySet[Run]) -> list[int]:
    busy = batch.runs.filter(status=RunStatus.IN_PROGRESS).count()
    own = waiting.filter(batch=batch).values_list("pk", flat=True)
    return list(own[: max(0, batch.concurrency - busy)])


def locked(project_pk: int) -> Project:
    """The project's lock comes before any run's: two who give turns do not give one twice."""
    # Not the strongest lock: rows that refer to the project are written meanwhile.
    return Project.objects.select_for_update(no_key=True).get(pk=project_pk)


def _working() -> QuerySet[Run]:
    return _at_work().filter(status__in=_HOLDING)


def _holders(project: Project) -> QuerySet[Run]:
    return _working().filter(project=project)


def _waiting(project: Project) -> QuerySet[Run]:
    return _at_work().filter(project=project, status=RunStatus.PENDING, on_hold=False)


def _at_work() -> QuerySet[Run]:
    """Runs that do something in their project's folder: not mere questions, not those elsewhere."""
    return Run.objects.filter(~Q(plan_hash=ask_only.plan().digest), mirrors="")


def _named(runs: QuerySet[Run]) -> QuerySet[Run]:
    return runs.only("run_id", "uuid", "status", "work_id", "project_id").order_by("pk")


# Who else works there


def neighbours(run: Run) -> list[Run]:
    """The others in the folder of this run, as long as it has not ended itself."""
    if run.state.is_final:
        return []
    others = _unfinished().filter(workspace=run.workspace).exclude(pk=run.pk)
    return list(others[:MOST])


def busy(projects: Iterable[Project]) -> list[BusyProject]:
    """Where somebody works already, so that whoever starts a run knows it before."""
    known = list(projects)
    folders = [project.workspace for project in known if project.workspace]
    alone = [project.pk for project in known if project.exclusive]
    runs = list(_unfinished().filter(Q(workspace__in=folders) | Q(project__in=alone))[:MOST])
    found = [BusyProject(project=project, runs=_concerned(project, runs)) for project in known]
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
