"""A laptop that sleeps while an agent works: nothing is lost, and nothing is done again."""

import pytest

from tests.chaos.storm import judge
from tests.chaos.storm.suspended import suspend

pytestmark = [pytest.mark.chaos, pytest.mark.xdist_group("supervisor")]


@pytest.mark.timeout(300)
def test_a_sleep_of_everything_costs_no_step_an_attempt() -> None:
    slept = suspend(6, print, FABER_LEASE_SECONDS="2")  # for three leases

    assert judge.violations(slept.history) == []
    assert slept.attempts == ["prepare #1 finished", "think #1 finished", "finish #1 finished"]
    assert slept.calls == 1
