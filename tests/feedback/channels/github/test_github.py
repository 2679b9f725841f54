"""Requests on the issue and answers from it, against a GitHub that keeps state and fails."""

import hashlib
import hmac
import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.cache import cache
from django.db.models import F
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from faber_site.runtime.sweep import sweep
from feedback.channels.markdown.comments import has_mark
from feedback.channels.trackers import delivery as delivering
from feedback.channels.trackers import inbound, webhooks
from feedback.doctor import diagnosis
from feedback.models import (
    Delivery,
    FeedbackRequest,
    FeedbackResponse,
    InboundComment,
    Listening,
    Webhook,
)
from feedback.requests import answers
from feedback.requests.answers import Words
from feedback.requests.request_json import request_shape
from runs import engine
from runs.accounts import tracker_links, users
from runs.domain.values.actors import Role
from runs.github import Client as GitHubClient
from runs.github import client as github_client
from runs.models import Project, Run
from runs.trackers import Comment, Place
from tests import factories as f
from tests.fake_github import (
    FakeGitHub,
    Fault,
    StoredComment,
    bad_gateway,
    drop,
    not_found,
    primary_limit,
    secondary_limit,
    slow,
    unauthorized,
)
from tests.jobs import later, work_off

pytestmark = [pytest.mark.django_db, pytest.mark.database]

REPO, ISSUE = "Acme/App", 258


@pytest.fixture(autouse=True)
def place(github: FakeGitHub) -> None:
    cache.clear()  # permissions are kept for a minute
    github.add_issue(REPO, ISSUE, author="ida")
    github.grant(REPO, "octocat", "write")
    github.grant(REPO, "reader", "read")


@pytest.fixture
def run(place: None) -> Run:
    started = f.start(f.five_steps(), work_id=str(ISSUE))
    work_off()
    return f.fresh(started)


@pytest.fixture
def site(client: Client) -> Client:
    return client


def ours(github: FakeGitHub) -> list[StoredComment]:
    return [c for c in github.comments(REPO, ISSUE) if c.author == github.login]


def about(github: FakeGitHub, request: FeedbackRequest) -> list[StoredComment]:
    """The comments about a request itself, not the replies to people."""
    mark = f"<!-- faber:{request.request_id} -->"
    return [comment for comment in ours(github) if mark in comment.body]


def say(github: FakeGitHub, body: str, author: str = "octocat") -> StoredComment:
    return github.comment(REPO, ISSUE, body, author=author)


def send(
    client: Client, github: FakeGitHub, comment: StoredComment, action: str = "created"
) -> int:
    delivery = github.webhook(comment, action)
    response = client.post(
        "/github/webhook",
        delivery.body,
        content_type="application/json",
        headers=delivery.headers,
    )
    return response.status_code


def hear(client: Client, github: FakeGitHub, body: str, author: str = "octocat") -> None:
    assert send(client, github, say(github, body, author)) == 202
    work_off()


def replies(github: FakeGitHub) -> list[str]:
    return [c.body for c in ours(github) if "<!-- faber:reply-" in c.body]


def poll() -> None:
    Listening.objects.update(polled_at=None)
    sweep()
    work_off()


# Out


def test_a_request_is_posted_once_in_the_seeds_layout_with_a_link(
    github: FakeGitHub, run: Run
) -> None:
    asked = f.pending(run)

    (comment,) = about(github, asked)

    lines = comment.body.splitlines()
    assert f"/requests/{asked.request_id}/" in lines[0]
    for heading in (
        "## Feedback Requested",
        "### Decision Needed",
        "### Options",
        "### How to Respond",
    ):
        assert heading in lines
    assert "@faber resume" in comment.body
    assert asked.request_id in lines[-1]
    assert run.run_id in lines[-1]


def test_the_comment_is_edited_in_place_when_somebody_decides(github: FakeGitHub, run: Run) -> None:
    asked = f.pending(run)
    f.answer(run, "approve", "Well done.", actor=f.person("Rita"))
    work_off()

    (comment,) = about(github, asked)

    assert "## Feedback Answered" in comment.body
    assert "Rita" in comment.body
    assert "approve" in comment.body
    assert asked.request_id in comment.body.splitlines()[-1]


def test_a_cancelled_request_says_so(github: FakeGitHub, run: Run) -> None:
    asked = f.pending(run)
    engine.cancel(run.pk, reason="wrong", actor=f.STARTER)
    work_off()

    (comment,) = about(github, asked)
    assert "## Feedback Cancelled" in comment.body


