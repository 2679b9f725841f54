"""Requests as notes on GitLab's issues and merge requests, and answers from there."""

from datetime import timedelta

import pytest
from django.core.cache import cache
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from faber_site.runtime.sweep import sweep
from feedback.channels.trackers import delivery as delivering
from feedback.doctor import diagnosis
from feedback.models import Delivery, FeedbackResponse, InboundComment, Listening
from runs import gitlab as calls
from runs.accounts import tracker_links, users
from runs.domain.values.actors import Role
from runs.models import Project, Run
from runs.trackers import Permission, Place, Tracker
from tests import factories as f
from tests.fake_github import FakeGitHub
from tests.fake_gitlab import MERGE_REQUEST, FakeGitLab, Note
from tests.jobs import later, work_off

pytestmark = [pytest.mark.django_db, pytest.mark.database]

REPO, ISSUE = "Acme/App", 258
DEVELOPER, REPORTER = 30, 20


@pytest.fixture(autouse=True)
def place(gitlab: FakeGitLab) -> None:
    cache.clear()  # permissions are kept for a minute
    gitlab.open(REPO, ISSUE)
    gitlab.open(REPO, 7, MERGE_REQUEST)
    gitlab.grant(REPO, "rita", DEVELOPER)
    gitlab.grant(REPO, "reporter", REPORTER)


def start(work_id: str = str(ISSUE)) -> Run:
    started = f.start(f.five_steps(), work_id=work_id)
    work_off()
    return f.fresh(started)


def send(client: Client, gitlab: FakeGitLab, note: Note, **headers: str) -> int:
    body, own = gitlab.webhook(note)
    response = client.post(
        "/gitlab/webhook", body, content_type="application/json", headers={**own, **headers}
    )
    return response.status_code


def hear(client: Client, gitlab: FakeGitLab, body: str, author: str = "rita") -> Note:
    said = gitlab.say(REPO, ISSUE, body, author)
    assert send(client, gitlab, said) == 202
    work_off()
    return said


def test_a_request_is_posted_once_and_says_who_decided(gitlab: FakeGitLab) -> None:
    run = start()
    asked = f.pending(run)
    (note,) = gitlab.ours()
    assert (note.repo, note.kind, note.iid) == (REPO, "issues", ISSUE)
    assert f"/requests/{asked.request_id}/" in note.body.splitlines()[0]
    assert asked.delivery.comment_url == f"{gitlab.url}/{REPO}/-/issues/{ISSUE}#note_{note.id}"

    f.answer(run, "approve")
    work_off()

    assert "Feedback Answered" in gitlab.notes[note.id].body


def test_a_work_id_with_mr_is_a_merge_request(gitlab: FakeGitLab, client: Client) -> None:
    start("mr-7")
    (note,) = gitlab.ours()
    assert (note.kind, note.iid) == (MERGE_REQUEST, 7)

    said = gitlab.say(REPO, 7, "@faber approve", "rita", MERGE_REQUEST)
    assert send(client, gitlab, said) == 202
    work_off()

    assert FeedbackResponse.objects.get().response == "approve"


def test_a_note_of_a_developer_answers_with_a_reaction_and_a_reply(
    gitlab: FakeGitLab, client: Client
) -> None:
    start()

    said = hear(client, gitlab, "I approve this design.\n\n@faber resume")

    assert FeedbackResponse.objects.get().response == "approve"
    assert gitlab.notes[said.id].emoji == ["eyes"]
    assert any("Recorded **approve** by rita" in note.body for note in gitlab.ours())


@pytest.mark.parametrize("author", ["reporter", "stranger", "project_1_bot_ab"])
def test_whoever_is_no_developer_decides_nothing(
    gitlab: FakeGitLab, client: Client, author: str
) -> None:
    start()
    gitlab.grant(REPO, "project_1_bot_ab", 40)

    hear(client, gitlab, "@faber approve", author)

    assert not FeedbackResponse.objects.exists()


def test_an_account_that_gitlab_calls_a_bot_may_nothing(gitlab: FakeGitLab) -> None:
    gitlab.grant(REPO, "robot", 40)
    gitlab.bots.add("robot")

    client = calls.client()

    assert client.permission(REPO, "robot", gitlab.users["robot"]) is Permission.NONE
    assert client.permission(REPO, "rita") is Permission.WRITE


