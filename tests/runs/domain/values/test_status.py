from itertools import product

import pytest

from runs.domain.values.errors import Refused
from runs.domain.values.status import RunStatus, check_move

ALLOWED = {
    ("pending", "in_progress"),
    ("pending", "cancelled"),
    ("in_progress", "awaiting_feedback"),
    ("in_progress", "completed"),
    ("in_progress", "failed"),
    ("in_progress", "cancelled"),
    ("awaiting_feedback", "in_progress"),
    ("awaiting_feedback", "cancelled"),
    ("failed", "in_progress"),
    ("failed", "cancelled"),
}


@pytest.mark.parametrize(("current", "target"), list(product(RunStatus, RunStatus)))
def test_a_run_moves_only_as_the_table_says(current: RunStatus, target: RunStatus) -> None:
    if (current.value, target.value) in ALLOWED:
        check_move(current, target)
    else:
        with pytest.raises(Refused, match="cannot become"):
            check_move(current, target)


def test_completed_and_cancelled_are_final() -> None:
    assert [status.value for status in RunStatus if status.is_final] == ["completed", "cancelled"]