@pytest.mark.parametrize(
    "work_id", ["", "JIRA-1", "0"], ids=["none", "not a number", "no issue's number"]
)
def test_a_run_without_an_issue_is_not_mirrored(github: FakeGitHub, work_id: str) -> None:
    f.start(f.five_steps(), work_id=work_id)
    work_off()

    assert ours(github) == []
    assert not Delivery.objects.exists()


def test_without_credentials_nothing_is_mirrored(settings: Settings, github: FakeGitHub) -> None:
    settings.FABER_GITHUB_TOKEN = ""
    f.start(f.five_steps(), work_id=str(ISSUE))
    work_off()

    assert github.calls == []


FAULTS = {
    "502 before": bad_gateway(after_storing=False),
    "502 after": bad_gateway(after_storing=True),
    "dropped before": drop(after_storing=False),
    "dropped after": drop(after_storing=True),
    "secondary limit": secondary_limit(60),
    "primary limit": primary_limit(300),
    "401": unauthorized(),
    "404": not_found(),
    "slow": slow(0.2),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=list(FAULTS))
def test_whatever_fails_there_is_one_comment_in_the_end(github: FakeGitHub, fault: Fault) -> None:
    github.fail(fault, method="POST", path="/comments")
    run = f.start(f.five_steps(), work_id=str(ISSUE))
    work_off()
    for _ in range(4):
        Delivery.objects.filter(is_due=True).update(next_try_at=timezone.now())
        later(3600)
        work_off()

    assert len(about(github, f.pending(f.fresh(run)))) == 1
    delivery = Delivery.objects.get()
    assert (delivery.is_due, delivery.last_error) == (False, "")
    assert delivery.comment_id


def test_a_killed_worker_leaves_one_comment(
    github: FakeGitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: object) -> None:
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(delivering, "_remember", die)
        run = f.start(f.five_steps(), work_id=str(ISSUE))
        with pytest.raises(SystemExit):
            work_off()
    assert len(ours(github)) == 1
    assert Delivery.objects.get().comment_id is None

    # Two until the next sweep and one until its job is taken make fifteen.
    for seconds in (10, 2):
        Delivery.objects.update(next_try_at=F("next_try_at") - timedelta(seconds=seconds))
        later(seconds)
        work_off()
        sweep()
    work_off()

    assert len(about(github, f.pending(f.fresh(run)))) == 1
    assert Delivery.objects.get().comment_id == ours(github)[0].id


def test_an_issue_that_does_not_exist_is_asked_for_a_few_times_and_told(
    github: FakeGitHub,
) -> None:
    f.start(f.five_steps(), work_id="404")
    for _ in range(20):
        work_off()
        later(3600)
        Delivery.objects.update(next_try_at=timezone.now())
        sweep()
    work_off()

    delivery = Delivery.objects.get()
    assert not delivery.is_due
    asked = [call for call in github.calls if "/issues/404/comments" in call.path]
    assert len(asked) == delivery.attempts == 8
    (found,) = (each for each in diagnosis.findings() if delivery.mark in each.what)
    assert "404" in found.cause
    assert "Acme/App#404" in found.repair
    github.add_issue(REPO, 404, author="ida")
    diagnosis.repair([found])
    assert len(github.comments(REPO, 404)) == 1
    assert not any(delivery.mark in each.what for each in diagnosis.findings())


def test_a_deleted_command_is_asked_for_a_few_times_and_told(
    github: FakeGitHub, site: Client, run: Run
) -> None:
    command = say(github, "@faber approve")
    read = github_client().comment(Place(repository=REPO, issue=ISSUE), command.id)
    inbound.hear(github_client(), read)
    github.delete(command.id)
    for _ in range(20):
        work_off()
        InboundComment.objects.update(try_at=timezone.now() - timedelta(minutes=1))
        sweep()

    assert len(github.calls_of("POST", "/reactions")) == 4
    assert f.fresh(run).status == "awaiting_feedback"
    (found,) = (each for each in diagnosis.findings() if "octocat" in each.what)
    assert "deleted" in found.cause
    diagnosis.repair([found])
    assert InboundComment.objects.get().state == "refused"
    assert not any("octocat" in each.what for each in diagnosis.findings())


