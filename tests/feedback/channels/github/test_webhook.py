"""A delivery is a hint: who said what, and where, is asked of GitHub."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
import yaml
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings
from pytest_django.live_server_helper import LiveServer

from faber_site.runtime.sweep import sweep
from feedback.models import FeedbackResponse, InboundComment, Listening, Webhook
from runs import github as github_calls
from runs.models import Project, Run
from runs.trackers import Comment, Place
from tests import factories as f
from tests.commands import faber
from tests.fake_github import (
    Delivery,
    FakeGitHub,
    Fault,
    StoredComment,
    bad_gateway,
    drop,
    secondary_limit,
    unauthorized,
)
from tests.jobs import work_off

pytestmark = [pytest.mark.django_db, pytest.mark.database]

REPO, ISSUE = "Acme/App", 258
ACTION = Path(__file__).parents[4] / "docs" / "faber-comments.yml"


@pytest.fixture(autouse=True)
def place(github: FakeGitHub, settings: Settings) -> None:
    cache.clear()  # permissions are kept for a minute
    settings.FABER_GITHUB_POLL_SECONDS = 0  # it would find what a delivery did not bring
    github.add_issue(REPO, ISSUE, author="ida")
    github.grant(REPO, "boss", "write")
    github.grant(REPO, "stranger", "read")


@pytest.fixture
def run(place: None) -> Run:
    started = f.start(f.five_steps(), work_id=str(ISSUE))
    work_off()
    return f.fresh(started)


def say(github: FakeGitHub, body: str, author: str = "boss") -> StoredComment:
    return github.comment(REPO, ISSUE, body, author=author)


def post(client: Client, delivery: Delivery, project: str = "") -> int:
    address = f"/github/webhook?project={project}" if project else "/github/webhook"
    return client.post(
        address, delivery.body, content_type="application/json", headers=delivery.headers
    ).status_code


def arrive(client: Client, github: FakeGitHub, said: StoredComment, **claims: object) -> None:
    assert post(client, github.webhook(said, claims=claims)) == 202
    work_off()


def replies(github: FakeGitHub, repo: str = REPO) -> list[str]:
    return [c.body for c in github.comments(repo) if "<!-- faber:reply-" in c.body]


def is_undecided(run: Run) -> bool:
    return f.fresh(run).status == "awaiting_feedback" and not FeedbackResponse.objects.exists()


def try_again() -> None:
    """Let the time come at which deliveries that were put off are read again."""
    Webhook.objects.update(try_at=timezone.now() - timedelta(minutes=1))
    sweep()
    work_off()


def secret_of(project: str) -> str:
    return str(faber("project", project, "--webhook-secret", "--json").document["webhook_secret"])


# Who said what


def test_a_payload_that_names_another_author_decides_nothing(
    github: FakeGitHub, client: Client, run: Run
) -> None:
    said = say(github, "@faber approve", author="stranger")

    arrive(client, github, said, user={"login": "boss", "id": 1, "type": "User"})

    assert is_undecided(run)
    assert InboundComment.objects.get().author == "stranger"
    assert "stranger needs write access to decide here" in replies(github)[0]


def test_a_payload_with_another_text_decides_nothing(
    github: FakeGitHub, client: Client, run: Run
) -> None:
    arrive(client, github, say(github, "Let me think."), body="@faber approve")

    assert is_undecided(run)
    assert replies(github) == []


def test_a_payload_that_calls_a_bot_a_person_decides_nothing(
    github: FakeGitHub, client: Client, run: Run
) -> None:
    said = say(github, "@faber approve", author="helper[bot]")

    arrive(client, github, said, user={"login": "boss", "id": 1, "type": "User"})

    assert is_undecided(run)


def test_a_payload_that_names_another_issue_decides_nothing_there(
    github: FakeGitHub, client: Client, run: Run
) -> None:
    github.add_issue(REPO, 7)
    said = github.comment(REPO, 7, "@faber approve", author="boss")
    forged = json.loads(github.webhook(said).body)
    forged["comment"]["issue_url"] = f"{github.url}/repos/{REPO}/issues/{ISSUE}"
    forged["issue"]["number"] = ISSUE

    assert post(client, github.signed(json.dumps(forged).encode())) == 202
    work_off()

    assert is_undecided(run)
    assert InboundComment.objects.get().issue == 7


def test_a_payload_cannot_make_an_old_comment_new(
    github: FakeGitHub, client: Client, place: None
) -> None:
    github.clock = lambda: timezone.now() - timedelta(days=1)
    said = say(github, "@faber approve")
    github.clock = timezone.now
    run = f.start(f.five_steps(), work_id=str(ISSUE))
    work_off()

    arrive(client, github, said, created_at="2999-01-01T00:00:00Z")

    assert is_undecided(run)
    assert "older than the request" in replies(github)[0]


def test_a_comment_of_another_repository_is_not_taken_for_one_of_ours(
    github: FakeGitHub, client: Client, run: Run
) -> None:
    github.add_issue("mallory/own", ISSUE)
    github.grant("mallory/own", "boss", "write")
    theirs = github.comment("mallory/own", ISSUE, "@faber approve", author="boss")
    delivery = github.webhook(theirs)
    forged = delivery.body.replace(b'"full_name": "mallory/own"', b'"full_name": "Acme/App"')

    assert post(client, github.signed(forged)) == 202
    work_off()
    try_again()

    assert is_undecided(run)
    assert not InboundComment.objects.exists()


def test_a_comment_that_github_finds_elsewhere_is_not_one_of_ours(
    github: FakeGitHub, client: Client, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A repository that moved is still found by its old name."""
    read = github_calls.Client.comment
    monkeypatch.setattr(
        github_calls.Client,
        "comment",
        lambda *asked: replace(read(*asked), place=Place(repository="mallory/own", issue=ISSUE)),
    )

    arrive(client, github, say(github, "@faber approve"))

    assert is_undecided(run)
    assert not InboundComment.objects.exists()