def test_an_edited_note_decides_nothing(gitlab: FakeGitLab, client: Client) -> None:
    start()
    said = gitlab.say(REPO, ISSUE, "@faber approve", "rita")
    said.updated_at += timedelta(seconds=5)

    assert send(client, gitlab, said) == 202
    work_off()

    assert not FeedbackResponse.objects.exists()
    assert any("was edited" in note.body for note in gitlab.ours())


def test_who_wrote_what_is_asked_of_gitlab_and_not_taken_from_the_delivery(
    gitlab: FakeGitLab, client: Client
) -> None:
    start()
    said = gitlab.say(REPO, ISSUE, "I only wonder. @faber", "rita")
    body, headers = gitlab.webhook(said, note="@faber approve")

    post = client.post("/gitlab/webhook", body, content_type="application/json", headers=headers)
    work_off()

    assert post.status_code == 202
    assert not InboundComment.objects.exists()


@pytest.mark.parametrize(("token", "status"), [("wrong", 401), ("", 401)])
def test_a_delivery_without_the_token_is_refused(
    gitlab: FakeGitLab, client: Client, token: str, status: int
) -> None:
    said = gitlab.say(REPO, ISSUE, "@faber approve", "rita")

    assert send(client, gitlab, said, **{"X-Gitlab-Token": token}) == status


def test_without_a_secret_the_webhook_is_closed(
    gitlab: FakeGitLab, client: Client, settings: Settings
) -> None:
    settings.FABER_GITLAB_WEBHOOK_SECRET = ""
    said = gitlab.say(REPO, ISSUE, "@faber approve", "rita")

    assert send(client, gitlab, said) == 503


def test_a_note_heard_twice_answers_once(gitlab: FakeGitLab, client: Client) -> None:
    start()
    said = hear(client, gitlab, "@faber approve")

    assert send(client, gitlab, said) == 202
    Listening.objects.update(polled_at=None)
    sweep()
    work_off()

    assert InboundComment.objects.count() == FeedbackResponse.objects.count() == 1


def test_polling_finds_notes_on_issues_and_merge_requests(gitlab: FakeGitLab) -> None:
    start()
    start("mr-7")
    for number in range(150):
        gitlab.say(REPO, ISSUE, f"chatter {number}", "ida")
    gitlab.say(REPO, ISSUE, "@faber status", "rita")
    gitlab.say(REPO, 7, "@faber help", "rita", MERGE_REQUEST)

    Listening.objects.update(polled_at=None)
    sweep()
    work_off()

    heard = InboundComment.objects.order_by("comment_id")
    assert [(each.body, each.is_merge_request) for each in heard] == [
        ("@faber status", False),
        ("@faber help", True),
    ]


@pytest.mark.parametrize("stores", [True, False])
def test_a_lost_answer_of_gitlab_posts_no_second_note(gitlab: FakeGitLab, stores: bool) -> None:
    gitlab.fail(method="POST", path="/notes", stores=stores)
    start()

    Delivery.objects.update(next_try_at=timezone.now())
    later(60)
    work_off()

    assert len(gitlab.ours()) == 1
    assert not Delivery.objects.get().is_due


def test_a_limit_is_waited_for(gitlab: FakeGitLab) -> None:
    gitlab.fail(status=429, method="POST", path="/notes", headers={"Retry-After": "40"})
    start()

    said = Delivery.objects.get()

    assert said.is_due
    assert "Retry after 40 seconds" in said.last_error


def test_a_line_of_an_agent_gives_gitlab_no_order(gitlab: FakeGitLab) -> None:
    run = start()
    asked = f.pending(run)
    asked.prompt = "Look:\n\n/close\n/assign @ida\n\n~~~\n/merge\n~~~"
    asked.save()
    said = Delivery.objects.get(request=asked)

    delivering.deliver_now(said.pk)

    (note,) = gitlab.ours()
    assert "/close" in note.body
    assert not [line for line in note.body.splitlines() if line.lstrip(" ").startswith("/")]