def test_a_command_that_was_hidden_for_a_while_is_carried_out_after_all(
    github: FakeGitHub, site: Client, run: Run
) -> None:
    github.fail(not_found(), path="/reactions", times=4)
    hear(site, github, "@faber approve")
    for _ in range(4):
        InboundComment.objects.update(try_at=timezone.now() - timedelta(minutes=1))
        sweep()
        work_off()
    assert InboundComment.objects.get().state == "given_up"

    diagnosis.repair([each for each in diagnosis.findings() if "octocat" in each.what])
    work_off()

    assert f.fresh(run).status == "completed"


def test_a_limit_is_obeyed(github: FakeGitHub) -> None:
    github.fail(secondary_limit(240), method="POST", path="/comments")
    f.start(f.five_steps(), work_id=str(ISSUE))
    work_off()

    wait = Delivery.objects.get().next_try_at - timezone.now()
    assert timedelta(seconds=200) < wait <= timedelta(seconds=240)
    assert len(github.calls_of("POST", "/comments")) == 1


def test_a_comment_that_cannot_be_posted_hurts_nobody_and_is_told(
    github: FakeGitHub, client: Client
) -> None:
    github.fail(unauthorized(), method="POST", path="/comments", times=9)
    run = f.start(f.five_steps(), work_id=str(ISSUE))
    work_off()

    asked = f.pending(f.fresh(run))
    client.force_login(users.create("rita", role=Role.REVIEWER))
    assert (
        "Could not post the comment"
        in client.get(f"/requests/{asked.request_id}/").content.decode()
    )
    Delivery.objects.update(created_at=timezone.now() - timedelta(minutes=5))
    assert any(asked.request_id in found.what for found in diagnosis.findings())


def test_no_secret_reaches_the_issue(
    github: FakeGitHub, settings: Settings, tmp_path: Path
) -> None:
    run = f.start(f.workflow({"build": [f.step("x", "tests.steps:leak")]}), work_id=str(ISSUE))
    work_off()

    (comment,) = about(github, f.pending(f.fresh(run)))
    assert "[redacted]" in comment.body
    assert "ghp_" not in comment.body
    assert settings.FABER_GITHUB_TOKEN not in comment.body


def test_labels_and_run_comments_are_for_projects_that_want_them(github: FakeGitHub) -> None:
    Project.objects.create(name=REPO, labels_issues=True, tells_runs=True)
    run = f.start(f.five_steps(), work_id=str(ISSUE))
    work_off()
    assert github.issue(REPO, ISSUE).labels == ["faber:awaiting"]

    f.answer(f.fresh(run), "approve")
    work_off()

    assert github.issue(REPO, ISSUE).labels == []
    (told,) = [c for c in ours(github) if f"faber:run-{run.uuid}" in c.body]
    assert "completed" in told.body


def test_an_issue_keeps_its_label_while_another_run_waits(github: FakeGitHub) -> None:
    Project.objects.create(name=REPO, labels_issues=True)
    first, second = (f.start(f.five_steps(), work_id=str(ISSUE)) for _ in range(2))
    work_off()

    f.answer(f.fresh(first), "approve")
    work_off()
    assert github.issue(REPO, ISSUE).labels == ["faber:awaiting"]

    f.answer(f.fresh(second), "approve")
    work_off()
    assert github.issue(REPO, ISSUE).labels == []


def test_the_request_tells_where_its_comment_is(github: FakeGitHub, run: Run) -> None:
    told = request_shape(f.pending(run))["notification_sent"]
    assert isinstance(told, dict)
    assert told["issue_comment"] is True
    assert str(told["comment_url"]).startswith("http")


# In, full circle


@pytest.mark.parametrize("way", ["webhook", "poll"])
def test_pause_comment_reply_and_the_run_goes_on(
    github: FakeGitHub, site: Client, run: Run, way: str
) -> None:
    asked = f.pending(run)
    said = say(github, "I approve this design. The approach looks good.\n\n@faber resume")

    if way == "webhook":
        assert send(site, github, said) == 202
        work_off()
    else:
        poll()

    assert f.fresh(run).status == "completed"
    given = FeedbackResponse.objects.get()
    assert (given.response, given.who, given.source) == ("approve", "octocat", "issue_comment")
    assert given.provided_by["method"] == "issue_comment_author"
    (comment,) = about(github, asked)
    assert "## Feedback Answered" in comment.body
    assert "octocat" in comment.body
    assert [name for _, name in said.reactions] == ["eyes"]
    assert any("approve" in reply for reply in replies(github))


