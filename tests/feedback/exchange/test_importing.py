"""An imported run rests: it can be read, and nothing happens until an operator resumes it."""

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from django.test import Client
from django.utils import timezone
from django_q.models import OrmQ
from pytest_django.fixtures import Settings

from faber_site.runtime.sweep import sweep
from feedback.doctor import diagnosis
from feedback.models import Delivery, FeedbackResponse
from feedback.requests import answers
from runs import engine
from runs.accounts import users
from runs.domain.values.actors import Role, Scope
from runs.domain.values.errors import FaberError, NotAllowed
from runs.engine import turns
from runs.models import AuditEntry, Batch, Project, Run, StepAttempt
from runs.worker import remote
from tests import factories as f
from tests.api_client import account, body_of, error_of, program
from tests.commands import faber
from tests.fake_github import FakeGitHub
from tests.jobs import work_off

pytestmark = [pytest.mark.django_db, pytest.mark.database]

WHY = "was imported"


def touching(mark: Path) -> f.Json:
    """A step that leaves a trace on this machine when it is executed."""
    return {"id": "touch", "run": ["touch", str(mark)]}


def reviewed(mark: Path) -> Run:
    asks = f.step("plan", requires_approval=True)
    return f.started(f.workflow({"architect": [asks], "build": [touching(mark)]}), work_id="258")


def waiting(mark: Path) -> Run:
    run = f.start(f.workflow({"build": [touching(mark)]}))
    run.attempts.all().delete()
    Run.objects.filter(pk=run.pk).update(status="pending")
    return f.fresh(run)


def under_way(mark: Path) -> Run:
    return f.start(f.workflow({"build": [touching(mark)]}))


def failed(mark: Path) -> Run:
    run = under_way(mark)
    StepAttempt.objects.filter(run=run).update(status=StepAttempt.Status.LOST)
    Run.objects.filter(pk=run.pk).update(status="failed", error="gone")
    return f.fresh(run)


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    return tmp_path / "executed"


@pytest.fixture
def imported(mark: Path, tmp_path: Path) -> Run:
    return moved(reviewed(mark), tmp_path / "out")


def moved(run: Run, folder: Path, change: Callable[[f.Json], None] | None = None) -> Run:
    """Take a run away and in again, with what somebody made of its record meanwhile."""
    assert faber("export", run.run_id, str(folder)).code == 0
    Run.objects.all().delete()
    AuditEntry.objects.all().delete()
    Batch.objects.all().delete()
    OrmQ.objects.all().delete()
    if change:
        file = folder / "faber" / "record.json"
        record = json.loads(file.read_text())
        change(record)
        file.write_text(json.dumps(record))
    answer = faber("import", str(folder))
    assert answer.code == 0, answer.err
    return Run.objects.get(run_id=run.run_id)


def everything_due() -> None:
    """Whatever the site does by itself."""
    for _ in range(3):
        sweep()
        turns.catch_up()
        diagnosis.repair(diagnosis.findings())
        work_off()


def pretend_held(record: f.Json) -> None:
    asked: f.Json = record["requests"][0]  # type: ignore[index]
    at = timezone.now().isoformat()
    made_up = {
        "response": "approve",
        "action": "continue",
        "comment": "",
        "items": [],
        "skipped": False,
        "decides": True,
        "state": "held",
        "held_until": at,
        "identity": "user:1",
        "provided_by": {"user": "boss", "source": "web", "method": "session"},
        "seal": asked["seal"],
        "received_at": at,
    }
    asked.update(status="answered", closed_at=at, responses=[made_up])


# Nothing happens by itself


def test_a_made_up_held_answer_runs_nothing(mark: Path, tmp_path: Path) -> None:
    there = moved(reviewed(mark), tmp_path / "out", pretend_held)

    everything_due()

    assert not mark.exists()
    assert f.pending(there).responses.count() == 0
    assert f.fresh(there).status == "awaiting_feedback"


def test_a_held_answer_is_left_out_with_a_note(mark: Path, tmp_path: Path) -> None:
    run = reviewed(mark)
    f.answer(run, "approve")
    FeedbackResponse.objects.update(state="held", held_until=timezone.now())
    faber("export", run.run_id, str(tmp_path / "out"))
    Run.objects.all().delete()

    answer = faber("import", str(tmp_path / "out"), "--json")

    assert answer.code == 0
    (note,) = answer.document["notes"]
    assert "could still be undone" in note["message"]
    assert f.pending(Run.objects.get()).responses.count() == 0


@pytest.mark.parametrize("is_exclusive", [False, True])
@pytest.mark.parametrize("make", [reviewed, waiting, under_way, failed])
def test_an_imported_run_executes_nothing_by_itself(
    make: Callable[[Path], Run], is_exclusive: bool, mark: Path, tmp_path: Path
) -> None:
    there = moved(make(mark), tmp_path / "out")
    Project.objects.update(exclusive=is_exclusive)

    everything_due()

    assert not mark.exists()
    assert not there.attempts.filter(status__in=StepAttempt.OPEN).exists()