def test_nothing_is_read_or_said_in_a_repository_of_no_project(
    github: FakeGitHub, client: Client, run: Run
) -> None:
    github.add_issue("other/private", 1)
    github.grant("other/private", "boss", "admin")
    said = github.comment("other/private", 1, "@faber status", author="boss")
    github.calls.clear()

    arrive(client, github, said)

    assert github.calls_of("GET", "other/private") == []
    assert replies(github, "other/private") == []


def test_github_is_not_asked_about_comments_that_command_nothing(
    github: FakeGitHub, client: Client, run: Run
) -> None:
    arrive(client, github, say(github, "Ask @faber later."))

    assert github.calls_of("GET", "/issues/comments/") == []
    assert not Webhook.objects.filter(read_at=None).exists()


@pytest.mark.parametrize("comment_id", [None, "1001", True, -1, 2**63, {}])
def test_a_delivery_without_a_comments_number_is_let_pass(
    github: FakeGitHub, client: Client, run: Run, comment_id: object
) -> None:
    arrive(client, github, say(github, "@faber approve"), id=comment_id)

    assert is_undecided(run)
    assert not Webhook.objects.filter(read_at=None).exists()


# Edited and deleted


@pytest.mark.parametrize("way", ["webhook", "poll"])
def test_a_comment_that_was_edited_decides_nothing_and_is_told_so(
    github: FakeGitHub, client: Client, run: Run, settings: Settings, way: str
) -> None:
    """Maintainers can edit what others wrote: the text may not be its author's."""
    said = say(github, "@faber reject")
    github.clock = lambda: timezone.now() + timedelta(seconds=5)
    github.edit(said.id, "@faber approve")

    for _ in range(2):
        if way == "webhook":
            arrive(client, github, said)
        else:
            settings.FABER_GITHUB_POLL_SECONDS = 60
            Listening.objects.update(polled_at=None)
            sweep()
            work_off()

    assert is_undecided(run)
    (reply,) = replies(github)
    assert "was edited" in reply
    assert InboundComment.objects.get().state == "refused"


def test_an_edit_of_somebody_who_may_not_decide_gets_the_usual_reply(
    github: FakeGitHub, client: Client, run: Run
) -> None:
    said = say(github, "@faber reject", author="stranger")
    github.clock = lambda: timezone.now() + timedelta(seconds=5)
    github.edit(said.id, "@faber approve")

    arrive(client, github, said)

    assert "stranger needs write access to decide here" in replies(github)[0]


def test_an_edit_after_it_was_acted_on_changes_nothing(
    github: FakeGitHub, client: Client, run: Run
) -> None:
    said = say(github, "@faber approve")
    arrive(client, github, said)
    told = replies(github)
    github.clock = lambda: timezone.now() + timedelta(seconds=5)
    github.edit(said.id, "@faber reject")

    arrive(client, github, said)

    assert FeedbackResponse.objects.get().response == "approve"
    assert replies(github) == told


