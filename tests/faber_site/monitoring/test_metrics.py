import math
from datetime import timedelta
from importlib.metadata import version
from typing import Any

import pytest
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families
from pytest_django import Settings

from feedback.models import Announcement, Callback, Delivery, FeedbackRequest, Notice, NoticeKind
from runs.accounts import tokens
from runs.domain.values.actors import Role, Scope
from runs.models import AccessToken, StepAttempt
from tests import brokers, workers
from tests import factories as f
from tests.api_client import account, error_of

pytestmark = [pytest.mark.django_db, pytest.mark.database]


def scrape(scope: Scope | None = Scope.OPERATOR, role: Role | None = None) -> HttpResponse:
    headers = {}
    if scope:
        user = account("pat", role) if role else None
        name = f"prometheus {AccessToken.objects.count()}"
        _, secret = tokens.create(name, scope=scope, user=user)
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


def test_what_a_broker_that_is_down_holds_is_not_known(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert values()["faber_queue_up{database}"] == 1
    brokers.use_none(settings, monkeypatch)

    told = values()

    assert told["faber_queue_up{celery}"] == 0
    assert math.isnan(told["faber_queue_jobs{steps}"])
    assert math.isnan(told["faber_queue_oldest_seconds{short}"])


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


def test_what_agents_cost_is_counted_by_project() -> None:
    run = f.started(f.five_steps())
    first = run.attempts.order_by("pk")[:1].values("pk")
    run.attempts.filter(pk__in=first).update(cost_usd=1.5, input_tokens=900, output_tokens=100)

    told = values()

    assert told["faber_agent_cost_usd_total{Acme/App}"] == 1.5
    assert told["faber_agent_tokens_total{input}{Acme/App}"] == 900
    assert told["faber_agent_tokens_total{output}{Acme/App}"] == 100


def test_steps_are_counted_by_outcome_with_how_long_they_took() -> None:
    run = f.started(f.five_steps())
    began = timezone.now() - timedelta(hours=3)
    first = run.attempts.order_by("pk").first()
    assert first
    ended: dict[str, dict[str, Any]] = {
        "failure": {"status": "finished", "result": "failure"},
        "lost": {"status": "lost", "result": "failure"},
        "cancelled": {"status": "cancelled", "result": ""},
    }
    before = values()["faber_step_seconds_count{success}"]
    for number, fields in enumerate(ended.values(), 100):
        StepAttempt.objects.create(
            run=run,
            phase=first.phase,
            step="x",
            position=0,
            number=number,
            **{"started_at": began, "finished_at": began + timedelta(seconds=90), **fields},
        )

    told = values()

    assert told["faber_step_seconds_count{success}"] == before
    for outcome in ended:
        assert told[f"faber_step_seconds_count{{{outcome}}}"] == 1
        assert told[f"faber_step_seconds_sum{{{outcome}}}"] == pytest.approx(90, abs=0.01)
        assert told[f"faber_step_seconds_bucket{{60}}{{{outcome}}}"] == 0
        assert told[f"faber_step_seconds_bucket{{300}}{{{outcome}}}"] == 1


def test_open_requests_are_counted_by_how_long_they_wait() -> None:
    for age in (timedelta(minutes=5), timedelta(hours=2), timedelta(days=9)):
        request = f.pending(f.started(f.five_steps()))
        FeedbackRequest.objects.filter(pk=request.pk).update(requested_at=timezone.now() - age)

    told = values()

    older = [told[f"faber_open_requests_older{{{bound}}}"] for bound in (3600, 86400, 604800)]
    assert older == [2, 1, 1]


def test_requests_are_counted_by_view_and_class_of_status() -> None:
    before = values()
    Client().get("/login/")
    Client().get("/no/such/page/of/anybody")
    Client().get("/healthz")

    told = values()

    def grown(name: str) -> float:
        return told[name] - before.get(name, 0)

    assert grown("faber_http_requests_total{2xx}{login}") == 1
    assert grown("faber_http_request_seconds_count{login}") == 1
    assert grown("faber_http_requests_total{4xx}{none}") == 1
    assert grown("faber_http_requests_total{2xx}{healthz}") == 1
    assert not any("anybody" in name for name in told)


def test_metrics_tell_what_runs_here() -> None:
    (build,) = [
        sample
        for family in text_string_to_metric_families(scrape().content.decode())
        for sample in family.samples
        if sample.name == "faber_build_info"
    ]

    assert build.value == 1
    assert build.labels["version"] == version("faber-review")
    assert build.labels["database"] in ("sqlite", "postgresql")