def test_a_waiting_run_of_a_made_up_batch_does_not_begin(mark: Path, tmp_path: Path) -> None:
    def put_into_batch(record: f.Json) -> None:
        batch = {"batch_id": "batch-1", "workflow_id": "small", "concurrency": 10, "issue": ""}
        started = {"started_by": "boss", "created_at": timezone.now().isoformat()}
        record["run"]["batch"] = {**batch, **started}  # type: ignore[index]

    there = moved(waiting(mark), tmp_path / "out", put_into_batch)

    everything_due()

    assert f.fresh(there).status == "pending"
    assert not mark.exists()


def test_a_resting_run_does_not_keep_others_from_their_turn(mark: Path, tmp_path: Path) -> None:
    moved(waiting(mark), tmp_path / "out")
    Project.objects.update(exclusive=True)
    other = f.start(f.five_steps())
    other.attempts.all().delete()
    Run.objects.filter(pk=other.pk).update(status="pending")

    turns.catch_up()

    assert f.fresh(other).status == "in_progress"


def test_an_imported_run_hands_out_no_remote_step(tmp_path: Path) -> None:
    run = f.started(f.workflow({"build": [{"id": "away", "remote": True}]}))
    there = moved(run, tmp_path / "out")

    assert remote.take(there, "laptop")["action"] == "wait"
    agent = program(Scope.AGENT)
    asked = agent.post(f"/runs/{there.run_id}/requests", {"type": "approval", "prompt": "May I?"})
    assert asked.status_code == 409


# No answer is taken, through any door


def test_the_api_takes_no_answer(imported: Run) -> None:
    reviewer = program(Scope.REVIEWER, account("rita", Role.REVIEWER))
    asked = f.pending(imported)

    refused = reviewer.post(f"/requests/{asked.request_id}/answer", {"response": "approve"})

    assert refused.status_code == 409
    error = error_of(refused)
    assert error["code"] == "imported"
    assert WHY in error["message"]
    assert body_of(reviewer.get(f"/requests/{asked.request_id}"))["status"] == "pending"


def test_the_command_line_takes_no_answer(imported: Run) -> None:
    answer = faber("answer", f.pending(imported).request_id, "approve")

    assert answer.code == 7
    assert WHY in answer.err
    assert f"faber resume {imported.run_id}" in answer.err
    assert not FeedbackResponse.objects.exists()


def test_the_page_takes_no_answer_and_says_why(imported: Run, client: Client) -> None:
    client.force_login(users.create("rita", role=Role.REVIEWER))
    address = f"/requests/{f.pending(imported).request_id}/"

    shown = client.get(address).content.decode()
    sent = client.post(address, {"response": "approve"})

    assert WHY in shown
    assert f"<code>faber resume {imported.run_id}</code>" in shown
    assert "Operators resume it on the run page" in shown
    assert "Resume run" not in shown
    assert "can answer" not in shown
    assert 'name="response"' not in shown
    assert sent.status_code == 409
    assert not FeedbackResponse.objects.exists()


def test_an_operator_resumes_the_run_where_its_request_is_read(
    imported: Run, client: Client
) -> None:
    client.force_login(users.create("olga", role=Role.OPERATOR))
    address = f"/requests/{f.pending(imported).request_id}/"
    resume = f"/runs/{imported.run_id}/resume/"

    shown = client.get(address).content.decode()

    assert f'action="{resume}"' in shown
    assert "Resume run" in shown
    assert "faber resume" not in shown
    assert f'action="{resume}"' in client.get(f"/runs/{imported.run_id}/").content.decode()
    assert client.post(resume).status_code == 303
    assert 'name="response"' in client.get(address).content.decode()


def test_the_notices_of_an_imported_run_look_alike(imported: Run, client: Client) -> None:
    client.force_login(users.create("rita", role=Role.REVIEWER))

    page = client.get(f"/runs/{imported.run_id}/").content.decode()

    assert page.count('class="notice run-asks"') == 2  # on hold, and waiting for a decision


def test_a_comment_is_no_answer(
    github: FakeGitHub, client: Client, mark: Path, tmp_path: Path
) -> None:
    github.add_issue("Acme/App", 258)
    github.grant("Acme/App", "octocat", "write")
    there = moved(reviewed(mark), tmp_path / "out")
    delivery = github.webhook(github.comment("Acme/App", 258, "@faber approve", author="octocat"))

    client.post(
        "/github/webhook", delivery.body, content_type="application/json", headers=delivery.headers
    )
    work_off()

    assert WHY in github.comments("Acme/App", 258)[-1].body
    assert f.fresh(there).status == "awaiting_feedback"


