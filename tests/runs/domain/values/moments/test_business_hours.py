"""Working time: over midnight, weekends, and the two nights a year when clocks are changed."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from runs.domain.values.moments.business_hours import BusinessHours, read_hours, zone_of
from runs.domain.values.moments.durations import read_duration

BERLIN = ZoneInfo("Europe/Berlin")


def hours(text: str = "mon-fri 09:00-17:00", zone: str = "Europe/Berlin") -> BusinessHours:
    read = read_hours(text, zone)
    assert read
    return read


def local(text: str, zone: ZoneInfo = BERLIN) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=zone)


@pytest.mark.parametrize(
    ("asked", "duration", "then"),
    [
        # 2026-11-16 is a Monday.
        ("2026-11-16T10:00", "2h", "2026-11-16T12:00"),
        ("2026-11-16T10:00", "7h", "2026-11-16T17:00"),
        ("2026-11-16T16:00", "2h", "2026-11-17T10:00"),  # over midnight
        ("2026-11-16T07:00", "30m", "2026-11-16T09:30"),  # before anybody is there
        ("2026-11-16T23:30", "1h", "2026-11-17T10:00"),
        ("2026-11-20T16:30", "1h", "2026-11-23T09:30"),  # over a weekend
        ("2026-11-21T12:00", "30s", "2026-11-23T09:00:30"),
        ("2026-11-16T10:00", "20h", "2026-11-18T14:00"),
    ],
)
def test_only_working_time_counts(asked: str, duration: str, then: str) -> None:
    assert hours().after(local(asked), read_duration(duration)) == local(then)


@pytest.mark.parametrize(
    ("asked", "duration", "then"),
    [
        ("2026-11-16T10:00", "1d", "2026-11-17T10:00"),
        ("2026-11-20T10:00", "1d", "2026-11-23T10:00"),
        ("2026-11-21T10:00", "1d", "2026-11-24T09:00"),  # asked on a Saturday: from Monday on
        ("2026-11-16T10:00", "5d", "2026-11-23T10:00"),
    ],
)
def test_a_day_is_a_working_day(asked: str, duration: str, then: str) -> None:
    assert hours().after(local(asked), read_duration(duration)) == local(then)


def test_a_day_that_is_over_by_then_waits_for_the_next() -> None:
    short = hours("mon-thu 09:00-17:00, fri 09:00-13:00")

    assert short.after(local("2026-11-19T15:00"), read_duration("1d")) == local("2026-11-23T09:00")


def test_a_break_does_not_count() -> None:
    with_lunch = hours("mon-fri 09:00-12:00, mon-fri 13:00-17:00")

    assert with_lunch.after(local("2026-11-16T11:30"), read_duration("1h")) == local(
        "2026-11-16T13:30"
    )


# Berlin goes from +1 to +2 on 2026-03-29 at 02:00, and back on 2026-10-25 at 03:00.


@pytest.mark.parametrize(
    ("asked", "then", "apart"),
    [
        ("2026-03-27T16:00", "2026-03-30T10:00", timedelta(hours=65)),
        ("2026-10-23T16:00", "2026-10-26T10:00", timedelta(hours=67)),
    ],
)
def test_hours_stay_where_the_clock_on_the_wall_says(
    asked: str, then: str, apart: timedelta
) -> None:
    found = hours().after(local(asked), read_duration("2h"))

    assert found == local(then)
    assert found - local(asked).astimezone(UTC) == apart


@pytest.mark.parametrize(
    ("day", "length"), [("2026-03-29", 23), ("2026-10-25", 25), ("2026-11-16", 24)]
)
def test_a_whole_day_is_as_long_as_that_day_is(day: str, length: int) -> None:
    always = hours("mon-sun 00:00-24:00")
    start = local(f"{day}T00:00")
    end = (start + timedelta(days=1)).astimezone(UTC)

    assert always.between(start, end) == timedelta(hours=length)
    assert always.after(start, read_duration(f"{length}h")) == end


def test_an_hour_that_comes_twice_is_open_twice() -> None:
    night = hours("sun 01:00-02:30")

    assert night.between(local("2026-10-25T00:00"), local("2026-10-25T12:00")) == timedelta(
        hours=2, minutes=30
    )


def test_a_day_over_a_change_of_clocks_keeps_its_time_of_day() -> None:
    always = hours("mon-sun 00:00-24:00")

    found = always.after(local("2026-03-28T10:00"), read_duration("1d"))

    assert found == local("2026-03-29T10:00")
    assert found - local("2026-03-28T10:00").astimezone(UTC) == timedelta(hours=23)


def test_no_time_passes_outside_the_hours() -> None:
    assert hours().between(local("2026-11-20T17:00"), local("2026-11-23T09:00")) == timedelta()
    assert hours().between(local("2026-11-20T16:00"), local("2026-11-23T10:00")) == timedelta(
        hours=2
    )


def test_days_may_go_over_the_end_of_the_week() -> None:
    assert [bool(day) for day in hours("sat-mon 10:00-12:00").week] == [
        *(True, False, False, False, False, True, True)
    ]


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("9-5", "are no business hours"),
        ("mon-fri", "are no business hours"),
        ("mon-fri 17:00-09:00", "ends before it begins"),
        ("mon 25:00-26:00", "is no time of day"),
        ("mon 09:75-10:00", "is no time of day"),
        ("mon 09:00-12:00, mon 11:00-13:00", "overlap"),
    ],
)
def test_what_is_no_time_is_said(text: str, wrong: str) -> None:
    with pytest.raises(ValueError, match=wrong):
        read_hours(text, "UTC")


def test_without_hours_there_are_none() -> None:
    assert read_hours(" ", "Europe/Berlin") is None


@pytest.mark.parametrize("name", ["Europe/Bielefeld", "../etc/passwd", "", "/etc/localtime"])
def test_a_zone_that_nobody_knows_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="is not a time zone"):
        zone_of(name)
