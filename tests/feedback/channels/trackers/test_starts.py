"""Runs started from an issue: by a comment, a label, an assignment."""

import shlex
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.cache import cache
from django.db.models import F
from django.test import Client

from faber_site.runtime.sweep import sweep
from feedback.channels.trackers import inbound
from feedback.models import InboundComment, Listening, Webhook
from runs import engine
from runs.models import Project, Run
from tests import factories as f
from tests.commands import faber
from tests.documentation import block
from tests.fake_github import Delivery, FakeGitHub, StoredComment, StoredEvent, bad_gateway
from tests.jobs import work_off

pytestmark = [pytest.mark.django_db, pytest.mark.database]

REPO, ISSUE = "Acme/App", 258

GATED = """
id: feature
autonomy: {level: assist}
phases:
  build:
    steps:
      - {id: make, run: "true"}
  release:
    require_approval: true
    steps:
      - {id: ship, run: "true"}
"""


@pytest.fixture(autouse=True)
def place(github: FakeGitHub) -> None:
    cache.clear()  # permissions are kept for a minute
    github.add_issue(REPO, ISSUE, author="ida")
    github.grant(REPO, "octocat", "write")
    github.grant(REPO, "tess", "triage")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    workflows = tmp_path / ".fractary/faber/workflows"
    workflows.mkdir(parents=True)
    (workflows / "feature.yaml").write_text(GATED)
    (workflows / "other.yaml").write_text(GATED.replace("id: feature", "id: other"))
    return tmp_path


@pytest.fixture
def project(folder: Path) -> Project:
    return Project.objects.create(
        name=REPO, workspace=str(folder), start_workflow="feature", start_label="faber:start"
    )


def send(client: Client, delivery: Delivery) -> int:
    response = client.post(
        "/github/webhook",
        delivery.body,
        content_type="application/json",
        headers=delivery.headers,
    )
    return response.status_code


def hear(client: Client, github: FakeGitHub, body: str, author: str = "octocat") -> StoredComment:
    said = github.comment(REPO, ISSUE, body, author=author)
    assert send(client, github.webhook(said)) == 202
    work_off()
    return said


def poll() -> None:
    Listening.objects.update(polled_at=None)
    sweep()
    work_off()


def ours(github: FakeGitHub) -> list[str]:
    return [c.body for c in github.comments(REPO, ISSUE) if c.author == github.login]


# By a comment


@pytest.mark.usefixtures("project")
def test_a_comment_starts_the_workflow_of_the_project(github: FakeGitHub, client: Client) -> None:
    said = hear(client, github, "Keep the old names.\n\n@faber start")

    run = Run.objects.get()
    assert (run.workflow_id, run.work_id, run.started_by) == ("feature", str(ISSUE), "octocat")
    assert run.prompt == "Keep the old names."
    assert run.status == "awaiting_feedback"  # its gate is asked
    assert (github.login, "eyes") in said.reactions
    started, asked = ours(github)
    assert run.run_id in started
    assert "## Feedback Requested" in asked


@pytest.mark.usefixtures("project")
def test_a_comment_can_name_another_workflow(github: FakeGitHub, client: Client) -> None:
    hear(client, github, "@faber start other")
    assert Run.objects.get().workflow_id == "other"


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("@faber start nothing-like-it", "There is no workflow nothing-like-it"),
        ("@faber start demo", "There is no workflow demo"),
        ("@faber start feature?", "is a question"),
    ],
)
def test_what_cannot_be_started_is_told_and_starts_nothing(
    github: FakeGitHub, client: Client, folder: Path, body: str, told: str
) -> None:
    hear(client, github, body)

    assert not Run.objects.exists()
    (reply,) = ours(github)
    assert "No action taken" in reply
    assert told in reply
    assert str(folder) not in reply  # where it lies is nobody's business on an issue


def test_without_a_workflow_the_reply_says_what_to_set(
    github: FakeGitHub, client: Client, project: Project
) -> None:
    Project.objects.update(start_workflow="", start_label="")
    hear(client, github, "@faber start")
    assert not Run.objects.exists()
    assert "`@faber start WORKFLOW`" in ours(github)[0]


@pytest.mark.usefixtures("project")
def test_who_may_not_write_starts_nothing(github: FakeGitHub, client: Client) -> None:
    hear(client, github, "@faber start", author="tess")
    assert not Run.objects.exists()
    assert "needs write access" in ours(github)[0]


def test_a_login_on_the_list_of_the_project_may_start(
    github: FakeGitHub, client: Client, project: Project
) -> None:
    Project.objects.update(github_allow=["Tess"])
    hear(client, github, "@faber start", author="tess")
    assert Run.objects.get().started_by == "tess"


