"""A batch on its coordinating issue: one comment, brought up to date."""

import pytest

from feedback.batches.comment import tell
from feedback.models import Delivery
from tests import batches as b
from tests import factories as f
from tests.commands import faber
from tests.fake_github import FakeGitHub
from tests.jobs import work_off

pytestmark = pytest.mark.django_db

REPO, ISSUE = "Acme/App", 500


@pytest.fixture(autouse=True)
def place(github: FakeGitHub) -> None:
    github.add_issue(REPO, ISSUE, author="ida")


def told(github: FakeGitHub) -> list[str]:
    return [comment.body for comment in github.comments(REPO, ISSUE)]


def test_one_comment_is_posted_and_then_edited(github: FakeGitHub) -> None:
    batch = b.new_batch(issue=str(ISSUE))
    run = b.asks(batch, "approval", "x1", prompt="Fine, @everybody?\n```\n<b>")

    tell(batch.pk)
    tell(batch.pk)
    work_off()
    (body,) = told(github)
    assert f"/batches/{batch.batch_id}/" in body
    assert "- 1 awaiting feedback (see below)" in body

    faber("batch", "answer", batch.batch_id, stdin="x1: reject\n")
    work_off()

    (body,) = told(github)
    assert "- 1 cancelled" in body
    assert f.fresh(run).status == "cancelled"


def test_a_batch_without_an_issue_is_not_told_of() -> None:
    assert tell(b.new_batch().pk) is False
    assert not Delivery.objects.exists()


def test_the_comment_follows_by_itself_when_a_run_stops(github: FakeGitHub) -> None:
    batch = b.new_batch(issue=str(ISSUE))
    run = f.start(f.five_steps(), work_id="x1", batch=batch)
    work_off()
    (body,) = told(github)
    assert "- 1 awaiting feedback (see below)" in body

    f.answer(f.fresh(run), "approve")
    work_off()

    (body,) = told(github)
    assert "- 1 completed" in body


def test_a_batch_that_asks_more_than_a_comment_holds_says_so(github: FakeGitHub) -> None:
    batch = b.new_batch(issue=str(ISSUE))
    for number in range(3):
        b.asks(batch, "approval", f"x{number}", prompt="why " * 10_000)

    tell(batch.pk)
    work_off()

    (body,) = told(github)
    assert len(body) < 60_000
    assert "… (see the batch page for the rest)" in body
