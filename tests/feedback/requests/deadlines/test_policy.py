"""The moments a request is given: the step before its workflow, and that before its project."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from feedback.models import FeedbackRequest
from runs.models import Project
from tests import factories as f

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)


def asked(step: f.Json | None = None, **of_the_workflow: object) -> FeedbackRequest:
    one = {**f.step("one", requires_approval=True), **(step or {})}
    return f.pending(f.started(f.workflow({"build": [one]}, **of_the_workflow)))


def project(**fields: Any) -> Project:
    return Project.objects.create(name="Acme/App", **fields)


def test_without_a_word_about_time_there_is_none() -> None:
    request = asked()

    assert (request.due_at, request.remind_at, request.escalate_at) == (None, None, None)
    assert (request.acts_at, request.on_timeout, request.is_late) == (None, "", False)


def test_every_duration_counts_from_the_asking() -> None:
    request = asked(
        {"due": "4h", "remind": "1h", "escalate": {"after": "2h", "to": ["olga"]}},
    )

    assert request.due_at == request.requested_at + 4 * HOUR
    assert request.remind_at == request.requested_at + HOUR
    assert request.escalate_at == request.requested_at + 2 * HOUR
    assert request.escalate_to == ["olga"]
    assert request.acts_at == request.remind_at


def test_what_is_only_due_is_never_acted_on() -> None:
    assert asked({"due": "4h"}).acts_at is None
    assert asked({"due": "4h", "on_timeout": "reject"}).acts_at is not None


def test_a_project_says_what_is_usual() -> None:
    project(due="3d", remind="1d", escalate_after="2d", escalate_to=["olga"])
    request = asked({"remind": "1h"})

    assert request.due_at == request.requested_at + timedelta(days=3)
    assert request.remind_at == request.requested_at + HOUR
    assert request.escalate_at == request.requested_at + timedelta(days=2)


def test_a_project_lets_time_end_a_run_but_never_approve() -> None:
    project(due="1h", on_timeout=["approve", "abort", "reject"])

    assert asked().on_timeout == "reject"


def test_a_workflow_goes_before_its_project() -> None:
    project(due="1h", on_timeout=["reject"])
    request = asked(due="2h", on_timeout="approve", allow_timeout_approval=True)

    assert request.on_timeout == "approve"
    assert request.due_at == request.requested_at + 2 * HOUR


def test_business_hours_count_in_the_zone_of_the_project(monkeypatch: pytest.MonkeyPatch) -> None:
    project(business_hours="mon-fri 09:00-17:00", timezone="Europe/Berlin")
    friday = datetime(2026, 11, 20, 15, 30, tzinfo=UTC)  # half past four in Berlin
    monkeypatch.setattr("runs.models.clock.now", lambda: friday)
    monkeypatch.setattr("runs.models.clock.read_at", lambda _row: friday)
    monkeypatch.setattr("runs.models.clock.noted", lambda: friday)

    assert asked({"due": "1h"}).due_at == datetime(2026, 11, 23, 8, 30, tzinfo=UTC)


def test_it_is_late_until_somebody_decides_and_stays_so() -> None:
    request = asked({"due": "1h"})
    request.due_at = request.requested_at - HOUR
    assert request.is_late

    request.closed_at = request.due_at - HOUR
    assert not request.is_late
