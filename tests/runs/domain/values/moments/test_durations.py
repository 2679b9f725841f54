"""Durations as people write them."""

from datetime import timedelta

import pytest

from runs.domain.values.moments.durations import maybe_duration, read_duration


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("30s", timedelta(seconds=30)),
        ("45m", timedelta(minutes=45)),
        ("2h", timedelta(hours=2)),
        (" 3d ", timedelta(days=3)),
        ("366d", timedelta(days=366)),
    ],
)
def test_a_number_and_a_unit_are_a_duration(text: str, length: timedelta) -> None:
    duration = read_duration(text)

    assert duration.length == length
    assert str(duration) == text.strip()


@pytest.mark.parametrize("text", ["", "2", "h", "0h", "-1h", "1.5h", "2 h", "2w", "1h30m", "٢h"])
def test_anything_else_is_none(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration: write 30s, 45m, 2h or 3d"):
        read_duration(text)


def test_more_than_a_year_is_too_long() -> None:
    with pytest.raises(ValueError, match="longer than 366 days"):
        read_duration("367d")


def test_where_nothing_is_said_there_is_none() -> None:
    assert maybe_duration("") is None
