"""The doctor names what is broken, repairs what it safely can, and is quiet otherwise."""

import re
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from django_q.models import OrmQ
from pytest_django.fixtures import Settings

from bench.ground import filling
from feedback.channels.trackers import schedule
from feedback.doctor import diagnosis
from feedback.models import Delivery, FeedbackRequest, FeedbackResponse, InboundComment
from runs import engine
from runs.accounts import users
from runs.domain.values.actors import Role
from runs.isolation import ways
from runs.models import Project, Run, WorkerBeat
from runs.trackers import Tracker
from tests import brokers, workers
from tests import factories as f
from tests.commands import faber
from tests.fake_github import FakeGitHub, unauthorized
from tests.jobs import work_off
from tests.plans import explained

pytestmark = pytest.mark.django_db

LONG_AGO = timedelta(minutes=10)


@pytest.fixture(autouse=True)
def worker(monkeypatch: pytest.MonkeyPatch) -> None:
    workers.report()
    monkeypatch.setattr(ways, "why_not", lambda hidden: "")  # whatever this machine can do


def whats() -> str:
    return "\n".join(finding.what for finding in diagnosis.findings())


def test_a_healthy_system_has_no_findings() -> None:
    f.started(f.five_steps())

    assert diagnosis.findings() == []
    assert faber("doctor").code == 0


def test_a_dead_cluster_is_told() -> None:
    WorkerBeat.objects.all().delete()

    assert whats() == "No worker is running"