def test_a_deleted_comment_decides_nothing_and_is_given_up(
    github: FakeGitHub, client: Client, run: Run
) -> None:
    said = say(github, "@faber approve")
    delivery = github.webhook(said)
    github.delete(said.id)

    assert post(client, delivery) == 202
    work_off()
    for _ in range(10):
        try_again()

    asked = github.calls_of("GET", f"/issues/comments/{said.id}")
    assert is_undecided(run)
    assert not Webhook.objects.filter(read_at=None).exists()
    assert 2 <= len(asked) <= 8


def test_a_comment_that_github_shows_a_moment_late_still_counts(
    github: FakeGitHub, client: Client, run: Run
) -> None:
    said = say(github, "@faber approve")
    github.delete(said.id)
    assert post(client, github.webhook(said)) == 202
    work_off()

    github.by_id[said.id] = said
    try_again()

    assert f.fresh(run).status == "completed"


# When GitHub does not answer


FAULTS = {
    "502": bad_gateway(after_storing=False),
    "dropped": drop(after_storing=False),
    "limit": secondary_limit(60),
    "401": unauthorized(),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=list(FAULTS))
def test_what_github_cannot_be_asked_now_is_asked_later(
    github: FakeGitHub, client: Client, run: Run, fault: Fault
) -> None:
    github.fail(fault, method="GET", path="/issues/comments/", times=8)
    arrive(client, github, say(github, "@faber approve"))
    for _ in range(3):
        try_again()
    assert is_undecided(run)
    assert Webhook.objects.get().read_at is None

    github._orders.clear()
    try_again()

    assert f.fresh(run).status == "completed"


def test_a_limit_is_obeyed(github: FakeGitHub, client: Client, run: Run) -> None:
    github.fail(secondary_limit(240), method="GET", path="/issues/comments/", times=9)
    for said in (say(github, "@faber approve"), say(github, "@faber status")):
        assert post(client, github.webhook(said)) == 202
    work_off()
    sweep()
    work_off()

    assert len(github.calls_of("GET", "/issues/comments/")) == 1
    wait = Webhook.objects.order_by("pk")[0].try_at - timezone.now()
    assert timedelta(seconds=200) < wait <= timedelta(seconds=240)


def test_a_comment_that_cannot_be_read_does_not_hold_up_the_next(
    github: FakeGitHub, client: Client, run: Run
) -> None:
    broken = say(github, "@faber status")
    github.fail(bad_gateway(after_storing=False), path=f"/comments/{broken.id}", times=50)
    arrive(client, github, broken)
    arrive(client, github, say(github, "@faber approve"))
    try_again()

    assert f.fresh(run).status == "completed"