def test_an_answer_for_a_batch_is_not_taken(mark: Path, tmp_path: Path) -> None:
    def put_into_batch(record: f.Json) -> None:
        batch = {"batch_id": "batch-1", "workflow_id": "small", "concurrency": 10, "issue": ""}
        started = {"started_by": "boss", "created_at": timezone.now().isoformat()}
        record["run"]["batch"] = {**batch, **started}  # type: ignore[index]

    moved(reviewed(mark), tmp_path / "out", put_into_batch)

    answer = faber("batch", "answer", "batch-1", "-", "--json", stdin="#258: approve\n")

    (line,) = answer.document["results"]
    assert line["result"] != "applied"
    assert WHY in line["message"]
    assert not FeedbackResponse.objects.exists()


# An operator resumes it


def by_command(run: Run, _: Client) -> None:
    faber("resume", run.run_id)


def by_api(run: Run, _: Client) -> None:
    operator = program(Scope.OPERATOR, account("olga", Role.OPERATOR))
    assert operator.post(f"/runs/{run.run_id}/resume").status_code == 200


def by_page(run: Run, client: Client) -> None:
    client.force_login(users.create("olga", role=Role.OPERATOR))
    assert "Resume" in client.get(f"/runs/{run.run_id}/").content.decode()
    assert client.post(f"/runs/{run.run_id}/resume/").status_code in (302, 303)


DOORS = [by_command, by_api, by_page]


@pytest.mark.parametrize("resume", DOORS)
def test_an_operator_resumes_it_and_its_request_is_answered(
    resume: Callable[[Run, Client], None], imported: Run, client: Client, mark: Path
) -> None:
    resume(imported, client)
    assert f.fresh(imported).status == "awaiting_feedback"
    assert f.told(imported)[-1] == "workflow_resumed"

    f.answered(imported, "approve")

    assert mark.exists()
    assert f.fresh(imported).status == "completed"
    assert faber("verify", imported.run_id).code == 0
    assert faber("audit", "verify").code == 0


@pytest.mark.parametrize("resume", DOORS)
@pytest.mark.parametrize("make", [under_way, failed])
def test_an_operator_resumes_it_from_its_exact_step(
    make: Callable[[Path], Run],
    resume: Callable[[Run, Client], None],
    mark: Path,
    tmp_path: Path,
    client: Client,
) -> None:
    there = moved(make(mark), tmp_path / "out")

    resume(there, client)
    work_off()

    assert mark.exists()
    assert f.fresh(there).status == "completed"


def test_without_an_answer_the_command_says_that_it_now_waits_for_one(imported: Run) -> None:
    answer = faber("resume", imported.run_id)

    assert answer.code == 3


def test_the_command_that_resumes_may_answer_too(imported: Run, mark: Path) -> None:
    assert faber("resume", imported.run_id, "maybe").code == 7
    assert f.fresh(imported).on_hold  # an answer that is none resumes nothing

    assert faber("resume", imported.run_id, "approve").code == 0
    assert mark.exists()


def test_a_request_is_announced_when_its_run_is_resumed(
    github: FakeGitHub, mark: Path, tmp_path: Path
) -> None:
    github.add_issue("Acme/App", 258)
    run = reviewed(mark)
    Delivery.objects.all().delete()
    there = moved(run, tmp_path / "out")
    work_off()
    assert github.comments("Acme/App", 258) == []

    faber("resume", there.run_id)
    work_off()

    (comment,) = github.comments("Acme/App", 258)
    assert f.pending(there).request_id in comment.body


@pytest.mark.parametrize("deed", ["resume", "cancel", "rerun"])
def test_nobody_but_an_operator_steers_it(imported: Run, deed: str) -> None:
    """Who started it is what a directory says."""
    Run.objects.update(started_by="rita", started_by_account="rita")
    starter = program(Scope.REVIEWER, account("rita", Role.REVIEWER))

    refused = starter.post(
        f"/runs/{imported.run_id}/{deed}", {"reason": "no"} if deed == "cancel" else {}
    )

    assert refused.status_code == 403
    assert f.fresh(imported).on_hold


def test_who_started_an_imported_run_has_no_rights_by_that_later_either(imported: Run) -> None:
    Run.objects.update(started_by="rita", started_by_account="rita", on_hold=False)

    with pytest.raises(NotAllowed):
        engine.cancel(imported.pk, reason="no", actor=f.person("rita"))