def test_a_broker_that_is_down_is_told_with_what_goes_on_without_it(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    brokers.use_none(settings, monkeypatch)

    told = faber("doctor")

    assert told.code != 0
    assert "The broker of the job queue is out of reach" in told.out
    assert "FABER_CELERY_BROKER_URL" in told.out
    assert "s3cr3t" not in told.out + told.err


def test_workers_that_wait_for_the_broker_are_not_told_to_be_started(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    brokers.use_none(settings, monkeypatch)
    WorkerBeat.objects.all().delete()

    assert whats() == "The broker of the job queue is out of reach"


def test_a_machine_without_git_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    assert whats() == "git is not installed"


def test_a_dead_lane_is_told() -> None:
    WorkerBeat.objects.update(short_beat_at=timezone.now() - LONG_AGO)

    assert whats() == "No worker handles answers, comments and deliveries"


def test_steps_without_isolation_are_told(
    monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    monkeypatch.setattr(ways, "why_not", lambda hidden: "bwrap is not installed")
    (found,) = diagnosis.findings()
    settings.FABER_STEP_ISOLATION = "require"
    (refused,) = diagnosis.findings()

    assert (found.what, found.cause) == ("Steps run without isolation", "bwrap is not installed")
    assert found.repair.startswith("Install bubblewrap, or allow user namespaces")
    assert refused.what == "Steps are refused because isolation is not available"


def test_a_home_that_steps_cannot_see_is_told(
    monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    monkeypatch.setenv("HOME", str(settings.FABER_DATA_DIR))

    assert whats() == "Agents can't find their credentials"


def test_isolation_that_is_off_is_no_finding_but_said(settings: Settings, client: Client) -> None:
    settings.FABER_STEP_ISOLATION = "off"
    client.force_login(users.create("ann", role=Role.OPERATOR))

    told = faber("doctor")

    assert told.code == 0
    assert "Step isolation is off" in told.out
    assert faber("doctor", "--json").document["step_isolation"] == "off"
    assert "Step isolation is off" in client.get("/doctor/").content.decode()


def test_a_silent_worker_is_found_and_its_step_handed_out_again() -> None:
    run = f.start(f.five_steps())
    engine.claim(run.pk, "gone")
    run.attempts.update(lease_until=timezone.now() - LONG_AGO)
    assert "has no heartbeat" in whats()

    diagnosis.repair(diagnosis.findings())

    assert diagnosis.findings() == []
    assert run.attempts.filter(status="queued").exists()


def test_a_lost_job_is_found_and_queued_again() -> None:
    run = f.start(f.five_steps())
    OrmQ.objects.all().delete()
    run.attempts.update(queued_at=timezone.now() - LONG_AGO)
    assert "is waiting for a worker" in whats()

    diagnosis.repair(diagnosis.findings())

    assert work_off() == 1
    assert f.fresh(run).status == "awaiting_feedback"


def test_an_answer_that_took_no_effect_is_found(settings: Settings) -> None:
    settings.FABER_UNDO_SECONDS = 5
    run = f.started(f.five_steps())
    f.answer(run, "approve")
    FeedbackResponse.objects.update(held_until=timezone.now() - LONG_AGO)
    assert "did not take effect" in whats()

    diagnosis.repair(diagnosis.findings())

    assert f.fresh(run).status == "in_progress"


def test_a_run_that_waits_with_no_request_is_found() -> None:
    run = f.started(f.five_steps())
    FeedbackRequest.objects.update(status="cancelled")
    Run.objects.update(updated_at=timezone.now() - LONG_AGO)

    assert f"{run.run_id} is waiting for a decision without an open request" in whats()


def test_a_run_in_progress_that_does_nothing_is_found() -> None:
    run = f.start(f.five_steps())
    run.attempts.all().delete()
    Run.objects.update(updated_at=timezone.now() - LONG_AGO)

    assert f"{run.run_id} is in progress but has no step" in whats()

    Run.objects.update(on_hold=True)  # imported: it is meant to rest
    assert f"{run.run_id} is in progress but has no step" not in whats()


def test_comments_that_were_not_posted_or_heard_are_found_and_mended(github: FakeGitHub) -> None:
    github.add_issue("Acme/App", 7)
    github.grant("Acme/App", "octocat", "write")
    run = f.work(f.start(f.five_steps(), work_id="7"))
    Delivery.objects.update(created_at=timezone.now() - LONG_AGO)
    said = github.comment("Acme/App", 7, "@faber approve", author="octocat")
    InboundComment.objects.create(
        repository="Acme/App",
        issue=7,
        comment_id=said.id,
        author="octocat",
        body=said.body,
        commented_at=said.created_at + timedelta(seconds=2),
        heard_at=timezone.now() - LONG_AGO,
    )
    assert "is missing on Acme/App#7" in whats()
    assert "The comment by octocat on Acme/App#7 was not processed" in whats()

    diagnosis.repair(diagnosis.findings())

    assert f.fresh(run).status == "in_progress"
    assert FeedbackResponse.objects.get().who == "octocat"
    assert Delivery.objects.filter(comment_id=None).count() == 1  # the reply, just queued


def test_refused_credentials_are_told_with_what_to_do(github: FakeGitHub) -> None:
    github.fail(unauthorized(), path="/user", times=9)

    (finding,) = diagnosis.findings()

    assert finding.what == "GitHub rejects the site's credentials"
    assert "FABER_GITHUB_TOKEN" in finding.repair
    assert github.settings()["FABER_GITHUB_TOKEN"] not in finding.cause


def test_nobody_listening_is_told(github: FakeGitHub, settings: Settings) -> None:
    settings.FABER_GITHUB_WEBHOOK_SECRET = ""
    settings.FABER_GITHUB_POLL_SECONDS = 0

    assert "FABER does not receive GitHub comments" in whats()

    Project.objects.create(name="acme/app", webhook_number=1)
    assert "FABER does not receive GitHub comments" not in whats()


def test_the_command_tells_and_fixes() -> None:
    run = f.start(f.five_steps())
    engine.claim(run.pk, "gone")
    run.attempts.update(lease_until=timezone.now() - LONG_AGO)

    told = faber("doctor", "--json")
    assert told.code == 4
    (finding,) = told.document["findings"]
    assert finding["can_fix"] is True

    assert faber("doctor", "--fix").code == 0


@pytest.mark.parametrize(("role", "status"), [(Role.OPERATOR, 200), (Role.REVIEWER, 403)])
def test_the_page_is_for_operators(client: Client, role: Role, status: int) -> None:
    client.force_login(users.create("somebody", role=role))

    assert client.get("/doctor/").status_code == status
    assert client.post("/doctor/").status_code == (303 if status == 200 else status)


@pytest.mark.parametrize(("role", "is_told"), [("read", True), ("write", False)])
def test_a_token_that_may_not_write_is_told(github: FakeGitHub, role: str, is_told: bool) -> None:
    github.add_issue("Acme/App", 7)
    github.grant("Acme/App", github.login, role)
    schedule.listen_to(Tracker.GITHUB, "Acme/App")

    assert ("can't comment in acme/app" in whats()) is is_told


def test_the_doctor_reads_no_run_that_waits_as_it_should() -> None:
    """Plans of SQLite; see `tests.plans`."""
    f.answered(f.started(f.five_steps()), "approve")
    filling.fill_up_to(300, waiting_each=3)

    with CaptureQueriesContext(connection) as queries:
        assert "without an open request" not in whats()

    about = [query["sql"] for query in queries if "awaiting_feedback" in query["sql"]]
    idle, unfinished = sorted(map(explained, about), key=len, reverse=True)[:2]
    assert "COVERING INDEX runs_by_status (status=?)" in idle
    assert "INDEX one_pending_request (run_id=?)" in idle  # a newer SQLite reads nothing else
    asked = next(query["sql"] for query in queries if "EXISTS" in query["sql"])
    assert """U0."status" = """ not in asked  # or each request is read, to compare it
    assert "INTEGER PRIMARY KEY (rowid=?)" in idle
    assert "TEMP B-TREE FOR ORDER BY" not in unfinished


def test_the_doctor_reads_nothing_that_was_sent() -> None:
    """Plans of SQLite; see `tests.plans`."""
    with CaptureQueriesContext(connection) as queries:
        diagnosis.findings()

    indexes = {
        "faber_feedback_notice": "notices_failing",
        "faber_feedback_webhookdelivery": "webhooks_failing",
        "faber_feedback_delivery": "deliveries_",
    }
    for table, index in indexes.items():
        about = [query["sql"] for query in queries if f'FROM "{table}"' in query["sql"]]
        assert about
        for sql in about:
            assert re.search(
                rf"(?:SCAN|SEARCH) {table} USING (?:COVERING )?INDEX {index}", explained(sql)
            )
