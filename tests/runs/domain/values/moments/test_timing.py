"""The moments that follow from a step's own words, and the next reminder after a long silence."""

from datetime import UTC, datetime, timedelta

import pytest

from runs.domain.values.moments.business_hours import read_hours
from runs.domain.values.moments.durations import read_duration
from runs.domain.values.moments.timing import Moments, Timing, moments_of, next_reminder

MONDAY = datetime(2026, 11, 16, 10, 0, tzinfo=UTC)
TIMING = Timing(
    due=read_duration("4h"),
    remind=read_duration("1h"),
    escalate_after=read_duration("2h"),
    escalate_to=("olga",),
)


def test_every_duration_counts_from_the_asking() -> None:
    assert moments_of(TIMING, MONDAY, None) == Moments(
        due_at=MONDAY + timedelta(hours=4),
        remind_at=MONDAY + timedelta(hours=1),
        escalate_at=MONDAY + timedelta(hours=2),
    )


def test_what_nobody_says_has_no_moment() -> None:
    assert moments_of(Timing(), MONDAY, None) == Moments()
    assert Moments().next(times_out=True) is None


def test_being_due_asks_for_something_only_where_it_decides() -> None:
    due = Moments(due_at=MONDAY)

    assert due.next(times_out=False) is None
    assert due.next(times_out=True) == MONDAY


def test_a_step_goes_before_what_is_usual() -> None:
    usual = Timing(due=read_duration("3d"), remind=read_duration("1d"))

    assert Timing(due=read_duration("1h")).or_else(usual) == Timing(
        due=read_duration("1h"), remind=read_duration("1d")
    )
    assert TIMING.or_else(Timing(escalate_after=usual.due, escalate_to=("x",))) == TIMING


@pytest.mark.parametrize(
    ("passed", "number"),
    [
        (timedelta(), 1),
        (timedelta(minutes=59), 1),
        (timedelta(hours=1), 2),
        (timedelta(days=3), 73),
    ],
)
def test_the_next_reminder_is_always_still_to_come(passed: timedelta, number: int) -> None:
    found = next_reminder(MONDAY, read_duration("1h"), MONDAY + passed, None)

    assert found == MONDAY + timedelta(hours=number)


@pytest.mark.parametrize(
    ("every", "now", "then"),
    [
        ("2h", datetime(2026, 11, 20, 16, 30, tzinfo=UTC), datetime(2026, 11, 23, 10, tzinfo=UTC)),
        ("2h", datetime(2026, 11, 22, 3, 0, tzinfo=UTC), datetime(2026, 11, 23, 10, tzinfo=UTC)),
        ("1d", datetime(2026, 11, 20, 10, 0, tzinfo=UTC), datetime(2026, 11, 23, 10, tzinfo=UTC)),
        ("1d", datetime(2026, 11, 16, 9, 0, tzinfo=UTC), datetime(2026, 11, 17, 10, tzinfo=UTC)),
    ],
)
def test_nobody_is_reminded_outside_business_hours(
    every: str, now: datetime, then: datetime
) -> None:
    hours = read_hours("mon-fri 09:00-17:00", "UTC")

    assert next_reminder(MONDAY, read_duration(every), now, hours) == then


def test_after_a_clock_was_set_back_the_first_reminder_comes_first() -> None:
    early = MONDAY - timedelta(hours=5)

    assert next_reminder(MONDAY, read_duration("1h"), early, None) == MONDAY + timedelta(hours=1)
