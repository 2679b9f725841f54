"""A worker killed while it talks to GitHub: one comment, one answer, in the end."""

from datetime import timedelta
from functools import partial

import pytest
from django.utils import timezone

from faber_site.runtime.sweep import sweep
from feedback.channels.trackers import inbound
from feedback.channels.trackers.delivery import deliver
from feedback.models import Delivery, FeedbackResponse, InboundComment, InboundKind
from runs.models import Project, Run
from tests import factories as f
from tests.chaos.test_crash_points import was_killed
from tests.fake_github import FakeGitHub
from tests.jobs import later, work_off

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.database, pytest.mark.chaos]

REPO = "Acme/App"
MOST_STATEMENTS = 80


def let_time_pass() -> None:
    """What a minute would do: turns end, and the sweep looks for what is late."""
    long_ago = timezone.now() - timedelta(minutes=2)
    Delivery.objects.filter(is_due=True).update(next_try_at=long_ago)
    InboundComment.objects.filter(state="heard").update(try_at=long_ago)
    sweep()
    # Whoever lives would say so before this job comes.
    Delivery.objects.filter(is_due=True).update(next_try_at=long_ago)
    later(60)
    work_off()


@pytest.mark.timeout(300)
def test_a_kill_before_any_statement_of_a_delivery_leaves_one_comment(github: FakeGitHub) -> None:
    for fatal in range(MOST_STATEMENTS):
        issue = github.add_issue(REPO)
        f.work(f.start(f.five_steps(), work_id=str(issue)))
        delivery = Delivery.objects.get(issue=issue)

        killed = was_killed(partial(deliver, delivery.pk), fatal)
        let_time_pass()

        (comment,) = github.comments(REPO, issue)
        delivery.refresh_from_db()
        assert (delivery.comment_id, delivery.is_due) == (comment.id, False)
        if not killed:
            assert fatal > 3
            return
    raise AssertionError("the delivery has more statements than the test allows")


@pytest.mark.timeout(300)
def test_a_kill_before_any_statement_of_a_command_gives_one_answer(github: FakeGitHub) -> None:
    for fatal in range(MOST_STATEMENTS):
        issue = github.add_issue(REPO)
        github.grant(REPO, "octocat", "write")
        run = f.work(f.start(f.five_steps(), work_id=str(issue)))
        work_off()
        said = github.comment(REPO, issue, "@faber approve", author="octocat")
        heard = InboundComment.objects.create(
            repository=REPO,
            issue=issue,
            comment_id=said.id,
            author="octocat",
            body=said.body,
            commented_at=said.created_at + timedelta(seconds=2),
        )

        killed = was_killed(partial(inbound.act_on, heard.pk), fatal)
        let_time_pass()

        assert FeedbackResponse.objects.filter(request__run=run).count() == 1
        assert f.fresh(run).status == "completed"
        replies = [c for c in github.comments(REPO, issue) if "faber:reply-" in c.body]
        assert len(replies) == 1
        if not killed:
            assert fatal > 10
            return
    raise AssertionError("the command has more statements than the test allows")


@pytest.mark.timeout(300)
def test_a_kill_before_any_statement_of_a_start_starts_one_run(github: FakeGitHub) -> None:
    Project.objects.create(name=REPO, start_workflow="core", start_label="go")
    github.grant(REPO, "octocat", "write")
    for fatal in range(MOST_STATEMENTS):
        issue = github.add_issue(REPO)
        put = github.label(REPO, issue, "go", author="octocat")
        heard = InboundComment.objects.create(
            kind=InboundKind.LABEL,
            repository=REPO,
            issue=issue,
            comment_id=put.id,
            author="octocat",
            body="go",
            commented_at=put.at,
        )

        killed = was_killed(partial(inbound.act_on, heard.pk), fatal)
        let_time_pass()

        (run,) = Run.objects.filter(work_id=str(issue))
        started = [c for c in github.comments(REPO, issue) if f"faber:run-{run.uuid}" in c.body]
        assert len(started) == 1
        if not killed:
            assert fatal > 10
            return
    raise AssertionError("the start has more statements than the test allows")
