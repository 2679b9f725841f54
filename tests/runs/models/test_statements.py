"""Statements that are made once, and read and write what Django would."""

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from runs.models import Event, Run, StepAttempt
from runs.models.statements import Prepared, insert, insert_all, update
from tests import factories as f

pytestmark = [pytest.mark.django_db, pytest.mark.database]


def _by_run() -> Prepared[StepAttempt]:
    return Prepared(
        lambda now, run: StepAttempt.objects.select_related("run__project").filter(
            queued_at__lte=now, run_id=run
        ),
        *(timezone.now(), -1),
    )


def test_it_gives_the_same_object_with_everything_that_hangs_on_it(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    run = f.started(f.five_steps())
    asked = _by_run()
    asked.first(timezone.now(), -1)
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
    found = Prepared(lambda pk: Run.objects.filter(pk=pk), -1).first(run.pk)
    assert found is not None
    found.error = "changed"
    found.save(update_fields=["error"])
    assert Run.objects.get(pk=run.pk).error == "changed"


def test_another_value_finds_another_row_or_none() -> None:
    runs = [f.started(f.five_steps()), f.started(f.five_steps())]
    asked = Prepared(lambda pk: Run.objects.filter(pk=pk), -1)
    assert [asked.first(run.pk) for run in runs] == runs
    assert asked.first(0) is None


def test_a_moment_is_compared_as_it_is_stored() -> None:
    run = f.started(f.five_steps())
    before = Prepared(lambda now: Run.objects.filter(created_at__lte=now), timezone.now())
    assert before.first(run.created_at) == run


def test_too_few_values_are_refused() -> None:
    with pytest.raises(TypeError, match="2 values are asked for, 1 given"):
        _by_run().first(timezone.now())


def test_an_example_that_is_not_unique_is_refused() -> None:
    twice = Prepared(lambda pk: Run.objects.filter(pk=pk, batch_id=pk), -1)
    with pytest.raises(ValueError, match="-1 is no example"):
        twice.first(1)


def test_values_come_as_django_gives_them() -> None:
    run = f.started(f.five_steps())
    asked = Prepared(
        lambda pk: Run.objects.filter(pk=pk).values_list("pk", "plan", "created_at"), 0
    )
    assert list(map(tuple, asked.rows(run.pk))) == [(run.pk, run.plan, run.created_at)]
    assert asked.rows(0) == []


# Writes


def _event(run: Run, number: int) -> Event:
    return Event(
        run=run,
        number=number,
        type="note",
        timestamp=timezone.now(),
        document={"words": ["grün", None], "number": number},
        hash="0" * 64,
    )


def test_a_new_object_is_written_as_save_writes_it() -> None:
    run = f.started(f.five_steps())
    new = _event(run, run.last_event_id + 1)
    insert(new)
    kept = Event.objects.get(pk=new.pk)
    for field in Event._meta.concrete_fields:
        assert getattr(kept, field.attname) == getattr(new, field.attname)
    new.type = "changed"
    new.save(update_fields=["type"])
    assert Event.objects.get(pk=new.pk).type == "changed"


def test_what_the_database_forbids_is_not_written() -> None:
    run = f.started(f.five_steps())
    twice = _event(run, run.events.earliest("number").number)
    with pytest.raises(IntegrityError), transaction.atomic():
        insert(twice)
    assert insert_all(Event, [twice, _event(run, run.last_event_id + 1)]) == 1
    assert run.events.get(type="note").number == run.last_event_id + 1


def test_many_new_objects_are_written_in_their_order() -> None:
    run = f.started(f.five_steps())
    first = run.last_event_id + 1
    new = [_event(run, number) for number in range(first, first + 120)]
    insert_all(Event, new)
    kept = list(run.events.filter(type="note").order_by("number"))
    assert [each.number for each in kept] == [each.number for each in new]
    assert [each.document for each in kept] == [each.document for each in new]
    assert [each.timestamp for each in kept] == [each.timestamp for each in new]


def test_only_rows_that_are_as_expected_are_changed() -> None:
    runs = [f.start(f.five_steps()), f.start(f.five_steps())]
    attempts = [StepAttempt.objects.get(run=run) for run in runs]
    now = timezone.now()
    values = {"status": StepAttempt.Status.RUNNING, "lease_until": now, "usage": {"turns": 1}}
    expected = {"run": runs[0].pk, "status": StepAttempt.Status.QUEUED, "is_remote": False}

    assert update(StepAttempt, expected, values) == 1
    assert update(StepAttempt, expected, values) == 0

    changed, other = StepAttempt.objects.order_by("id")
    assert (changed.status, changed.lease_until, changed.usage) == ("running", now, {"turns": 1})
    assert (other.status, other.lease_until, other.usage) == ("queued", None, attempts[1].usage)


def test_nothing_is_written_where_there_is_no_value() -> None:
    run = f.start(f.five_steps())
    attempt = StepAttempt.objects.get(run=run)
    update(StepAttempt, {"id": attempt.pk}, {"usage": {"turns": 1}, "started_at": timezone.now()})
    update(StepAttempt, {"id": attempt.pk}, {"usage": None, "started_at": None})
    assert StepAttempt.objects.filter(usage__isnull=True, started_at=None).count() == 1
