"""Finds runs for the list: by words, by what they are, by when; and counts them by status."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING

from django.core.paginator import Page, Paginator
from django.db.models import Exists, Max, OuterRef, QuerySet
from django.utils import timezone

from runs.accounts.membership import EVERYTHING, Sight
from runs.domain.values.status import RunStatus
from runs.engine import turns
from runs.models import Event, Project, Run
from runs.record.endings import Ending, endings
from runs.search import counts, matching
from runs.search.counts import Quantity

PER_PAGE = 50
COUNTED = 10_000  # of each status, and the last run that a page can show; a filter finds the others
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
    count: Quantity
    is_chosen: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RunList:
    leaf: Page[Run]
    total: Quantity
    chips: list[StatusChip]
    everything: Quantity  # of any status
    version: str
    is_live: bool
    holders: Mapping[int, Sequence[Run]]  # whom waiting runs wait for, by project
    endings: Mapping[int, Ending]  # of those that have ended, by run


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
    matching_any = _narrowed(wanted, is_all=bool(wanted.status))
    quantities = _counted(wanted, matching_any)
    everything = sum(quantities.values(), counts.NONE)
    total = quantities.get(wanted.status, counts.NONE) if wanted.status else everything
    runs = _of_status(wanted, matching_any)
    leaf = _Counted(runs, min(total.count, COUNTED)).get_page(number)
    first = PER_PAGE * (leaf.number - 1)
    leaf.object_list = list(_whole(runs[first : first + PER_PAGE])) if total else []
    waiting = [run.project for run in leaf.object_list if run.state is RunStatus.PENDING]
    return RunList(
        leaf=leaf,
        total=total,
        chips=_chips(quantities, wanted.status),
        everything=everything,
        version=version,
        is_live=leaf.number == 1,
        holders=turns.holders_of(waiting),
        endings=endings(leaf.object_list),
    )


def newest() -> str:
    """Changes whenever anything happens to any run, and costs one look at an index."""
    known: int | None = Event.objects.aggregate(newest=Max("pk"))["newest"]
    return str(known or 0)


def found(wanted: RunFilter, *, is_all: bool = False) -> QuerySet[Run]:
    """The runs, newest first; asked for their keys alone, one index answers.

    A text finds the newest that have it, and `is_all` also those that nobody pages to.
    """
    return _of_status(wanted, _narrowed(wanted, is_all=is_all or bool(wanted.status)))


def _of_status(wanted: RunFilter, runs: QuerySet[Run]) -> QuerySet[Run]:
    if wanted.status:
        runs = runs.filter(status=wanted.status)
    return runs.order_by("-created_at", "-id")


def _whole(runs: QuerySet[Run]) -> QuerySet[Run]:
    """The rows of one page: first their keys from the index, then only these from the table."""
    rows = Run.objects.filter(pk__in=runs.values("pk")).select_related("project")
    return rows.defer(*_HEAVY).order_by("-created_at", "-id")


def _counted(wanted: RunFilter, runs: QuerySet[Run]) -> Mapping[str, Quantity]:
    """How many runs have each status, whichever of them is looked at; each as far as is counted."""
    if wanted.text or wanted.narrows:
        # Among the newest: no index knows both what they are narrowed by and their status.
        return counts.by("status", runs.order_by("-created_at"), COUNTED)
    return counts.up_to(COUNTED, {each.value: runs.filter(status=each) for each in RunStatus})


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


def _names(column: str, sight: Sight) -> list[str]:
    return counts.names(sight.of(Run.objects.all()), column, OFFERED)


def _narrowed(wanted: RunFilter, *, is_all: bool = False) -> QuerySet[Run]:
    exact = {
        "project__in": _called(wanted.project) if wanted.project else None,
        "workflow_id": wanted.workflow,
        "started_by": wanted.started_by,
        "entered_phase": wanted.phase,
        "created_at__gte": wanted.since,
    }
    given = {field: value for field, value in exact.items() if value not in (None, "")}
    runs = Run.objects.filter(**given)
    runs = wanted.sight.of(runs)
    if not wanted.text:
        return runs
    narrows = is_all or wanted.narrows or wanted.sight.narrows
    return runs.filter(matching.named(wanted.text, is_all=narrows))


def _called(name: str) -> list[int]:
    """By its key: the order of a join would be looked for among all runs."""
    return list(Project.objects.filter(name=name).values_list("pk", flat=True))


def _chips(quantities: Mapping[str, Quantity], chosen: str) -> list[StatusChip]:
    return [
        StatusChip(
            value=status.value,
            label=status.label.capitalize(),
            count=quantities.get(status.value, counts.NONE),
            is_chosen=status.value == chosen,
        )
        for status in RunStatus
        if quantities.get(status.value) or status.value == chosen
    ]
