"""Counts stop where nobody reads on, and say so."""

import pytest
from pytest_django import DjangoAssertNumQueries

from runs.accounts.membership import EVERYTHING
from runs.models import Run
from runs.pages.lists import listing
from runs.pages.lists.listing import RunFilter
from runs.search import counts
from runs.search.counts import Quantity
from tests import factories as f

pytestmark = [pytest.mark.django_db, pytest.mark.database]


def test_each_is_counted_up_to_the_most_in_one_statement(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    for _ in range(4):
        f.start(f.five_steps())
    Run.objects.filter(pk=Run.objects.latest("pk").pk).update(status="failed")
    runs = Run.objects.all()

    with django_assert_num_queries(1):
        asked = ("in_progress", "failed", "cancelled")
        found = counts.up_to(2, {status: runs.filter(status=status) for status in asked})

    assert {status: str(count) for status, count in found.items()} == {
        "in_progress": "2+",
        "failed": "1",
        "cancelled": "0",
    }


def test_a_sum_of_counts_is_at_least_what_was_counted() -> None:
    assert str(Quantity(9_999) + Quantity(2, is_more=True)) == "10,001+"
    assert not counts.NONE


def test_the_list_says_that_there_are_more_than_it_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(listing, "COUNTED", 2)
    monkeypatch.setattr(listing, "PER_PAGE", 1)
    for _ in range(4):
        f.start(f.five_steps())

    whole = listing.listed(RunFilter(), "")
    narrowed = listing.listed(RunFilter(workflow=Run.objects.latest("pk").workflow_id), "")

    assert str(whole.total) == "2+"
    assert str(narrowed.total) == "3+"
    assert whole.leaf.paginator.num_pages == narrowed.leaf.paginator.num_pages == 2


def test_the_names_in_use_are_each_told_once_and_in_order() -> None:
    for name in ("b", "a", "c", "a"):
        run = f.start(f.five_steps())
        Run.objects.filter(pk=run.pk).update(workflow_id=name)

    assert listing.workflows(EVERYTHING) == ["a", "b", "c"]
    assert counts.names(Run.objects.all(), "workflow_id", 2) == ["a", "b"]
    assert counts.names(Run.objects.exclude(workflow_id="b"), "workflow_id", 9) == ["a", "c"]
    assert counts.names(Run.objects.none(), "workflow_id", 9) == []