def test_a_command_counts_once_however_it_comes(github: FakeGitHub, site: Client, run: Run) -> None:
    said = say(github, "@faber approve")
    delivery = github.webhook(said)
    for _ in range(3):
        site.post(
            "/github/webhook",
            delivery.body,
            content_type="application/json",
            headers=delivery.headers,
        )
    assert send(site, github, said) == 202  # another delivery of the same comment
    work_off()
    poll()

    assert FeedbackResponse.objects.count() == 1
    assert InboundComment.objects.count() == 1
    assert len(replies(github)) == 1


def test_a_dropped_webhook_is_healed_by_polling(github: FakeGitHub, run: Run) -> None:
    say(github, "@faber approve")

    poll()
    poll()

    assert FeedbackResponse.objects.count() == 1


def test_a_clock_that_was_set_back_does_not_keep_github_from_being_read(
    github: FakeGitHub, run: Run
) -> None:
    poll()
    Listening.objects.update(polled_at=timezone.now() + timedelta(hours=1))
    say(github, "@faber approve")

    sweep()
    work_off()

    assert FeedbackResponse.objects.count() == 1


NOTHING = {
    "quoted": "> @faber approve",
    "in a code block": "```\n@faber approve\n```",
    "in inline code": "Write `@faber approve` to go on.",
    "in an HTML comment": "<!--\n@faber approve\n-->",
    "mentioned in prose": "I wonder what @faber approve does.",
    "no command": "Looks good to me.",
}


@pytest.mark.parametrize("body", NOTHING.values(), ids=list(NOTHING))
def test_what_is_no_command_does_nothing(
    github: FakeGitHub, site: Client, run: Run, body: str
) -> None:
    hear(site, github, body)

    assert f.fresh(run).status == "awaiting_feedback"
    assert replies(github) == []


@pytest.mark.parametrize("author", ["helper[bot]", "faber-bot"])
def test_bots_and_we_ourselves_never_command(
    github: FakeGitHub, site: Client, run: Run, author: str
) -> None:
    hear(site, github, "@faber approve", author=github.login if author == "faber-bot" else author)

    assert f.fresh(run).status == "awaiting_feedback"
    assert not InboundComment.objects.exists()


@pytest.mark.parametrize("action", ["edited", "deleted"])
def test_edits_and_deletions_never_act(
    github: FakeGitHub, site: Client, run: Run, action: str
) -> None:
    said = say(github, "@faber approve")

    assert send(site, github, said, action) == 202
    work_off()

    assert not InboundComment.objects.exists()


def test_an_edited_comment_is_not_heard_by_polling(github: FakeGitHub, run: Run) -> None:
    said = say(github, "Nice.")
    github.clock = lambda: timezone.now() + timedelta(seconds=5)
    github.edit(said.id, "@faber approve")

    poll()

    assert f.fresh(run).status == "awaiting_feedback"


@pytest.mark.parametrize("author", ["stranger", "reader"])
def test_who_may_not_write_is_told_once(
    github: FakeGitHub, site: Client, run: Run, author: str
) -> None:
    for _ in range(3):
        hear(site, github, "@faber approve", author=author)

    assert f.fresh(run).status == "awaiting_feedback"
    (reply,) = replies(github)
    assert f"{author} needs write access to decide here" in reply
    assert InboundComment.objects.filter(state="refused").count() == 3
    site.force_login(users.create("vic", role=Role.VIEWER))
    assert f"{author} needs write access to decide here" in site.get("/audit/").content.decode()


@pytest.mark.parametrize("where", ["setting", "project"])
def test_an_allow_list_may_command_without_permission(
    github: FakeGitHub, site: Client, settings: Settings, where: str
) -> None:
    if where == "setting":
        settings.FABER_GITHUB_ALLOW = ("Stranger",)
    else:
        Project.objects.create(name=REPO, github_allow=["Stranger"])
    run = f.start(f.five_steps(), work_id=str(ISSUE))
    work_off()

    hear(site, github, "@faber approve", author="stranger")

    assert f.fresh(run).status == "completed"


