"""Who a GitHub login is here: linked by its number it is a person, by its name alone nobody."""

from datetime import timedelta
from pathlib import Path

import pytest
from django.contrib.auth.models import Group
from django.core.cache import cache
from django.test import Client
from django.utils import timezone
from pytest_django.fixtures import Settings

from feedback.models import FeedbackRequest, FeedbackResponse
from feedback.requests import answers
from runs.accounts import tracker_links, users
from runs.domain.values.actors import Role
from runs.models import Run
from runs.trackers import Tracker
from tests import factories as f
from tests.commands import faber
from tests.fake_github import FakeGitHub
from tests.jobs import work_off

pytestmark = [pytest.mark.django_db, pytest.mark.database]

REPO, ISSUE = "Acme/App", 258


@pytest.fixture(autouse=True)
def place(github: FakeGitHub) -> None:
    cache.clear()  # permissions are kept for a minute
    github.add_issue(REPO, ISSUE, author="ida")
    for login in ("rita", "octocat", "zoe"):
        github.grant(REPO, login, "write")


def asks(**fields: object) -> Run:
    step = {**f.step("spec", requires_approval=True), **fields}
    run = f.start(f.workflow({"build": [step]}), work_id=str(ISSUE))
    work_off()
    return f.fresh(run)


def hear(client: Client, github: FakeGitHub, body: str, author: str) -> None:
    delivery = github.webhook(github.comment(REPO, ISSUE, body, author=author))
    answer = client.post(
        "/github/webhook", delivery.body, content_type="application/json", headers=delivery.headers
    )
    assert answer.status_code == 202
    work_off()


def link(account: str, login: str) -> None:
    assert faber("user", "link", account, login).code == 0


def last_reply(github: FakeGitHub) -> str:
    return [c.body for c in github.comments(REPO, ISSUE) if "<!-- faber:reply-" in c.body][-1]


def is_undecided(run: Run) -> bool:
    return f.fresh(run).status == "awaiting_feedback" and not FeedbackResponse.objects.exists()


# A name gives nothing


@pytest.mark.parametrize("reviewers", [["rita"], ["Rita"], ["group:leads"], ["group:reviewer"]])
def test_a_login_that_merely_equals_an_accounts_name_passes_no_gate_of_theirs(
    github: FakeGitHub, client: Client, reviewers: list[str]
) -> None:
    rita = users.create("rita", role=Role.REVIEWER)
    rita.groups.add(Group.objects.create(name="leads"))
    run = asks(reviewers=reviewers)

    hear(client, github, "@faber approve", author="rita")

    assert is_undecided(run)
    assert "can answer this request" in last_reply(github)


def test_a_linked_login_passes_the_gates_of_its_account(github: FakeGitHub, client: Client) -> None:
    rita = users.create("rita", role=Role.REVIEWER)
    rita.groups.add(Group.objects.create(name="leads"))
    link("rita", "octocat")

    for reviewers in (["rita"], ["group:leads"], ["group:reviewer"]):
        run = asks(reviewers=reviewers)
        hear(client, github, "@faber approve", author="octocat")
        assert f.fresh(run).status == "completed"
    given = FeedbackResponse.objects.last()
    assert given is not None
    assert (given.who, given.user, given.provided_by["account"]) == ("octocat", rita, "rita")


def test_the_right_to_write_makes_nobody_a_member_of_a_group(
    github: FakeGitHub, client: Client
) -> None:
    """A linked viewer who may write to the repository answers what is for anybody, no more."""
    users.create("vera", role=Role.VIEWER)
    link("vera", "octocat")
    run = asks(reviewers=["group:reviewer"])

    hear(client, github, "@faber approve", author="octocat")

    assert is_undecided(run)
    assert "can answer this request" in last_reply(github)


def test_a_linked_login_does_not_pass_for_an_account_of_its_own_name(
    github: FakeGitHub, client: Client
) -> None:
    users.create("octocat", role=Role.REVIEWER)
    users.create("rita", role=Role.REVIEWER)
    link("rita", "octocat")
    run = asks(reviewers=["octocat"])

    hear(client, github, "@faber approve", author="octocat")

    assert is_undecided(run)


