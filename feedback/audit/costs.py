"""What agents cost: by week, by project, and which runs cost most."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, NamedTuple

from django.db.models import Case, Count, F, IntegerField, Q, QuerySet, Sum, Value, When

from feedback.models import Inquiry
from runs.accounts.membership import Sight
from runs.domain.responses import usage
from runs.models import Run, StepAttempt

SHOWN_WEEKS = 12
PROJECTS = 20
RUNS = 10

_TOLD = Q(cost_usd__isnull=False) | Q(output_tokens__isnull=False)
_SUMS = (
    Sum("cost_usd", default=0.0),
    Sum("input_tokens", default=0),
    Sum("output_tokens", default=0),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What something cost; agents that tell tokens only add no dollars."""

    usd: float = 0.0
    tokens_in: int = 0
    tokens_out: int = 0

    @classmethod
    def of(cls, usd: float, tokens_in: int, tokens_out: int) -> "Cost":
        return cls(usd=usd, tokens_in=tokens_in, tokens_out=tokens_out)

    @classmethod
    def summed(cls, costs: Iterable["Cost"]) -> "Cost":
        each = list(costs)
        return cls(
            usd=sum(cost.usd for cost in each),
            tokens_in=sum(cost.tokens_in for cost in each),
            tokens_out=sum(cost.tokens_out for cost in each),
        )

    @property
    def tokens(self) -> int:
        return self.tokens_in + self.tokens_out

    @property
    def dollars(self) -> str:
        return usage.dollars(self.usd) if self.usd else "–"


class ProjectCost(NamedTuple):
    name: str
    runs: int
    cost: Cost
    this_week: Cost


class RunCost(NamedTuple):
    run: Run
    cost: Cost


class WeekCost(NamedTuple):
    monday: date
    cost: Cost


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    total: Cost
    runs: int
    projects: Sequence[ProjectCost]
    projects_left_out: int
    dearest: Sequence[RunCost]
    weeks: Sequence[WeekCost]

    @property
    def per_run(self) -> str:
        return Cost(usd=self.total.usd / self.runs).dollars if self.runs else "–"

    @property
    def this_week(self) -> Cost:
        return self.weeks[-1].cost

    @property
    def is_empty(self) -> bool:
        return not self.total.usd and not self.total.tokens


def costs(*, since: datetime | None, now: datetime, sight: Sight) -> Costs:
    """Of all that agents ended since then; the weeks are always the last ones."""
    told = _told(sight, since)
    projects = _projects(told, _told(sight, _monday(now)))
    return Costs(
        runs=sum(project.runs for project in projects),
        total=Cost.summed(project.cost for project in projects),
        projects=projects[:PROJECTS],
        projects_left_out=max(0, len(projects) - PROJECTS),
        dearest=_dearest(told),
        weeks=_weeks(now, sight),
    )


# Executions of steps and answers to questions before a decision, with `of_run` and `ended`.
_Told = Sequence[QuerySet[Any]]


def _told(sight: Sight, since: datetime | None) -> _Told:
    steps = sight.of(StepAttempt.objects.filter(_TOLD).order_by(), "run__project")
    said = sight.of(Inquiry.objects.filter(_TOLD).order_by(), "request__run__project")
    told = (
        steps.annotate(of_run=F("run"), project=F("run__project__name"), ended=F("finished_at")),
        said.annotate(
            of_run=F("request__run"),
            project=F("request__run__project__name"),
            ended=F("answered_at"),
        ),
    )
    return [rows.filter(ended__gte=since) for rows in told] if since else told


def _summed(told: _Told, *by: str, **counted: Count) -> dict[Any, list[tuple[Any, ...]]]:
    """The sums of each kind by what is named: its key, then the counts and sums of each row."""
    found: dict[Any, list[tuple[Any, ...]]] = defaultdict(list)
    for rows in told:
        for key, *sums in rows.values_list(*by).annotate(**counted).annotate(*_SUMS):
            found[key].append(tuple(sums))
    return found


def _projects(told: _Told, of_this_week: _Told) -> list[ProjectCost]:
    """Each project, the one that cost most first."""
    recent = _summed(of_this_week, "project")
    by_project = _summed(told, "project", runs=Count("of_run", distinct=True))
    found = [
        ProjectCost(
            name,
            max(runs for runs, *_ in rows),  # who is asked has mostly executed a step
            _cost(sums for _, *sums in rows),
            _cost(recent.get(name, ())),
        )
        for name, rows in by_project.items()
    ]
    return sorted(found, key=lambda each: (-each.cost.usd, -each.cost.tokens, each.name))


def _dearest(told: _Told) -> list[RunCost]:
    most = F("cost_usd__sum").desc()
    tops = (rows.values_list("of_run").annotate(*_SUMS).order_by(most, "-of_run") for rows in told)
    keys = {run_pk for rows in tops for run_pk, *_ in rows[:RUNS]}
    found = _summed([rows.filter(of_run__in=keys) for rows in told], "of_run")
    dearest = sorted(found, key=lambda run_pk: (-_cost(found[run_pk]).usd, -run_pk))[:RUNS]
    by_pk = Run.objects.select_related("project").defer("plan").in_bulk(dearest)
    return [RunCost(by_pk[run_pk], _cost(found[run_pk])) for run_pk in dearest]


def _weeks(now: datetime, sight: Sight) -> list[WeekCost]:
    """The last weeks, those without a cost among them; each begins on Monday, in UTC."""
    last = _monday(now)
    mondays = [last - timedelta(weeks=number) for number in reversed(range(SHOWN_WEEKS))]
    # By bounds: Django's own week is a call of Python for every row of SQLite.
    begun = [When(ended__gte=day, then=Value(at)) for at, day in reversed([*enumerate(mondays)])]
    week = Case(*begun, output_field=IntegerField())
    known = _summed([rows.annotate(week=week) for rows in _told(sight, mondays[0])], "week")
    return [WeekCost(day.date(), _cost(known.get(at, ()))) for at, day in enumerate(mondays)]


def _cost(sums: Iterable[Sequence[Any]]) -> Cost:
    return Cost.summed(Cost.of(*each) for each in sums)


def _monday(now: datetime) -> datetime:
    today = now.astimezone(UTC).date()
    return datetime.combine(today - timedelta(days=today.weekday()), time.min, UTC)
