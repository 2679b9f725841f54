"""How a question becomes a request."""

import os
from collections.abc import Callable

import pytest

from feedback.models import FeedbackRequest
from tests import factories as f

pytestmark = pytest.mark.django_db


def drawing(*draws: bytes) -> Callable[[int], bytes]:
    """Random bytes, of which these are the first that make the number of a request."""
    left, draw = iter(draws), os.urandom
    return lambda count: (count == 3 and next(left, b"")) or draw(count)


def test_a_number_that_was_drawn_before_is_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = f.pending(f.started(f.five_steps())).request_id
    same = bytes.fromhex(taken[-6:])
    monkeypatch.setattr(os, "urandom", drawing(same, same, b"\x01\x02\x03"))

    run = f.started(f.five_steps())

    assert f.pending(run).request_id == f"{taken[:-6]}010203"
    assert FeedbackRequest.objects.count() == 2