@pytest.mark.parametrize("is_linked", [False, True])
def test_an_operators_name_cancels_nothing_without_a_link(
    github: FakeGitHub, client: Client, is_linked: bool
) -> None:
    users.create("octocat", role=Role.OPERATOR)
    if is_linked:
        link("octocat", "octocat")
    run = asks()

    hear(client, github, "@faber cancel", author="octocat")

    assert f.fresh(run).status == ("cancelled" if is_linked else "awaiting_feedback")


@pytest.mark.parametrize("is_linked", [False, True])
def test_the_starters_name_cancels_nothing_without_a_link(
    github: FakeGitHub, client: Client, is_linked: bool
) -> None:
    starter = users.create("octocat", role=Role.REVIEWER)
    if is_linked:
        link("octocat", "octocat")
    run = asks()
    Run.objects.update(started_by_user=starter, started_by="octocat")

    hear(client, github, "@faber cancel", author="octocat")

    assert f.fresh(run).status == ("cancelled" if is_linked else "awaiting_feedback")


def test_a_site_whose_clock_is_ahead_hears_what_was_said_after_its_question(
    github: FakeGitHub, client: Client
) -> None:
    run = asks()
    FeedbackRequest.objects.update(requested_at=timezone.now() + timedelta(minutes=5))

    hear(client, github, "@faber approve", author="rita")

    assert f.fresh(run).status == "completed"


def test_the_login_of_a_closed_account_decides_nothing(github: FakeGitHub, client: Client) -> None:
    rita = users.create("rita", role=Role.REVIEWER)
    link("rita", "octocat")
    rita.is_active = False
    rita.save()
    run = asks()

    hear(client, github, "@faber approve", author="octocat")

    assert is_undecided(run)


# The number is the person


def test_a_renamed_login_keeps_its_account(github: FakeGitHub, client: Client) -> None:
    users.create("rita", role=Role.REVIEWER)
    link("rita", "octocat")
    github.rename_user("octocat", "hexapus")
    run = asks(reviewers=["rita"])

    hear(client, github, "@faber approve", author="hexapus")

    assert f.fresh(run).status == "completed"


def test_whoever_takes_over_a_login_inherits_nothing(github: FakeGitHub, client: Client) -> None:
    users.create("rita", role=Role.REVIEWER)
    link("rita", "octocat")
    github.rename_user("octocat", "hexapus")
    github.grant(REPO, "octocat", "write")  # somebody else's now
    run = asks(reviewers=["rita"])

    hear(client, github, "@faber approve", author="octocat")

    assert is_undecided(run)


def test_the_rights_of_whoever_took_over_a_login_are_not_its_authors(
    github: FakeGitHub, client: Client
) -> None:
    """The permission is asked by name: its answer must be about the comment's author."""
    run = asks()
    said = github.comment(REPO, ISSUE, "@faber approve", author="stranger")
    delivery = github.webhook(said)
    client.post(
        "/github/webhook", delivery.body, content_type="application/json", headers=delivery.headers
    )
    del github.users["stranger"]
    github.grant(REPO, "stranger", "admin")  # a namesake with rights
    said.author_id = 499
    work_off()

    assert is_undecided(run)
    assert "needs write access to decide here" in last_reply(github)


# A name takes away


def test_the_starters_name_answers_nothing_where_starters_may_not(
    github: FakeGitHub, client: Client, settings: Settings
) -> None:
    settings.FABER_SELF_APPROVAL = "refuse"
    users.create("rita", role=Role.REVIEWER)
    link("rita", "octocat")
    run = asks()
    Run.objects.update(started_by="Rita", started_by_account="rita", started_by_user=None)

    hear(client, github, "@faber approve", author="octocat")

    assert is_undecided(run)
    assert "You started this run" in last_reply(github)


@pytest.mark.parametrize("rule", ["self-approval", "quorum"])
def test_only_linked_logins_answer_where_it_matters_who_somebody_is(
    github: FakeGitHub, client: Client, settings: Settings, rule: str
) -> None:
    settings.FABER_SELF_APPROVAL = "refuse" if rule == "self-approval" else "allow"
    users.create("rita", role=Role.REVIEWER)
    run = asks(quorum=2 if rule == "quorum" else 1)

    hear(client, github, "@faber approve", author="octocat")
    assert is_undecided(run)
    assert "linked" in last_reply(github)

    link("rita", "octocat")
    hear(client, github, "@faber approve", author="octocat")
    assert FeedbackResponse.objects.get().who == "octocat"