DOUBTS = (
    "I do not approve\n\n@faber resume",
    "approve if you rename it\n\n@faber resume",
    "approve or reject?\n\n@faber resume",
    "Hmm.\n\n@faber resume",
    "@faber resume",
    "@faber frobnicate",
    "@faber request_changes",
    "@faber approve\n@faber reject",
    "@faber approve?",
    "@faber approve ?",
    "@faber approve\uff1f",
    "@faber approve or reject?",
    "@faber resume approve?",
    "@faber 1?",
    "@faber cancel?",
    "approve?\n\n@faber resume",
    "approve \uff1f\n\n@faber resume",
    "Approve this?\n\n@faber resume",
    "9" * 5_000 + "\n\n@faber resume",
    "@faber approve" + " " * 60_000 + "?",
)


@pytest.mark.parametrize("body", DOUBTS)
def test_doubt_changes_nothing_and_is_answered_with_the_accepted_forms(
    github: FakeGitHub, site: Client, run: Run, body: str
) -> None:
    hear(site, github, body)

    assert f.fresh(run).status == "awaiting_feedback"
    assert not FeedbackResponse.objects.exists()
    (reply,) = replies(github)
    assert reply.startswith("No action taken")
    assert "To answer [fr-" in reply


def test_words_beside_the_option_are_the_comment(
    github: FakeGitHub, site: Client, run: Run
) -> None:
    hear(site, github, "Name the columns.\n\n@faber request_changes")

    assert FeedbackResponse.objects.get().comment == "Name the columns."


def test_code_and_quotes_reach_the_step_and_command_nothing(
    github: FakeGitHub, site: Client, run: Run
) -> None:
    said = (
        "> retries = 5\n> @faber approve\n\nToo many, rather:\n\n"
        "```python\nretries = 3  # see\n@faber reject\n```"
    )

    hear(site, github, f"{said}\n\n@faber request_changes")

    given = FeedbackResponse.objects.get()
    assert (given.response, given.comment) == ("request_changes", said)
    again = run.attempts.order_by("-pk")[0]
    assert again.feedback is not None
    assert again.feedback["comment"] == said


def test_a_quote_alone_does_not_say_what_should_change(
    github: FakeGitHub, site: Client, run: Run
) -> None:
    hear(site, github, "> the whole question\n\n@faber request_changes")

    assert not FeedbackResponse.objects.exists()
    assert "To answer [fr-" in replies(github)[0]


@pytest.mark.parametrize(
    "body", ["@faber approve\n\n@faber reject", "@faber approve @faber reject", "@faber thanks"]
)
@pytest.mark.parametrize("open_requests", [0, 1, 2])
def test_two_commands_in_one_comment_are_told_the_accepted_forms(
    github: FakeGitHub, site: Client, body: str, open_requests: int
) -> None:
    runs = [f.start(f.five_steps(), work_id=str(ISSUE)) for _ in range(max(1, open_requests))]
    work_off()
    if not open_requests:
        engine.cancel(runs[0].pk, reason="not needed", actor=f.STARTER)

    hear(site, github, body)

    assert not FeedbackResponse.objects.exists()
    (reply,) = replies(github)
    forms = ("@faber resume approve", "@faber resume reject") if open_requests else ("@faber help",)
    assert all(form in reply for form in forms)
    assert all(("--run " + run.run_id in reply) == (open_requests == 2) for run in runs)


def test_a_clarification_takes_the_whole_text(github: FakeGitHub, site: Client) -> None:
    run = f.start(f.workflow({"build": [f.step("ask", "tests.steps:ask")]}), work_id=str(ISSUE))
    work_off()

    hear(site, github, "Use PostgreSQL, and abort nothing.\n\n@faber resume")

    assert f.fresh(run).status == "completed"
    assert FeedbackResponse.objects.get().response == "Use PostgreSQL, and abort nothing."


def test_who_comes_late_is_told_who_decided_what(
    github: FakeGitHub, site: Client, run: Run
) -> None:
    f.answer(run, "reject", actor=f.person("Rita"))

    hear(site, github, "@faber approve")

    (reply,) = replies(github)
    assert "Rita chose reject" in reply
    assert f.fresh(run).status == "cancelled"


def test_with_two_open_requests_the_run_must_be_named(github: FakeGitHub, site: Client) -> None:
    runs = [f.start(f.five_steps(), work_id=str(ISSUE)) for _ in range(2)]
    work_off()

    hear(site, github, "@faber approve")
    (reply,) = replies(github)
    assert all(run.run_id in reply for run in runs)
    assert not FeedbackResponse.objects.exists()

    hear(site, github, f"@faber resume approve --run {str(runs[1].uuid)[:8]}")
    assert [f.fresh(run).status for run in runs] == ["awaiting_feedback", "completed"]


