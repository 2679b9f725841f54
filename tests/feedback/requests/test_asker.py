"""How a question becomes a request."""

import os
from collections.abc import Callable

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from bench.ground import filling
from feedback.models import FeedbackRequest
from feedback.requests import asker
from runs.models import Run
from tests import factories as f
from tests.plans import explained

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


def test_what_runs_of_a_page_ask_is_found_by_those_runs() -> None:
    """On SQLite; PostgreSQL knows how many wait."""
    f.answered(f.started(f.five_steps()), "approve")
    filling.fill_up_to(60, waiting_each=2)

    with CaptureQueriesContext(connection) as queries:
        found = asker.pending(list(Run.objects.order_by("-pk")[:50]))

    assert len(found) == 25
    assert "(run_id=?)" in explained(queries[-1]["sql"])
    assert "(status=?)" not in explained(queries[-1]["sql"])
