"""Sums that are kept between scrapes: exact whatever happens in between, and quick."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.db.models import QuerySet
from django.test import Client
from django.test.utils import CaptureQueriesContext
from prometheus_client.metrics_core import Metric

from bench.ground import filling
from faber_site.monitoring import metrics, step_metrics, tallies
from feedback.models import FeedbackResponse, KeptTotal
from feedback.upkeep import prune
from runs.models import Run, StepAttempt, clock
from tests import factories as f
from tests.faber_site.monitoring.test_metrics import scrape
from tests.kept_totals import pass_time, read_anew
from tests.plans import read_whole

pytestmark = [pytest.mark.django_db, pytest.mark.database]


@pytest.fixture
def decided() -> Run:
    return f.answered(f.started(f.five_steps()), "approve")


def counted() -> dict[str, float]:
    """Each sample of both histograms, by its name and labels."""
    families: list[Metric] = [*step_metrics.collect(), metrics._decision_latency()]
    return {
        f"{sample.name}{sorted(sample.labels.values())}": round(sample.value, 3)
        for family in families
        for sample in family.samples
    }


def counted_anew() -> dict[str, float]:
    """The same, read from every row."""
    return read_anew(counted)


def scrape_and_wait() -> None:
    counted()
    pass_time()


def test_what_was_counted_is_not_read_again(decided: Run) -> None:
    filling.fill_up_to(300)
    scrape_and_wait()
    before = counted()

    with CaptureQueriesContext(connection) as queries:
        assert scrape().status_code == 200

    assert list(read_whole(queries, "faber_runs_stepattempt")) == []
    assert list(read_whole(queries, "faber_feedback_feedbackresponse")) == []
    assert counted() == before == counted_anew()
    steps = KeptTotal.objects.get(name="steps")
    assert steps.up_to == StepAttempt.objects.order_by("-pk")[0].pk
    assert not StepAttempt.objects.filter(pk__gt=steps.up_to).exists()


def test_a_step_that_ends_after_the_count_went_past_it_is_counted_once(decided: Run) -> None:
    run = f.start(f.five_steps())
    scrape_and_wait()
    other = f.start(f.five_steps())
    scrape_and_wait()
    assert run.attempts.get().pk in KeptTotal.objects.get(name="steps").unfinished
    before = counted()

    f.work(run)
    f.work(other)

    assert counted() != before
    for _ in range(3):
        assert counted() == counted_anew()
        scrape_and_wait()
    assert KeptTotal.objects.get(name="steps").unfinished == []


def test_an_answer_that_is_taken_back_after_it_was_counted_is_not_told(decided: Run) -> None:
    scrape_and_wait()
    scrape_and_wait()
    assert counted()["faber_decision_seconds_count[]"] == 1

    FeedbackResponse.objects.update(state=FeedbackResponse.State.RETRACTED)

    assert counted()["faber_decision_seconds_count[]"] == 0
    assert counted() == counted_anew()


def test_two_who_count_at_once_count_once(decided: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    scrape_and_wait()
    count_on = tallies.Counted._count_on

    def both(counted: tallies.Counted, known: KeptTotal) -> None:
        count_on(counted, known)
        count_on(counted, known)

    monkeypatch.setattr(tallies.Counted, "_count_on", both)
    before = counted_anew()
    for _ in range(3):
        assert counted() == before
        pass_time()


def test_who_cannot_write_tells_the_same(decided: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    before = counted()
    pass_time()

    def locked(*_: Any, **__: Any) -> int:
        raise OperationalError("database is locked")

    monkeypatch.setattr(QuerySet, "update", locked)

    assert counted() == before


def test_pruned_runs_stay_counted(decided: Run, client: Client) -> None:
    scrape_and_wait()
    scrape_and_wait()
    before = counted()

    assert prune.prune(clock.now() + timedelta(days=1)).runs == 1

    assert counted() == before == counted_anew()


def test_a_step_that_ends_while_it_is_counted_is_counted_once(
    decided: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = f.start(f.five_steps())
    scrape_and_wait()
    sums = tallies.Counted._sums

    def late(counted: tallies.Counted, rows: QuerySet[Any]) -> Any:
        monkeypatch.undo()
        f.work(run)
        return sums(counted, rows)

    monkeypatch.setattr(tallies.Counted, "_sums", late)
    counted()

    assert KeptTotal.objects.get(name="steps").unfinished
    assert counted() == counted_anew()
