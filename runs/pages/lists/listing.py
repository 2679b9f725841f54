"""Finds runs for the list: by words, by what they are, by when; and counts them by status."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING

from django.core.paginator import Page, Paginator
from django.db.models import Count, Exists, Max, OuterRef, Q, QuerySet
from django.utils import timezone

from runs.accounts.membership import EVERYTHING, Sight
from runs.domain.values.status import RunStatus
from runs.engine import turns
from runs.models import Event, Project, Run
from runs.record.endings import Ending, endings

PER_PAGE = 50
OFFERED = 200  # names in one menu; whoever has more types them into the search
# What only an executor or the page of the run needs.
_HEAVY = ("plan", "inputs", "environment", "approvals", "prompt", "artifacts", "phases")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFilter:
    """Which runs somebody wants to see; what is empty does not narrow."""

    text: str = ""
    status: str = ""
    project: str = ""
    workflow: str = ""
    started_by: str = ""
    phase: str = ""
    since: datetime | None = None
    sight: Sight = EVERYTHING  # of whoever looks

    def __bool__(self) -> bool:
        return any((self.text, self.status, self.narrows))

    @property
    def narrows(self) -> bool:
        """Whether a menu chose something."""
        return any((self.project, self.workflow, self.started_by, self.phase, self.since))


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusChip:
    """A status with the number of runs that have it, as a link of the list."""

    value: str
    label: str
    count: int
    is_chosen: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RunList:
    leaf: Page[Run]
    chips: list[StatusChip]
    everything: int  # of any status
    version: str
    is_live: bool
    holders: Mapping[int, Sequence[Run]]  # whom waiting runs wait for, by project
    endings: Mapping[int, Ending]  # of those that have ended, by run

    @property
    def count(self) -> int:
        return self.leaf.paginator.count


if TYPE_CHECKING:
    _Pages = Paginator[Run]
else:
    _Pages = Paginator


class _Counted(_Pages):
    """Pages of runs whose number is known already."""

    def __init__(self, runs: QuerySet[Run], total: int) -> None:
        super().__init__(runs, PER_PAGE)
        self._total = total

    @cached_property
    def count(self) -> int:
        return self._total


def listed(wanted: RunFilter, number: str) -> RunList:
    version = newest()
    counts = counted(wanted)
    total = counts.get(wanted.status, 0) if wanted.status else sum(counts.values())
    runs = found(wanted)
    leaf = _Counted(runs, total).get_page(number)
    first = PER_PAGE * (leaf.number - 1)
    leaf.object_list = list(_whole(runs[first : first + PER_PAGE])) if total else []
    waiting = [run.project for run in leaf.object_list if run.state is RunStatus.PENDING]
    return RunList(
        leaf=leaf,
        chips=_chips(counts, wanted.status),
        everything=sum(counts.values()),
        version=version,
        is_live=leaf.number == 1,
        holders=turns.holders_of(waiting),
        endings=endings(leaf.object_list),
    )


def newest() -> str:
    """Changes whenever anything happens to any run, and costs one look at an index."""
    known: int | None = Event.objects.aggregate(newest=Max("pk"))["newest"]
    return str(known or 0)


def found(wanted: RunFilter) -> QuerySet[Run]:
    """The runs, newest first; asked for their keys alone, one index answers."""
    runs = _narrowed(wanted)
    if wanted.status:
        runs = runs.filter(status=wanted.status)
    return runs.order_by("-created_at", "-id")


def _whole(runs: QuerySet[Run]) -> QuerySet[Run]:
    """The rows of one page: first their keys from the index, then only these from the table."""
    rows = Run.objects.filter(pk__in=runs.values("pk")).select_related("project")
    return rows.defer(*_HEAVY).order_by("-created_at", "-id")


def counted(wanted: RunFilter) -> Mapping[str, int]:
    """How many runs have each status, whichever of them is looked at."""
    rows = _narrowed(wanted).order_by().values_list("status").annotate(Count("pk"))
    return dict(rows)


def projects(sight: Sight) -> list[str]:
    begun = Run.objects.filter(project=OuterRef("pk"))
    names = sight.of(Project.objects.filter(Exists(begun)), "pk").order_by("name")
    return list(names.values_list("name", flat=True)[:OFFERED])


def workflows(sight: Sight) -> list[str]:
    return _names("workflow_id", sight)


def starters(sight: Sight) -> list[str]:
    return _names("started_by", sight)


def since(days: int) -> datetime | None:
    return timezone.now() - timedelta(days=days) if days else None


def _names(field: str, sight: Sight) -> list[str]:
    names = sight.of(Run.objects.order_by(field)).values_list(field, flat=True).distinct()
    return list(names[:OFFERED])


def _narrowed(wanted: RunFilter) -> QuerySet[Run]:
    exact = {
        "project__name": wanted.project,
        "workflow_id": wanted.workflow,
        "started_by": wanted.started_by,
        "entered_phase": wanted.phase,
        "created_at__gte": wanted.since,
    }
    runs = Run.objects.filter(**{field: value for field, value in exact.items() if value})
    runs = wanted.sight.of(runs)
    return runs.filter(_said(wanted.text)) if wanted.text else runs


def _said(text: str) -> Q:
    """Any part of what a run is called, or with a `#` exactly its work id."""
    if text.startswith("#") and text != "#":
        return Q(work_id__iexact=text[1:])
    named = Project.objects.filter(name__icontains=text)
    return (
        Q(own_title__icontains=text)
        | Q(run_id__icontains=text)
        | Q(work_id__icontains=text)
        | Q(workflow_id__icontains=text)
        | Q(project__in=named)
    )


def _chips(counts: Mapping[str, int], chosen: str) -> list[StatusChip]:
    return [
        StatusChip(
            value=status.value,
            label=status.label.capitalize(),
            count=counts.get(status.value, 0),
            is_chosen=status.value == chosen,
        )
        for status in RunStatus
        if counts.get(status.value) or status.value == chosen
    ]