def test_status_and_help(github: FakeGitHub, site: Client, run: Run) -> None:
    hear(site, github, "@faber status")
    hear(site, github, "@faber help")

    status, help_ = replies(github)
    assert run.run_id in status
    assert "@faber resume --run ID" in help_


@pytest.mark.parametrize(
    ("role", "has_started"), [(Role.OPERATOR, False), (Role.REVIEWER, True), (Role.REVIEWER, False)]
)
def test_a_comment_cancels_for_operators_and_for_whoever_started_the_run(
    github: FakeGitHub, site: Client, run: Run, role: Role, has_started: bool
) -> None:
    person = users.create("rita", role=role)
    tracker_links.link(person, "octocat")
    Run.objects.update(started_by_user=person if has_started else None)

    hear(site, github, "@faber cancel")

    if role is Role.OPERATOR or has_started:
        assert "was cancelled" in replies(github)[0]
        assert f.fresh(run).status == "cancelled"
    else:
        assert "operators and the person who started the run" in replies(github)[0]
        assert f.fresh(run).status == "awaiting_feedback"


def test_an_answer_that_takes_effect_is_not_said_a_second_time(
    github: FakeGitHub, run: Run, settings: Settings
) -> None:
    settings.FABER_UNDO_SECONDS = 60
    held = f.answer(run, "approve")
    said = Delivery.objects.get(request=held.request).version

    answers.take_effect(held.pk)

    assert Delivery.objects.get(request=held.request).version == said == 2


def test_a_run_is_named_by_the_beginning_of_its_id_and_by_nothing_inside_it(
    github: FakeGitHub, site: Client, run: Run
) -> None:
    hear(site, github, f"@faber resume approve --run {str(run.uuid)[24:]}")
    assert "There is no run" in replies(github)[0]

    hear(site, github, f"@faber resume approve --run {str(run.uuid)[:8]}")
    assert f.fresh(run).status == "completed"


def test_one_person_is_one_person_on_the_issue_and_on_the_site(
    github: FakeGitHub, site: Client, settings: Settings
) -> None:
    settings.FABER_SELF_APPROVAL = "refuse"
    starter = users.create("Octocat", role=Role.REVIEWER)
    run = f.start(f.five_steps(), work_id=str(ISSUE))
    Run.objects.update(started_by_user=starter)
    work_off()

    hear(site, github, "@faber approve")

    assert f.fresh(run).status == "awaiting_feedback"
    assert "You started this run" in replies(github)[0]


def test_a_comment_waits_while_github_cannot_be_asked(
    github: FakeGitHub, site: Client, run: Run
) -> None:
    github.fail(bad_gateway(after_storing=False), path="/permission", times=9)
    hear(site, github, "@faber approve")
    assert InboundComment.objects.get().state == "heard"

    github._orders.clear()
    InboundComment.objects.update(try_at=timezone.now() - timedelta(minutes=1))
    sweep()
    work_off()

    assert f.fresh(run).status == "completed"


# The door


def post(client: Client, body: bytes, **headers: str) -> int:
    return client.post(
        "/github/webhook", body, content_type="application/json", headers=headers
    ).status_code


def test_a_delivery_must_be_signed(github: FakeGitHub, site: Client, run: Run) -> None:
    delivery = github.webhook(say(github, "@faber approve"), secret="wrong")

    assert post(site, delivery.body, **delivery.headers) == 401
    assert post(site, delivery.body) == 401
    work_off()
    assert f.fresh(run).status == "awaiting_feedback"


def test_the_signature_is_over_the_bytes_as_they_came(github: FakeGitHub, site: Client) -> None:
    delivery = github.webhook(say(github, "@faber approve — ünïcode"))

    assert post(site, delivery.body, **delivery.headers) == 202
    assert post(site, json.dumps(json.loads(delivery.body)).encode(), **delivery.headers) == 401


def test_what_is_not_a_new_comment_is_let_pass(github: FakeGitHub, site: Client) -> None:
    ping = github.ping()

    assert post(site, ping.body, **ping.headers) == 202


def test_without_a_secret_the_door_is_closed(
    github: FakeGitHub, site: Client, settings: Settings
) -> None:
    settings.FABER_GITHUB_WEBHOOK_SECRET = ""
    delivery = github.ping()

    assert post(site, delivery.body, **delivery.headers) == 503