def test_gates_that_only_a_directory_calls_approved_are_asked_again(tmp_path: Path) -> None:
    document = f.five_steps(autonomy={"require_approval_for": ["release"]})
    run = f.started(document)
    gate = f.answered(run, "approve")
    key = f.pending(gate).gate_key
    Run.objects.all().delete()

    def pretend(record: f.Json) -> None:
        record["run"]["approvals"] = {key: "made-up"}  # type: ignore[index]

    there = moved(f.started(document), tmp_path / "out", pretend)
    faber("resume", there.run_id)
    after = f.answered(there, "approve")

    assert f.pending(after).gate_key == key


def test_a_finished_run_has_nothing_to_rest_from(mark: Path, tmp_path: Path) -> None:
    there = moved(f.answered(reviewed(mark), "reject"), tmp_path / "out")

    assert not there.on_hold
    assert faber("resume", there.run_id).code == 7


# What was decided elsewhere


def test_imported_decisions_are_marked(mark: Path, tmp_path: Path, client: Client) -> None:
    there = moved(f.answered(reviewed(mark), "reject"), tmp_path / "out")
    given = FeedbackResponse.objects.get()
    request_id = given.request.request_id

    assert given.imported
    assert faber("audit", "--json").document["items"][0]["imported"] is True
    (row,) = csv.DictReader(io.StringIO(faber("audit", "--csv").out))
    assert row["imported"] == "True"
    assert "imported" in faber("audit").out
    agent = program(Scope.AGENT)
    assert body_of(agent.get(f"/requests/{request_id}"))["response"]["imported"] is True
    client.force_login(users.create("vera", role=Role.VIEWER))
    assert "imported" in client.get("/audit/?user=Rita").content.decode()
    assert "imported" in client.get(f"/requests/{request_id}/").content.decode()
    assert "imported" in client.get(f"/runs/{there.run_id}/").content.decode()


def test_decisions_made_here_are_not_marked(mark: Path) -> None:
    f.answered(reviewed(mark), "reject")

    assert faber("audit", "--json").document["items"][0]["imported"] is False


def test_decisions_told_by_the_seeds_files_alone_are_marked_too(mark: Path, tmp_path: Path) -> None:
    run = f.answered(reviewed(mark), "reject")
    faber("export", run.run_id, str(tmp_path / "out"))
    Run.objects.all().delete()
    (tmp_path / "out" / "faber" / "record.json").unlink()

    faber("import", str(tmp_path / "out"))

    assert FeedbackResponse.objects.get().imported


def test_half_a_quorum_from_elsewhere_does_not_count(tmp_path: Path) -> None:
    gate = f.step("one", confirm=True)
    run = f.started(f.workflow({"build": [{**gate, "quorum": 2}]}))
    f.answer(run, "confirm")
    there = moved(run, tmp_path / "out")
    faber("resume", there.run_id)

    f.answer(there, "confirm", actor=f.person("Berta"))
    assert f.fresh(there).status == "awaiting_feedback"

    f.answer(there, "confirm")  # the same person may say it here
    assert f.fresh(there).status == "in_progress"


@pytest.mark.parametrize(("repository", "is_kept"), [("Acme/App", True), ("other/repo", False)])
def test_a_comment_of_another_repository_does_not_become_the_requests(
    repository: str, is_kept: bool, mark: Path, tmp_path: Path
) -> None:
    """It would be edited when somebody decides."""

    def point(record: f.Json) -> None:
        told = {"repository": repository, "issue": 258, "comment_id": 77, "shown": ""}
        record["requests"][0]["comment"] = {**told, "comment_url": "https://x.test/"}  # type: ignore[index]

    moved(reviewed(mark), tmp_path / "out", point)

    assert Delivery.objects.exists() is is_kept


# Runs that another FABER executes


@pytest.mark.parametrize("status", ["awaiting_feedback", "in_progress", "failed", "pending"])
def test_a_run_of_another_faber_is_never_executed_here(
    status: str, mark: Path, tmp_path: Path
) -> None:
    run = reviewed(mark) if status == "awaiting_feedback" else failed(mark)
    Run.objects.update(mirrors=str(tmp_path / "there"), status=status)

    for deed in (
        lambda: engine.resume_stopped(run.pk, f.STARTER),
        lambda: engine.cancel(run.pk, reason="no", actor=f.STARTER),
        lambda: engine.begin(run.pk),
        lambda: remote.take(f.fresh(run), "laptop"),
    ):
        try:
            deed()
        except FaberError:
            continue
    everything_due()

    assert not mark.exists()
    assert f.fresh(run).status == status
    assert not run.attempts.filter(status__in=StepAttempt.OPEN).exists()


def test_a_run_of_another_faber_is_answered_as_before(
    mark: Path, tmp_path: Path, settings: Settings
) -> None:
    settings.FABER_UNDO_SECONDS = 0
    run = reviewed(mark)
    Run.objects.update(mirrors=str(tmp_path / "there"))

    given = answers.respond(f.pending(run).request_id, "approve", actor=f.person())

    assert given.write_back.is_due