@pytest.mark.usefixtures("project")
def test_a_comment_starts_once_however_often_it_is_heard(
    github: FakeGitHub, client: Client
) -> None:
    said = hear(client, github, "@faber start")
    send(client, github.webhook(said))
    work_off()
    poll()
    heard = InboundComment.objects.get()
    inbound.act_on(heard.pk)
    inbound._act(heard)
    work_off()
    assert Run.objects.count() == 1


@pytest.mark.usefixtures("project")
def test_a_start_is_found_by_polling_before_any_run_was_there(github: FakeGitHub) -> None:
    sweep()  # the project says that issues start runs: its repository is read
    github.comment(REPO, ISSUE, "@faber start", author="octocat")
    poll()
    assert Run.objects.get().started_by == "octocat"


def test_the_text_of_a_start_is_no_option_of_a_command(
    github: FakeGitHub, client: Client, project: Project, folder: Path
) -> None:
    step = '{id: say, run: ["echo", "{additional_instructions}"]}'
    told = f"id: told\nphases: {{build: {{steps: [{step}]}}}}\n"
    (folder / ".fractary/faber/workflows/told.yaml").write_text(told)
    hear(client, github, "--version\n\n@faber start told")
    assert not Run.objects.exists()
    assert "No action taken" in ours(github)[0]


# By a label


def label(client: Client, github: FakeGitHub, author: str = "octocat") -> StoredEvent:
    put = github.label(REPO, ISSUE, "Faber:Start", author=author)
    assert send(client, github.signal(put)) == 202
    work_off()
    return put


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("way", ["webhook", "poll"])
def test_the_label_of_the_project_starts_its_workflow(
    github: FakeGitHub, client: Client, way: str
) -> None:
    sweep()
    if way == "webhook":
        label(client, github)
    else:
        github.label(REPO, ISSUE, "faber:start", author="octocat")
        poll()

    run = Run.objects.get()
    assert (run.workflow_id, run.work_id, run.started_by) == ("feature", str(ISSUE), "octocat")
    assert run.status == "awaiting_feedback"
    assert run.run_id in ours(github)[0]


@pytest.mark.usefixtures("project")
def test_a_label_starts_once_however_often_it_is_heard(github: FakeGitHub, client: Client) -> None:
    sweep()
    put = label(client, github)
    for _ in range(2):
        assert send(client, github.signal(put)) == 202  # another delivery about the same event
        work_off()
        poll()
    heard = InboundComment.objects.get()
    inbound._act(heard)
    assert Run.objects.count() == 1


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("author", ["tess", "robot[bot]", "faber-site"])
def test_who_set_the_label_is_asked_of_the_issue_and_not_of_the_delivery(
    github: FakeGitHub, client: Client, author: str
) -> None:
    github.grant(REPO, "robot[bot]", "write")
    github.grant(REPO, "faber-site", "admin")
    put = github.label(REPO, ISSUE, "faber:start", author=author)
    claims = {"sender": {"login": "octocat", "id": github.users["octocat"], "type": "User"}}

    assert send(client, github.signal(put, claims=claims)) == 202
    work_off()

    assert not Run.objects.exists()
    assert ["needs write access" in said for said in ours(github)] == [True] * (author == "tess")


@pytest.mark.usefixtures("project")
def test_other_labels_and_those_taken_off_again_start_nothing(
    github: FakeGitHub, client: Client
) -> None:
    other = github.label(REPO, ISSUE, "bug", author="octocat")
    put = github.label(REPO, ISSUE, "faber:start", author="octocat")
    github.unlabel(REPO, ISSUE, "faber:start", author="octocat")
    for event in (other, put):
        send(client, github.signal(event))
    work_off()
    assert not Run.objects.exists()
    assert ours(github) == []


@pytest.mark.usefixtures("project")
def test_a_label_of_long_ago_does_not_start_when_another_comes(
    github: FakeGitHub, client: Client
) -> None:
    github.label(REPO, ISSUE, "faber:start", author="octocat").at -= timedelta(days=1)
    send(client, github.signal(github.label(REPO, ISSUE, "bug", author="octocat")))
    work_off()
    assert not Run.objects.exists()


def test_labels_mean_nothing_where_no_workflow_is_set(
    github: FakeGitHub, client: Client, project: Project
) -> None:
    Project.objects.update(start_workflow="", start_label="")
    label(client, github)
    assert not Webhook.objects.exists()
    assert not Run.objects.exists()