def test_too_much_is_refused(
    github: FakeGitHub, site: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhooks, "LARGEST", 100)
    delivery = github.webhook(say(github, "@faber approve"))

    assert post(site, delivery.body, **delivery.headers) == 413


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b"{not json", "The delivery is not JSON."),
        (b'{"number": ' + b"9" * 5000 + b"}", "The delivery is not JSON."),
        (b"[" * 100_000 + b"]" * 100_000, "The delivery is nested too deeply."),
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "The delivery is nested too deeply."),
    ],
    ids=["broken", "long number", "deep list", "deep object"],
)
def test_what_is_not_json_is_refused_and_not_kept(
    github: FakeGitHub, settings: Settings, body: bytes, sentence: str
) -> None:
    secret = settings.FABER_GITHUB_WEBHOOK_SECRET.encode()
    signature = hmac.new(secret, body, hashlib.sha256).hexdigest()

    refused = Client(raise_request_exception=False).post(
        "/github/webhook",
        body,
        content_type="application/json",
        headers={"X-Hub-Signature-256": f"sha256={signature}", "X-GitHub-Event": "issue_comment"},
    )

    assert (refused.status_code, refused.json()) == (400, {"message": sentence})
    assert not Webhook.objects.exists()


def test_half_a_character_in_a_delivery_holds_up_none_after_it(
    github: FakeGitHub, site: Client, run: Run, settings: Settings
) -> None:
    whole = github.webhook(say(github, "@faber approve (half a character: X)"))
    broken = whole.body.replace(b": X)", b": \\ud800 \\u0000)")
    secret = settings.FABER_GITHUB_WEBHOOK_SECRET.encode()
    signature = hmac.new(secret, broken, hashlib.sha256).hexdigest()

    post(site, broken, **whole.headers | {"X-Hub-Signature-256": f"sha256={signature}"})
    send(site, github, say(github, "@faber approve"))
    work_off()

    assert not Webhook.objects.filter(read_at=None).exists()


def test_nothing_but_a_post_is_taken(site: Client) -> None:
    assert site.get("/github/webhook").status_code == 405


def test_answers_given_elsewhere_need_no_github(github: FakeGitHub, run: Run) -> None:
    github.fail(drop(after_storing=False), times=50)

    answers.respond(f.pending(run).request_id, "approve", actor=f.person(), words=Words())
    work_off()

    assert f.fresh(run).status == "completed"


def test_two_workers_with_one_comment_give_one_answer(
    github: FakeGitHub, site: Client, run: Run
) -> None:
    """The second has read the comment before the first was done with it."""
    assert send(site, github, say(github, "@faber approve")) == 202
    webhooks.read_new()
    heard = InboundComment.objects.get()

    inbound._act(heard)
    inbound._act(heard)

    heard.refresh_from_db()
    assert heard.state == "done"
    assert FeedbackResponse.objects.count() == 1


def test_commands_that_come_in_the_wrong_order_decide_once(
    github: FakeGitHub, site: Client, run: Run
) -> None:
    first, second = say(github, "@faber approve"), say(github, "@faber reject")

    assert send(site, github, second) == 202
    work_off()
    assert send(site, github, first) == 202
    work_off()

    assert FeedbackResponse.objects.get().response == "reject"
    assert any("octocat chose reject" in reply for reply in replies(github))


def test_an_answer_while_the_comment_is_being_posted_posts_no_second_one(
    github: FakeGitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = f.work(f.start(f.five_steps(), work_id=str(ISSUE)))
    said = Delivery.objects.get(request__run=run)
    post = GitHubClient.create_comment

    def answered_meanwhile(
        self: GitHubClient, place: Place, body: str, *, check: Callable[[], None]
    ) -> Comment:
        monkeypatch.setattr(GitHubClient, "create_comment", post)
        check()  # and on its way it is
        f.answer(run, "approve")
        work_off()  # another worker is to say that it is answered
        return post(self, place, body)

    monkeypatch.setattr(GitHubClient, "create_comment", answered_meanwhile)
    delivering.deliver(said.pk)
    work_off()

    (comment,) = [c for c in github.comments(REPO, ISSUE) if has_mark(c.body, said.mark)]
    said.refresh_from_db()
    assert (said.is_due, said.comment_id) == (False, comment.id)
    assert "How to Respond" not in comment.body
