"""What agents cost, summed by week and project, for whoever may see it."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from feedback.audit import costs
from runs.accounts.membership import EVERYTHING, Sight
from runs.models import Project, Run, StepAttempt
from tests import factories as f

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 11, 18, 9, tzinfo=UTC)  # a Wednesday


def spent(
    usd: float | None, *, at: datetime = NOW, project: str = "Acme/App", **fields: object
) -> Run:
    run = f.start(f.workflow({"build": [f.step("a")]}))
    Run.objects.filter(pk=run.pk).update(
        project=Project.objects.get_or_create(name=project)[0],
        created_at=at,
        cost_usd=usd,
        **fields,
    )
    run.attempts.update(
        status=StepAttempt.Status.FINISHED,
        finished_at=at,
        cost_usd=usd,
        input_tokens=900,
        output_tokens=100,
    )
    return f.fresh(run)


def shown(days: int = 30, sight: Sight = EVERYTHING) -> costs.Costs:
    return costs.costs(since=costs.first_day(NOW, days), now=NOW, sight=sight)


def test_costs_are_summed_by_project_the_dearest_first() -> None:
    spent(1)
    spent(2, project="Acme/Site")
    spent(0.5)
    spent(70, at=NOW - timedelta(days=31))

    found = shown()

    assert (found.total.usd, found.total.tokens, found.runs) == (3.5, 3000, 3)
    assert [(p.name, p.runs, p.cost.usd) for p in found.projects] == [
        ("Acme/Site", 1, 2),
        ("Acme/App", 2, 1.5),
    ]
    assert [each.cost.usd for each in found.dearest] == [2, 1, 0.5]
    assert found.per_run == "$1.17"


def test_a_week_begins_on_monday_and_weeks_without_a_cost_are_there_too() -> None:
    spent(1, at=datetime(2026, 11, 16, 0, 0, tzinfo=UTC))
    spent(2, at=datetime(2026, 11, 15, 23, 59, tzinfo=UTC))

    weeks = shown().weeks

    assert len(weeks) == costs.SHOWN_WEEKS
    assert [(f"{week.monday}", week.cost.usd) for week in weeks[-3:]] == [
        ("2026-11-02", 0),
        ("2026-11-09", 2),
        ("2026-11-16", 1),
    ]
    assert shown().projects[0].this_week.usd == 1


def test_an_agent_that_tells_tokens_only_costs_no_dollars() -> None:
    spent(None)

    found = shown()

    assert (found.total.dollars, found.total.tokens) == ("–", 1000)
    assert not found.is_empty


def test_the_costs_of_a_project_that_does_not_exist_for_somebody_are_not_counted() -> None:
    spent(1)
    hidden = spent(2, project="Acme/Secret").project_id

    found = shown(sight=Sight(hidden=frozenset({hidden})))

    assert found.total.usd == 1
    assert [project.name for project in found.projects] == ["Acme/App"]
    assert found.weeks[-1].cost.usd == 1


def test_the_page_shows_costs_and_says_when_there_are_none(admin_client: Client) -> None:
    empty = admin_client.get("/costs/").content.decode()
    assert "No costs in this period" in empty

    run = spent(4.2, at=datetime.now(UTC), own_title="Export invoices")
    page = admin_client.get("/costs/").content.decode()

    assert "$4.20" in page
    assert "Export invoices" in page
    assert f"/runs/{run.run_id}/" in page
    assert 'aria-current="page">Costs' in page


def test_weeks_are_told_apart_by_the_database_itself() -> None:
    with CaptureQueriesContext(connection) as queries:
        shown()

    assert not [query["sql"] for query in queries if "django_" in query["sql"]]
