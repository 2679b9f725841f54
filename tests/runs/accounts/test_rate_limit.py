import pytest

from runs.accounts.rate_limit import Buckets


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr("runs.accounts.rate_limit.time.monotonic", lambda: now[0])
    return now


def test_a_bucket_empties_and_fills_again(now: list[float]) -> None:
    buckets = Buckets(burst=2, per_second=0.5)

    assert [buckets.take(1), buckets.take(1)] == [0, 0]
    assert buckets.take(1) == pytest.approx(2)
    assert buckets.take(2) == 0, "another one has its own"

    now[0] += 2
    assert buckets.take(1) == 0


def test_who_waited_long_has_no_more_than_a_full_bucket(now: list[float]) -> None:
    buckets = Buckets(burst=2, per_second=0.5)
    buckets.take(1)

    now[0] += 1000

    assert [buckets.take(1) > 0 for _ in range(3)] == [False, False, True]


def test_asking_in_vain_makes_nobody_wait_longer(now: list[float]) -> None:
    buckets = Buckets(burst=1, per_second=0.1)
    buckets.take(1)

    assert [buckets.take(1) for _ in range(5)] == [pytest.approx(10)] * 5
    now[0] += 10
    assert buckets.take(1) == 0


def test_a_bucket_can_be_filled_by_hand() -> None:
    buckets = Buckets(burst=1, per_second=0.1)
    buckets.take(1)

    buckets.fill(1)

    assert buckets.take(1) == 0


def test_of_too_many_the_one_unheard_of_for_longest_is_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Buckets, "MOST", 2)
    buckets = Buckets(burst=1, per_second=0.001)
    for key in ("old", "busy", "busy", "new"):
        buckets.take(key)

    assert buckets.take("busy") > 0
    assert buckets.take("old") == 0
