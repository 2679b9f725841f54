"""What is kept by day: exact whatever happens in between, and never read from every row."""

from datetime import timedelta

import pytest
from django.db import OperationalError, connection
from django.db.models import QuerySet
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from bench.ground import filling
from feedback.audit import costs, statistics
from feedback.models import DailyTotal, FeedbackResponse, KeptTotal
from feedback.totals import kept
from feedback.totals.daily import Daily, Sums
from feedback.upkeep import nightly, prune
from runs.accounts.membership import EVERYTHING, Sight
from runs.models import Run, StepAttempt
from tests import factories as f
from tests.kept_totals import pass_time, read_anew
from tests.plans import read_whole

pytestmark = [pytest.mark.django_db, pytest.mark.database]


@pytest.fixture
def costly() -> Run:
    run = f.answered(f.started(f.five_steps()), "approve")
    cost = {"cost_usd": 0.5, "input_tokens": 10, "output_tokens": 3}
    run.attempts.update(**cost)
    Run.objects.filter(pk=run.pk).update(**cost)
    return run


def shown() -> tuple[object, ...]:
    """All that pages make of it."""
    now = timezone.now()
    spent = costs.costs(since=None, now=now, sight=EVERYTHING)
    answered = statistics.statistics(since=None, now=now, sight=EVERYTHING)
    totals = [(each.name, _rounded(each.total(EVERYTHING, None))) for each in _daily()]
    projects = [(project.name, project.runs, _told(project.cost)) for project in spent.projects]
    weeks = [(week.monday, _told(week.cost)) for week in spent.weeks]
    return totals, projects, weeks, answered.days, answered.lateness


def _told(cost: costs.Cost) -> tuple[float, ...]:
    """In another order the same fractions make another last digit."""
    return round(cost.usd, 6), cost.tokens_in, cost.tokens_out


def _daily() -> list[Daily]:
    return [each for each in kept.EVERY if isinstance(each, Daily)]


def _rounded(sums: Sums) -> tuple[float, ...]:
    return tuple(round(each, 6) for each in sums)


def count() -> None:
    for each in kept.EVERY:
        each.count_on()
    pass_time()


def count_all() -> None:
    count()
    count()


def test_what_is_kept_and_what_came_after_it_make_the_whole(costly: Run) -> None:
    count_all()
    assert kept.STEPS.total(EVERYTHING, None) == Sums(1, 2.5, 50, 15)
    assert DailyTotal.objects.filter(name=kept.STEPS.name).get().usd == 2.5

    other = f.answered(f.started(f.five_steps()), "approve")
    other.attempts.filter(position=0).update(cost_usd=1.0, input_tokens=1, output_tokens=1)

    assert kept.STEPS.total(EVERYTHING, None) == Sums(2, 3.5, 51, 16)
    for _ in range(3):
        assert shown() == read_anew(shown)
        count()
    assert kept.RUNS.count() == 2


def test_no_page_reads_what_was_counted(costly: Run) -> None:
    filling.fill_up_to(300)
    count_all()
    before = shown()

    with CaptureQueriesContext(connection) as queries:
        assert shown() == before

    assert list(read_whole(queries, "faber_runs_stepattempt")) == []
    assert list(read_whole(queries, "faber_runs_run")) == []
    assert list(read_whole(queries, "faber_feedback_feedbackresponse")) == []
    assert list(read_whole(queries, "faber_feedback_feedbackrequest")) == []
    assert before == read_anew(shown)


def test_a_step_that_ends_after_the_count_went_past_it_is_counted_once(costly: Run) -> None:
    run = f.start(f.five_steps())
    count_all()
    assert KeptTotal.objects.get(name=kept.STEPS.name).unfinished == [run.attempts.get().pk]

    f.work(run)
    StepAttempt.objects.filter(run=run, position=0).update(cost_usd=4.0)

    for _ in range(3):
        assert kept.STEPS.total(EVERYTHING, None).usd == 6.5
        count()


def test_two_who_count_at_once_count_once(costly: Run) -> None:
    count()
    known = kept.STEPS.growing.known()
    for _ in range(2):
        kept.STEPS.growing.count_on(known, kept.STEPS._read, kept.STEPS._keep)

    assert kept.STEPS.total(EVERYTHING, None).usd == 2.5


def test_who_reads_while_another_counts_on_adds_nothing_twice(costly: Run) -> None:
    count()
    known = kept.STEPS.growing.known()
    kept.STEPS.growing.count_on(known, kept.STEPS._read, kept.STEPS._keep)
    assert DailyTotal.objects.filter(name=kept.STEPS.name).exists()

    newer, found = kept.STEPS._kept(known, "day", EVERYTHING, None)

    assert newer.up_to > known.up_to
    assert [sums.usd for sums in found.values()] == [2.5]


def test_who_cannot_write_tells_the_same(costly: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    count()
    before = shown()

    def locked(*_: object, **__: object) -> int:
        raise OperationalError("database is locked")

    monkeypatch.setattr(QuerySet, "update", locked)

    assert shown() == before


def test_a_project_that_does_not_exist_for_somebody_adds_nothing(costly: Run) -> None:
    hidden = Sight(hidden=frozenset({costly.project_id}))
    count()
    assert kept.STEPS.total(hidden, None) == Sums()
    count()
    assert kept.STEPS.total(hidden, None) == Sums()


def test_pruned_runs_stay_counted(costly: Run) -> None:
    count_all()
    before = shown()

    assert prune.prune(timezone.now() + timedelta(days=1)).runs == 1

    assert shown() == before == read_anew(shown)


def test_an_answer_that_is_taken_back_after_it_was_counted_is_not_shown(costly: Run) -> None:
    count_all()
    before = read_anew(shown)

    FeedbackResponse.objects.update(state=FeedbackResponse.State.RETRACTED)

    assert shown() == read_anew(shown) != before


def test_a_sum_that_is_wrong_is_corrected_at_night(
    costly: Run, caplog: pytest.LogCaptureFixture
) -> None:
    count_all()
    DailyTotal.objects.filter(name=kept.STEPS.name).update(usd=7)
    KeptTotal.objects.filter(name=kept.RUNS.name).update(sums=[9])
    assert kept.STEPS.total(EVERYTHING, None).usd == 7

    nightly.clean_up()

    assert kept.STEPS.total(EVERYTHING, None).usd == 2.5
    assert kept.RUNS.count() == 1
    corrected = [record.message for record in caplog.records if "corrected" in record.message]
    assert len(corrected) == 2
    nightly.clean_up()
    assert [record.message for record in caplog.records if "corrected" in record.message] == (
        corrected
    )


def test_the_dearest_runs_are_found_though_dearer_ones_are_older(
    costly: Run, admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(costs, "LOOKED_AT", 3)
    filling.fill_up_to(60)
    long_ago = timezone.now() - timedelta(days=400)
    Run.objects.exclude(pk=costly.pk).update(created_at=long_ago, cost_usd=9)

    found = costs.costs(since=(timezone.now()).date(), now=timezone.now(), sight=EVERYTHING)

    assert [each.run.pk for each in found.dearest] == [costly.pk]
