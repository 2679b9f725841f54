"""Comments that neither decide nor start: questions to the agent, and requests handed over."""

from pathlib import Path

import pytest
from django.core.cache import cache
from django.test import Client

from feedback.models import FeedbackRequest, Inquiry
from runs.accounts import users
from runs.domain.values.actors import Role
from tests import factories as f
from tests.fake_agents.programs import FakeAgents
from tests.fake_github import FakeGitHub
from tests.jobs import work_off

pytestmark = pytest.mark.django_db

REPO, ISSUE = "Acme/App", 258


@pytest.fixture
def asked(github: FakeGitHub, agents: FakeAgents, tmp_path: Path) -> FeedbackRequest:
    cache.clear()  # permissions are kept for a minute
    github.add_issue(REPO, ISSUE, author="ida")
    github.grant(REPO, "octocat", "write")
    agents.will_say({"status": "success", "message": "Planned."}, "Nobody filters by it, @ida.")
    step: f.Json = {"id": "plan", "prompt": "Plan it.", "requires_approval": True}
    run = f.start(f.workflow({"architect": [step]}), tmp_path, work_id=str(ISSUE))
    work_off()
    return f.pending(run)


def comment(client: Client, github: FakeGitHub, text: str) -> list[str]:
    """What FABER says after a comment, besides the request."""
    before = len(github.comments(REPO, ISSUE))
    delivery = github.webhook(github.comment(REPO, ISSUE, text, author="octocat"))
    client.post(
        "/github/webhook", delivery.body, content_type="application/json", headers=delivery.headers
    )
    work_off()
    return [said.body for said in github.comments(REPO, ISSUE)[before + 1 :]]


def test_a_question_on_the_issue_is_answered_there(
    asked: FeedbackRequest, github: FakeGitHub, client: Client
) -> None:
    said = comment(client, github, "@faber ask Why is there no index?\n\nWe filter a lot.")

    inquiry = Inquiry.objects.get()
    assert inquiry.question == "Why is there no index?\n\nWe filter a lot."
    assert (inquiry.who, inquiry.asked_by["source"]) == ("octocat", "issue_comment")
    assert any(f"Asked the agent for [{asked.request_id}]" in body for body in said)
    (answer,) = [body for body in said if "Nobody filters by it" in body]
    assert "**claude** answered the question of octocat" in answer
    assert "@ida" not in answer  # nobody is pinged
    assert f.pending(asked.run).request_id == asked.request_id


def test_a_question_without_words_asks_nobody(
    asked: FeedbackRequest, github: FakeGitHub, client: Client
) -> None:
    (said,) = comment(client, github, "@faber ask")

    assert "question: must not be empty" in said
    assert not Inquiry.objects.exists()


@pytest.mark.parametrize("name", ["rita", "@rita,"])
def test_a_request_is_handed_over_on_the_issue(
    asked: FeedbackRequest, github: FakeGitHub, client: Client, name: str
) -> None:
    users.create("rita", role=Role.REVIEWER)

    (said,) = comment(client, github, f"@faber delegate {name} you know the tables")

    request = FeedbackRequest.objects.get(pk=asked.pk)
    assert (request.assignee, request.delegated[0]["comment"]) == ("rita", "you know the tables")
    assert said.startswith(f"[{asked.request_id}]")
    assert "is assigned to rita." in said


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("@faber delegate", "needs the name of an account"),
        ("@faber delegate rita?", "question"),
        ("@faber delegate nobody", "nobody"),
    ],
)
def test_a_doubtful_hand_over_changes_nothing(
    asked: FeedbackRequest, github: FakeGitHub, client: Client, text: str, why: str
) -> None:
    users.create("rita", role=Role.REVIEWER)

    (said,) = comment(client, github, text)

    assert said.startswith("No action taken")
    assert why in said
    assert FeedbackRequest.objects.get(pk=asked.pk).delegated == []
