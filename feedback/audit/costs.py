"""What agents cost: by week, by project, and which runs cost most."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import NamedTuple

from feedback.totals.daily import Sums
from feedback.totals.kept import INQUIRIES, STEPS
from runs.accounts.membership import Sight
from runs.domain.responses import usage
from runs.models import Project, Run

SHOWN_WEEKS = 12
PROJECTS = 20
RUNS = 10
# Among so many that cost most ever there are mostly some of any period.
LOOKED_AT = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What something cost; agents that tell tokens only add no dollars."""

    usd: float = 0.0
    tokens_in: int = 0
    tokens_out: int = 0

    @classmethod
    def of(cls, sums: Sums) -> "Cost":
        return cls(usd=sums.usd, tokens_in=sums.tokens_in, tokens_out=sums.tokens_out)

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


def costs(*, since: date | None, now: datetime, sight: Sight) -> Costs:
    """Of all that agents ended from that day on; the weeks are always the last ones."""
    projects = _projects(sight, since, _monday(now))
    return Costs(
        runs=sum(project.runs for project in projects),
        total=Cost.summed(project.cost for project in projects),
        projects=projects[:PROJECTS],
        projects_left_out=max(0, len(projects) - PROJECTS),
        dearest=_dearest(sight, since),
        weeks=_weeks(sight, _monday(now)),
    )


def first_day(now: datetime, days: int) -> date | None:
    """Of a period that ends today; none where everything is asked for."""
    return now.astimezone(UTC).date() - timedelta(days=days - 1) if days else None


def _projects(sight: Sight, since: date | None, monday: date) -> list[ProjectCost]:
    """Each project, the one that cost most first."""
    steps, said = (each.by_project(sight, since) for each in (STEPS, INQUIRIES))
    this_week = [each.by_project(sight, monday) for each in (STEPS, INQUIRIES)]
    names = dict(Project.objects.values_list("pk", "name"))
    found = [
        ProjectCost(
            names[pk],
            steps.get(pk, Sums()).counted,  # whose agent is asked has executed a step
            _cost(pk, steps, said),
            _cost(pk, *this_week),
        )
        for pk in steps.keys() | said.keys()
    ]
    return sorted(found, key=lambda each: (-each.cost.usd, -each.cost.tokens, each.name))


def _dearest(sight: Sight, since: date | None) -> list[RunCost]:
    """The runs that cost most, of those that were started in the period."""
    told = sight.of(Run.objects.filter(cost_usd__isnull=False)).order_by("-cost_usd", "-pk")
    of_period = told.filter(created_at__gte=_midnight(since)) if since else told
    top = told.values("pk")[:LOOKED_AT]
    found = list(of_period.filter(pk__in=top).values_list("pk", flat=True)[:RUNS])
    if len(found) < RUNS:
        found = list(of_period.values_list("pk", flat=True)[:RUNS])
    rows = Run.objects.select_related("project").defer("plan").in_bulk(found)
    return [RunCost(rows[pk], _cost_of(rows[pk])) for pk in found]


def _cost_of(run: Run) -> Cost:
    """Of its steps and of the questions to its agents."""
    return Cost(
        usd=run.cost_usd or 0.0,
        tokens_in=run.input_tokens or 0,
        tokens_out=run.output_tokens or 0,
    )


def _weeks(sight: Sight, last: date) -> list[WeekCost]:
    """The last weeks, those without a cost among them; each begins on Monday, in UTC."""
    mondays = [last - timedelta(weeks=number) for number in reversed(range(SHOWN_WEEKS))]
    known: dict[date, list[Cost]] = defaultdict(list)
    for kept in (STEPS, INQUIRIES):
        for day, sums in kept.by_day(sight, mondays[0]).items():
            known[day - timedelta(days=day.weekday())].append(Cost.of(sums))
    return [WeekCost(monday, Cost.summed(known[monday])) for monday in mondays]


def _cost(project: int, *known: Mapping[int, Sums]) -> Cost:
    return Cost.summed(Cost.of(each.get(project, Sums())) for each in known)


def _monday(now: datetime) -> date:
    today = now.astimezone(UTC).date()
    return today - timedelta(days=today.weekday())


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time.min, UTC)
