"""Quiet hours and digests, by the clock on somebody's own wall."""

from datetime import UTC, datetime, time

import pytest

from feedback.channels.notices.hours import Hours


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


NIGHT = Hours(zone="Europe/Berlin", quiet_from=time(22), quiet_until=time(7))


@pytest.mark.parametrize(
    ("hours", "now", "then"),
    [
        (Hours(), "2026-11-18 03:00", "2026-11-18 03:00"),
        (NIGHT, "2026-11-18 20:59", "2026-11-18 20:59"),  # 21:59 there
        (NIGHT, "2026-11-18 21:00", "2026-11-19 06:00"),
        (NIGHT, "2026-11-18 23:30", "2026-11-19 06:00"),
        (NIGHT, "2026-11-18 05:59", "2026-11-18 06:00"),
        (NIGHT, "2026-11-18 06:00", "2026-11-18 06:00"),
        # The night in which summer time begins has an hour less, the other one more.
        (NIGHT, "2026-03-28 22:00", "2026-03-29 05:00"),
        (NIGHT, "2026-10-24 22:00", "2026-10-25 06:00"),
        (
            Hours(zone="UTC", quiet_from=time(12), quiet_until=time(13)),
            "2026-11-18 12:30",
            "2026-11-18 13:00",
        ),
        (Hours(quiet_from=time(8), quiet_until=time(8)), "2026-11-18 08:00", "2026-11-18 08:00"),
        (Hours(every_hour=True), "2026-11-18 03:20", "2026-11-18 04:00"),
        (
            Hours(zone="Europe/Berlin", every_day_at=time(8, 30)),
            "2026-11-18 07:00",
            "2026-11-18 07:30",
        ),
        (
            Hours(zone="Europe/Berlin", every_day_at=time(8, 30)),
            "2026-11-18 07:30",
            "2026-11-19 07:30",
        ),
        # 02:30 is skipped when summer time begins.
        (
            Hours(zone="Europe/Berlin", every_day_at=time(2, 30)),
            "2026-03-29 00:00",
            "2026-03-29 01:30",
        ),
        # A digest that falls into quiet hours comes after them.
        (
            Hours(every_day_at=time(6), quiet_from=time(22), quiet_until=time(7)),
            "2026-11-18 12:00",
            "2026-11-19 07:00",
        ),
    ],
)
def test_a_notice_comes_when_it_is_wanted(hours: Hours, now: str, then: str) -> None:
    assert hours.moment(at(now)) == at(then)