def test_a_project_under_another_name_is_found_by_its_repository(
    gitlab: FakeGitLab, client: Client
) -> None:
    nested = "group/sub/app"
    gitlab.open(nested, ISSUE)
    gitlab.grant(nested, "rita", DEVELOPER)
    f.start(f.five_steps())
    Project.objects.update(tracker=Tracker.GITLAB, repository=nested)
    start()
    (note,) = gitlab.ours()
    assert note.repo == nested

    said = gitlab.say(nested, ISSUE, "@faber approve", "rita")
    assert send(client, gitlab, said) == 202
    work_off()

    assert FeedbackResponse.objects.get().response == "approve"


def test_a_comment_on_another_tracker_answers_nothing(
    gitlab: FakeGitLab, github: FakeGitHub, client: Client
) -> None:
    """Both have a repository of that name; the project is on GitLab."""
    f.start(f.five_steps())
    Project.objects.update(tracker=Tracker.GITLAB)
    start()
    assert len(gitlab.ours()) == 1
    github.add_issue(REPO, ISSUE)
    github.grant(REPO, "rita", "write")
    delivery = github.webhook(github.comment(REPO, ISSUE, "@faber approve", author="rita"))

    client.post(
        "/github/webhook", delivery.body, content_type="application/json", headers=delivery.headers
    )
    work_off()

    assert not FeedbackResponse.objects.exists()


def test_a_linked_login_is_the_account_on_that_tracker_alone(gitlab: FakeGitLab) -> None:
    person = users.create("rita.m", role=Role.OPERATOR)
    linked = tracker_links.link(person, "rita", Tracker.GITLAB)

    there = tracker_links.actor_of(Tracker.GITLAB, "rita", linked.number)
    elsewhere = tracker_links.actor_of(Tracker.GITHUB, "rita", linked.number)

    assert (there.account, elsewhere.account) == ("rita.m", "")


def test_the_doctor_tells_of_a_token_that_gitlab_refuses(
    gitlab: FakeGitLab, settings: Settings
) -> None:
    settings.FABER_GITLAB_TOKEN = "glpat-another"

    whats = [found.what for found in diagnosis.findings()]

    assert "GitLab rejects the site's credentials" in whats


def test_an_issue_is_read_with_its_comments_and_labels(gitlab: FakeGitLab) -> None:
    gitlab.say(REPO, ISSUE, "first", "ida")
    at = Place(tracker=Tracker.GITLAB, repository=REPO, issue=ISSUE)
    client = calls.client()
    client.add_label(at, "faber:awaiting")

    assert client.issue(at).labels == ("faber:awaiting",)
    assert [comment.body for comment in client.comments_of(at)] == ["first"]
    client.remove_label(at, "faber:awaiting")
    assert client.issue(at).labels == ()


# Started from an issue


@pytest.fixture
def starting() -> Project:
    return Project.objects.create(name=REPO, start_workflow="core", start_label="faber:start")


@pytest.mark.usefixtures("starting")
def test_a_note_starts_a_run(gitlab: FakeGitLab, client: Client) -> None:
    hear(client, gitlab, "@faber start")
    run = Run.objects.get()
    assert (run.workflow_id, run.work_id, run.started_by) == ("core", str(ISSUE), "rita")
    assert any(run.run_id in note.body for note in gitlab.ours())


@pytest.mark.usefixtures("starting")
@pytest.mark.parametrize("way", ["webhook", "poll"])
@pytest.mark.parametrize(("author", "started"), [("rita", 1), ("reporter", 0)])
def test_a_label_starts_a_run_once_for_whoever_set_it(
    gitlab: FakeGitLab, client: Client, way: str, author: str, started: int
) -> None:
    sweep()
    gitlab.label(REPO, ISSUE, "faber:start", author)
    if way == "webhook":
        for number in range(2):
            body, headers = gitlab.signal(REPO, ISSUE, number)
            kind = "application/json"
            assert client.post("/gitlab/webhook", body, kind, headers=headers).status_code == 202
    work_off()
    for _ in range(2):
        Listening.objects.update(polled_at=None)
        sweep()
        work_off()

    assert [run.started_by for run in Run.objects.all()] == [author] * started
    told = [note.body for note in gitlab.ours() if "needs write access" in note.body]
    assert len(told) == 1 - started
