from datetime import timedelta
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from feedback.models import Announcement, Callback, Delivery, FeedbackRequest, Notice, NoticeKind
from runs.accounts import tokens
from runs.domain.values.actors import Role, Scope
from tests import factories as f
from tests import workers
from tests.api_client import account, error_of

pytestmark = pytest.mark.django_db


def scrape(scope: Scope | None = Scope.OPERATOR, role: Role | None = None) -> HttpResponse:
    headers = {}
    if scope:
        user = account("pat", role) if role else None
        _, secret = tokens.create("prometheus", scope=scope, user=user)
        headers = {"Authorization": f"Bearer {secret}"}
    return Client().get("/metrics", headers=headers)  # type: ignore[return-value]


def values() -> dict[str, float]:
    """Each sample as `name{label}`."""
    response = scrape()
    assert response.status_code == 200
    assert response["Content-Type"].startswith("text/plain; version=0.0.4")
    return {
        sample.name + "".join(f"{{{value}}}" for value in sample.labels.values()): sample.value
        for family in text_string_to_metric_families(response.content.decode())
        for sample in family.samples
    }


@pytest.mark.parametrize(
    ("scope", "role", "code"),
    [
        (None, None, 401),
        (Scope.AGENT, None, 403),
        (Scope.REVIEWER, Role.ADMIN, 403),
        (Scope.OPERATOR, Role.VIEWER, 403),
        (Scope.OPERATOR, Role.OPERATOR, 200),
    ],
)
def test_metrics_are_for_operators(scope: Scope | None, role: Role | None, code: int) -> None:
    response = scrape(scope, role)

    assert response.status_code == code
    if code != 200:
        error_of(response)
        assert b"faber_runs" not in response.content


def test_an_empty_site_has_zeros_and_no_gaps() -> None:
    told = values()

    assert told["faber_runs{completed}"] == 0
    assert told["faber_open_requests{review}"] == 0
    assert told["faber_oldest_open_request_seconds"] == 0
    assert told["faber_decision_seconds_count"] == 0
    assert told["faber_queue_jobs{short}"] == 0
    assert told["faber_deliveries{failing}"] == 0
    assert told["faber_callbacks{given_up}"] == 0


def test_metrics_tell_what_is_in_the_database() -> None:
    asks = f.started(f.five_steps())
    decided = f.started(f.five_steps())
    FeedbackRequest.objects.update(requested_at=timezone.now() - timedelta(minutes=10))
    f.answered(decided, "approve")
    f.start(f.five_steps())
    workers.report()
    for number, (is_due, attempts) in enumerate([(False, 0), (True, 0), (True, 3)]):
        Delivery.objects.create(
            kind="run",
            mark=f"m{number}",
            repository="a/b",
            issue=1,
            is_due=is_due,
            attempts=attempts,
        )

    told = values()

    assert told["faber_runs{awaiting_feedback}"] == 1, asks
    assert told["faber_runs{completed}"] == 1
    assert told["faber_open_requests{review}"] == 1
    assert told["faber_oldest_open_request_seconds"] == pytest.approx(600, abs=30)
    assert told["faber_decision_seconds_bucket{300}"] == 0
    assert told["faber_decision_seconds_bucket{900}"] == 1
    assert told["faber_decision_seconds_sum"] == pytest.approx(600, abs=30)
    assert told["faber_open_steps{queued}"] == 1
    assert told["faber_queue_jobs{steps}"] >= 1
    beat = next(value for name, value in told.items() if name.startswith("faber_worker_beat"))
    assert 0 <= beat < 10
    states = ("done", "waiting", "failing")
    assert [told[f"faber_deliveries{{{state}}}"] for state in states] == [1, 1, 1]


def test_metrics_tell_who_was_called_back() -> None:
    states: dict[str, dict[str, Any]] = {
        "open": {},
        "done": {"delivered_at": timezone.now()},
        "waiting": {"is_due": True},
        "failing": {"is_due": True, "attempts": 2, "last_error": "it returned 500"},
        "given_up": {"attempts": 10, "last_error": "it returned 500"},
    }
    for fields in states.values():
        request = f.pending(f.started(f.five_steps()))
        Callback.objects.create(request=request, url="https://example.org/", **fields)

    told = values()

    counted = {name: told.get(f"faber_callbacks{{{name}}}") for name in states}
    assert counted == {**dict.fromkeys(states, 1), "open": None}


def test_metrics_tell_how_far_notices_got() -> None:
    states: dict[str, dict[str, Any]] = {
        "sent": {"is_due": False, "sent_at": timezone.now()},
        "waiting": {},
        "failing": {"last_error": "it answered 500"},
        "given_up": {"is_due": False, "last_error": "it answered 500"},
    }
    announcement = Announcement.objects.create(kind=NoticeKind.TEST, about="test")
    for receiver, fields in states.items():
        Notice.objects.create(announcement=announcement, receiver=receiver, **fields)

    told = values()

    assert [told[f"faber_notices{{{name}}}"] for name in states] == [1, 1, 1, 1]


def test_a_scrape_changes_nothing() -> None:
    assert Client().post("/metrics").status_code == 405


def test_the_disk_is_told() -> None:
    told = values()

    assert told["faber_disk_bytes{database}"] > 0
    assert 0 < told["faber_disk_bytes{free}"] <= told["faber_disk_bytes{total}"]