@pytest.mark.usefixtures("project")
def test_a_second_label_does_not_start_a_second_run_beside_the_first(
    github: FakeGitHub, client: Client
) -> None:
    label(client, github)
    github.unlabel(REPO, ISSUE, "Faber:Start", author="octocat")
    label(client, github)

    (run,) = Run.objects.all()
    assert f"`{run.run_id}` is still working on this issue" in ours(github)[-1]


@pytest.mark.usefixtures("project")
def test_an_outage_puts_a_label_off_and_loses_nothing(github: FakeGitHub, client: Client) -> None:
    github.fail(bad_gateway(after_storing=False), path="/events", times=2)
    label(client, github)
    assert not Run.objects.exists()

    Webhook.objects.update(try_at=F("received_at") - timedelta(minutes=1))
    sweep()
    work_off()

    assert Run.objects.count() == 1


# By an assignment


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("way", ["webhook", "poll"])
def test_an_issue_assigned_to_the_account_of_the_site_starts_a_run(
    github: FakeGitHub, client: Client, way: str
) -> None:
    sweep()
    given = [github.assign(REPO, ISSUE, who, author="octocat") for who in ("ida", github.login)]
    for event in given:
        if way == "webhook":
            send(client, github.signal(event))
    work_off()
    poll()

    assert Run.objects.get().started_by == "octocat"


# One comment follows the run


@pytest.mark.usefixtures("project")
def test_one_comment_follows_a_run_that_began_on_its_issue(
    github: FakeGitHub, client: Client
) -> None:
    hear(client, github, "@faber start")
    run = Run.objects.get()
    asked = f.pending(run)
    followed, request = ours(github)
    assert f"<!-- faber:run-{run.uuid} -->" in followed
    assert "## Awaiting feedback" in followed
    assert f"/requests/{asked.request_id}/" in followed
    assert f"faber:{asked.request_id}" not in followed  # that is the mark of the request's own
    assert f"faber:{asked.request_id}" in request
    assert github.issue(REPO, ISSUE).labels == ["faber:awaiting"]

    hear(client, github, "@faber approve")

    assert f.fresh(run).status == "completed"
    followed, request = ours(github)  # nobody has to be spoken to: no third comment
    assert "## Completed" in followed
    assert "**approve** by **octocat**" in followed
    assert "## Feedback Answered" in request
    assert github.issue(REPO, ISSUE).labels == []


@pytest.mark.usefixtures("project")
def test_whoever_has_to_know_is_spoken_to_beside_the_comment_that_follows(
    github: FakeGitHub, client: Client
) -> None:
    hear(client, github, "@faber start")
    hear(client, github, "@faber perhaps")
    assert "No action taken" in ours(github)[-1]
    hear(client, github, "@faber status")
    assert "## Workflow Status" in ours(github)[-1]
    assert len(ours(github)) == 4


@pytest.mark.usefixtures("project")
def test_the_comment_that_follows_tells_of_the_end_and_of_what_was_made(
    github: FakeGitHub, client: Client
) -> None:
    hear(client, github, "@faber start")
    run = Run.objects.get()
    Run.objects.update(artifacts={"pr_url": "https://github.test/Acme/App/pull/9"})
    engine.cancel(run.pk, reason="not needed", actor=f.STARTER)
    work_off()

    followed, request = ours(github)
    assert "## Cancelled" in followed
    assert "- Pull request: [https://github.test/Acme/App/pull/9]" in followed
    assert "## Feedback Cancelled" in request


# What is set for the project


def test_the_documented_settings_are_taken(folder: Path) -> None:
    Project.objects.create(name=REPO, workspace=str(folder))
    for line in block("start-from-issues").text.replace("ORG/NAME", REPO).splitlines():
        assert faber(*shlex.split(line)[1:]).code == 0
    assert Project.objects.get().start_workflow == "claude-code"


def test_a_project_says_what_issues_start(folder: Path) -> None:
    Project.objects.create(name=REPO, workspace=str(folder))

    done = faber("project", REPO, "--set", "start_workflow=feature", "start_label=faber:start")
    assert done.code == 0
    assert "faber:start" in done.out

    unknown = faber("project", REPO, "--set", "start_workflow=featur")
    without = faber("project", REPO, "--set", "start_workflow=")
    own = faber("project", REPO, "--set", "start_label=faber:awaiting")
    assert (unknown.code, without.code, own.code) == (2, 2, 2)
    assert "There is no workflow featur here" in unknown.err
    assert "Say which workflow it starts" in without.err
    assert "FABER sets faber:awaiting itself" in own.err
    project = Project.objects.get()
    assert (project.start_workflow, project.start_label) == ("feature", "faber:start")
