"""Queries that are made once and give what Django gives."""

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from runs.models import Run, StepAttempt
from runs.models.prepared import Prepared
from tests import factories as f

pytestmark = [pytest.mark.django_db, pytest.mark.database]


def _by_run() -> Prepared[StepAttempt]:
    return Prepared(
        lambda: StepAttempt.objects.select_related("run__project").filter(
            queued_at__lte=timezone.now(), run_id=0
        )
    )


def test_it_gives_the_same_object_with_everything_that_hangs_on_it(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    run = f.started(f.five_steps())
    asked = _by_run()
    asked.first(timezone.now(), 0)
    name = run.project.name
    with django_assert_num_queries(1):
        found = asked.first(timezone.now(), run.pk)
        assert found is not None
        assert found.run.project.name == name
    expected = StepAttempt.objects.select_related("run__project").get(pk=found.pk)
    for mine, theirs in ((found, expected), (found.run, expected.run)):
        for field in mine._meta.concrete_fields:
            assert getattr(mine, field.attname) == getattr(theirs, field.attname)
    assert found.run.frozen_plan == expected.run.frozen_plan


def test_what_is_found_can_be_saved_again() -> None:
    run = f.started(f.five_steps())
    found = Prepared(lambda: Run.objects.filter(pk=0)).first(run.pk)
    assert found is not None
    found.error = "changed"
    found.save(update_fields=["error"])
    assert Run.objects.get(pk=run.pk).error == "changed"


def test_another_value_finds_another_row_or_none() -> None:
    runs = [f.started(f.five_steps()), f.started(f.five_steps())]
    asked = Prepared(lambda: Run.objects.filter(pk=0))
    assert [asked.first(run.pk) for run in runs] == runs
    assert asked.first(0) is None


def test_a_moment_is_compared_as_it_is_stored() -> None:
    run = f.started(f.five_steps())
    before = Prepared(lambda: Run.objects.filter(created_at__lte=timezone.now()))
    assert before.first(run.created_at) == run


def test_too_few_values_are_refused() -> None:
    with pytest.raises(TypeError, match="2 values are asked for, 1 given"):
        _by_run().first(timezone.now())


def test_values_come_as_django_gives_them() -> None:
    run = f.started(f.five_steps())
    asked = Prepared(lambda: Run.objects.filter(pk=0).values_list("pk", "plan", "created_at"))
    assert list(map(tuple, asked.rows(run.pk))) == [(run.pk, run.plan, run.created_at)]
    assert asked.rows(0) == []