def test_one_person_with_two_logins_and_an_account_fills_a_quorum_once(
    github: FakeGitHub, client: Client
) -> None:
    rita = users.create("rita", role=Role.REVIEWER)
    link("rita", "octocat")
    link("rita", "zoe")
    run = asks(quorum=2)

    hear(client, github, "@faber approve", author="octocat")
    hear(client, github, "@faber approve", author="zoe")
    assert "You have already answered" in last_reply(github)
    client.force_login(rita)
    client.post(f"/requests/{f.pending(run).request_id}/", {"response": "approve"})

    assert f.fresh(run).status == "awaiting_feedback"
    assert FeedbackResponse.objects.count() == 1


def test_a_login_counts_as_the_account_of_its_name_when_it_is_counted_at_all() -> None:
    rita = users.create("rita", role=Role.REVIEWER)

    actor = tracker_links.actor_of(Tracker.GITHUB, "Rita", 77)

    assert actor.identity == users.actor_of(rita).identity
    assert actor.user_id is None
    assert set(actor.groups) == {"reviewer"}


# Files that changed


def test_an_approval_of_a_file_that_changed_is_asked_again_on_the_issue(
    github: FakeGitHub, client: Client, tmp_path: Path
) -> None:
    run = f.spec_reviewed(tmp_path)
    work_off()
    (tmp_path / f.SPEC).write_text("# Another spec\n")

    hear(client, github, "@faber approve", author="octocat")

    again = f.pending(run)
    told = "specs/spec.md changed after revision 1 was shown: now revision 2."
    first, second = (c.body for c in github.comments(REPO, ISSUE) if "## Feedback" in c.body)
    assert "## Feedback Superseded" in first
    assert f"**Asked again**: {told} Please answer [{again.request_id}]" in first
    assert "## Feedback Requested" in second
    assert told in second
    assert f"the run did not resume: {told} Please answer [{again.request_id}]" in last_reply(
        github
    )


def test_a_comment_tells_what_became_of_an_answer_after_its_undo_time(
    github: FakeGitHub, tmp_path: Path, settings: Settings
) -> None:
    settings.FABER_UNDO_SECONDS = 5
    run = f.spec_reviewed(tmp_path)
    work_off()
    held = f.answer(run, "approve")
    (tmp_path / f.SPEC).write_text("# Another spec\n")

    answers.take_effect(held.pk)
    work_off()

    first = next(c.body for c in github.comments(REPO, ISSUE) if "## Feedback" in c.body)
    assert "**Asked again**: specs/spec.md changed" in first


def test_beyond_the_last_round_a_comment_cannot_request_changes(
    github: FakeGitHub, client: Client
) -> None:
    run = asks(approval_type="review", max_rounds=1)
    again = "Shorter, please.\n\n@faber request_changes"
    hear(client, github, again, author="rita")
    assert f.pending(run).round == 2

    hear(client, github, again, author="rita")

    assert f.pending(run).round == 2
    assert "The limit of 1 round of changes is reached" in last_reply(github)


# Typed questions


def test_a_comment_answers_typed_questions_line_by_line(github: FakeGitHub, client: Client) -> None:
    run = f.start(f.typed_questions(), work_id=str(ISSUE))
    work_off()
    asked = next(c.body for c in github.comments(REPO, ISSUE) if "How many rows?" in c.body)

    hear(client, github, "rows: a few\nas: XML\n\n@faber resume", author="rita")
    assert is_undecided(run)
    reply = last_reply(github)
    hear(client, github, "- rows: 12\n- as: json\n\n@faber resume", author="rita")

    assert "rows: 42\nas: CSV\n\n@faber resume" in asked
    assert '- rows: must be a number, not "a few"\n- as: must be one of CSV, JSON' in reply
    assert "`rows: …` How many rows? (a number; required)" in reply
    assert FeedbackResponse.objects.get().values == {"rows": 12, "as": "JSON"}
    assert f.fresh(run).status == "completed"