def test_github_is_asked_outside_of_any_transaction(
    github: FakeGitHub, client: Client, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    depth = len(connection.savepoint_ids)
    seen: list[int] = []
    asked = github_calls.Client.comment

    def watched(self: github_calls.Client, place: Place, number: int) -> Comment:
        seen.append(len(connection.savepoint_ids))
        return asked(self, place, number)

    monkeypatch.setattr(github_calls.Client, "comment", watched)
    arrive(client, github, say(github, "@faber approve"))

    assert seen == [depth]


# The secret of a project


def test_a_projects_secret_opens_the_door_for_its_repository(
    github: FakeGitHub, client: Client, run: Run, settings: Settings
) -> None:
    settings.FABER_GITHUB_WEBHOOK_SECRET = ""
    secret = secret_of(REPO)
    delivery = github.webhook(say(github, "@faber approve"), secret=secret)

    assert post(client, delivery, "acme/app") == 202
    work_off()

    assert f.fresh(run).status == "completed"


def test_a_projects_secret_opens_nothing_for_another_repository(
    github: FakeGitHub, client: Client, run: Run
) -> None:
    Project.objects.create(name="acme/other")
    secret = secret_of("acme/other")
    delivery = github.webhook(say(github, "@faber approve"), secret=secret)

    assert post(client, delivery, "acme/other") == 401  # signed well, and of another repository
    assert post(client, delivery, REPO) == 401
    assert post(client, delivery) == 401
    work_off()
    assert not Webhook.objects.exists()


@pytest.mark.parametrize("project", ["acme/other", "nobody/none", "a\x00b"])
def test_a_project_without_a_secret_or_of_no_name_opens_nothing(
    github: FakeGitHub, client: Client, run: Run, project: str
) -> None:
    Project.objects.create(name="acme/other")
    delivery = github.webhook(say(github, "@faber approve"), secret="")

    assert post(client, delivery, project) == 401


def test_a_new_secret_ends_the_one_before(github: FakeGitHub, client: Client, run: Run) -> None:
    first, second = secret_of(REPO), secret_of(REPO)
    said = say(github, "@faber approve")

    assert first != second
    assert post(client, github.webhook(said, secret=first), REPO) == 401
    assert post(client, github.webhook(said, secret=second), REPO) == 202


def test_the_secret_of_one_site_is_not_that_of_another(run: Run, settings: Settings) -> None:
    ours = secret_of(REPO)
    Project.objects.update(webhook_number=0)
    settings.SECRET_KEY = "another site's key, as long and as secret as ours"

    assert secret_of(REPO) != ours


def test_a_secret_is_for_a_project_that_is_there() -> None:
    assert faber("project", "no/such", "--webhook-secret").code == 6
    assert faber("project", "--webhook-secret").code == 2


# The Action of the documentation


def script() -> str:
    (step,) = yaml.safe_load(ACTION.read_text())["jobs"]["forward"]["steps"]
    return str(step["run"])


def watched_programs(folder: Path) -> Path:
    """Programs that note with what arguments they are called before they are called."""
    folder.mkdir()
    for name in ("curl", "openssl", "python3"):
        real = sys.executable if name == "python3" else f"/usr/bin/{name}"
        (folder / name).write_text(
            f'#!/bin/sh\nprintf "%s\\n" "{name}" "$@" >> "{folder}/called"\nexec "{real}" "$@"\n'
        )
        (folder / name).chmod(0o755)
    return folder


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(not Path("/usr/bin/curl").exists(), reason="the Action's script needs curl")
def test_the_documented_action_forwards_a_comment(
    github: FakeGitHub, live_server: LiveServer, run: Run, tmp_path: Path
) -> None:
    secret = secret_of(REPO)
    delivery = github.webhook(say(github, "@faber approve — $(touch x)"))
    programs = watched_programs(tmp_path / "bin")

    done = forwarded(delivery, secret, live_server.url, tmp_path, programs)

    assert done.returncode == 0, done.stderr
    work_off()
    assert f.fresh(run).status == "completed"
    called = (programs / "called").read_text()
    assert "curl" in called
    assert secret not in called
    assert secret not in done.stdout + done.stderr


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(not Path("/usr/bin/curl").exists(), reason="the Action's script needs curl")
def test_the_documented_action_forwards_the_label_that_starts_a_run(
    github: FakeGitHub, live_server: LiveServer, tmp_path: Path
) -> None:
    workflows = tmp_path / ".fractary/faber/workflows"
    workflows.mkdir(parents=True)
    (workflows / "one.yaml").write_text(
        "{id: one, phases: {build: {steps: [{id: make, run: 'true'}]}}}"
    )
    Project.objects.create(
        name=REPO, workspace=str(tmp_path), start_workflow="one", start_label="faber:start"
    )
    delivery = github.signal(github.label(REPO, ISSUE, "faber:start", author="boss"))
    programs = watched_programs(tmp_path / "bin")

    done = forwarded(delivery, secret_of(REPO), live_server.url, tmp_path, programs)

    assert done.returncode == 0, done.stderr
    work_off()
    assert [run.started_by for run in Run.objects.all()] == ["boss"]
    heard = yaml.safe_load(ACTION.read_text())[True]  # the key `on`, as YAML reads it
    assert heard["issues"]["types"] == ["labeled", "assigned"]


def forwarded(
    delivery: Delivery, secret: str, url: str, folder: Path, programs: Path
) -> subprocess.CompletedProcess[str]:
    """What the Action's step does with an event."""
    event = folder / "event.json"
    event.write_bytes(delivery.body)
    environment = {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "NO_PROXY": "*",
        "FABER_URL": url,
        "FABER_WEBHOOK_SECRET": secret,
        "GITHUB_EVENT_NAME": delivery.headers["X-GitHub-Event"],
        "GITHUB_EVENT_PATH": str(event),
        "GITHUB_REPOSITORY": REPO,
        "GITHUB_RUN_ID": "4711",
    }
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script()],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_documented_action_knows_no_secret_of_the_site() -> None:
    written = ACTION.read_text()

    assert re.findall(r"secrets\.(\w+)", written) == ["FABER_WEBHOOK_SECRET"]
    assert "FABER_GITHUB_WEBHOOK_SECRET" not in written
