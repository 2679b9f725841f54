"""The check on the pull request of a run, against a GitHub and a GitLab that keep state."""

import json

import pytest
from django.core.cache import cache

from feedback.channels.trackers import delivery
from feedback.models import Delivery
from runs import engine
from runs.models import Project, Run
from tests import factories as f
from tests.fake_github import FakeGitHub, unauthorized
from tests.fake_github.state import StoredPull, StoredStatus
from tests.fake_gitlab import MERGE_REQUEST, FakeGitLab
from tests.jobs import later, work_off

pytestmark = [pytest.mark.django_db, pytest.mark.database]

REPO, ISSUE = "Acme/App", 258
OTHER = "0" * 40


@pytest.fixture
def pull(github: FakeGitHub) -> StoredPull:
    cache.clear()
    github.add_issue(REPO, ISSUE)
    return github.add_pull(REPO, head="faber/258")


def opens(number: object, url: str = "", **fields: object) -> f.Json:
    details = {"pr_number": number, "pr_url": url or f"https://github.test/{REPO}/pull/{number}"}
    said = json.dumps({"status": "success", "message": "opened", "details": details})
    return {"id": "open", "run": ["echo", said], **fields}


def start(*build: f.Json, **phases: list[f.Json]) -> Run:
    run = f.start(f.workflow({"build": list(build), **phases}), work_id=str(ISSUE))
    work_off()
    return f.fresh(run)


def last(github: FakeGitHub) -> StoredStatus:
    return github.statuses[-1]


def test_the_check_is_pending_until_the_gate_is_decided_and_links_to_the_desk(
    github: FakeGitHub, pull: StoredPull
) -> None:
    run = start(opens(pull.number, requires_approval=True), release=[f.step("merge")])
    asked = f.pending(run)
    assert (last(github).sha, last(github).state) == (pull.sha, "pending")
    assert last(github).context == "faber"
    assert last(github).target_url.endswith(f"/requests/{asked.request_id}/")

    f.answer(run, "approve")
    work_off()

    assert (last(github).sha, last(github).state) == (pull.sha, "success")
    assert last(github).description == "approve by Rita"
    assert f.fresh(run).status == "completed"


def test_a_gate_to_come_keeps_the_check_pending_before_it_is_asked(
    github: FakeGitHub, pull: StoredPull
) -> None:
    outside: f.Json = {"id": "outside", "remote": True}
    run = start(opens(pull.number), outside, f.step("later", requires_approval=True))
    assert (last(github).state, last(github).description) == ("pending", "A decision follows")
    assert last(github).target_url.endswith(f"/runs/{run.run_id}/")


def test_a_rejection_fails_the_check(github: FakeGitHub, pull: StoredPull) -> None:
    run = start(opens(pull.number, requires_approval=True))
    f.answer(run, "reject")
    work_off()
    assert last(github).state == "failure"
    assert "Rita" in last(github).description


def test_what_was_pushed_while_people_decided_is_not_approved(
    github: FakeGitHub, pull: StoredPull
) -> None:
    decided_on = pull.sha
    run = start(opens(pull.number, requires_approval=True))
    github.push(pull, OTHER)

    f.answer(run, "approve")
    work_off()

    assert (last(github).sha, last(github).state) == (decided_on, "success")
    assert OTHER not in {status.sha for status in github.statuses}


def test_a_new_round_waits_on_the_new_commit(github: FakeGitHub, pull: StoredPull) -> None:
    run = start(opens(pull.number, requires_approval=True, approval_type="review"))
    github.push(pull, OTHER)
    f.answer(run, "request_changes", "Shorter, please.")
    work_off()
    assert (last(github).sha, last(github).state) == (OTHER, "pending")
    f.answer(f.fresh(run), "approve")
    work_off()
    assert (last(github).sha, last(github).state) == (OTHER, "success")


def test_a_gate_decided_before_the_pull_request_is_told_on_it(
    github: FakeGitHub, pull: StoredPull
) -> None:
    run = start(f.step("code", requires_approval=True), release=[opens(pull.number)])
    assert github.statuses == []
    f.answer(run, "approve")
    work_off()
    assert {(status.sha, status.state) for status in github.statuses} == {(pull.sha, "success")}


def test_what_others_pushed_before_the_check_was_set_is_not_approved(
    github: FakeGitHub, pull: StoredPull
) -> None:
    run = start(f.step("code", requires_approval=True), release=[opens(pull.number)])
    f.answer(run, "approve")
    work_off()
    github.statuses.clear()
    Delivery.objects.update(shown="", commit="")  # as if GitHub had been away until now
    f.fresh(run).attempts.update(left_at={"commit": pull.sha, "uncommitted": []})
    ours = pull.sha
    github.push(pull, OTHER)

    delivery.deliver_now(Delivery.objects.get(kind="check").pk)

    assert [(status.sha, status.state) for status in github.statuses] == [(ours, "success")]


def test_a_run_that_asks_nobody_sets_no_check(github: FakeGitHub, pull: StoredPull) -> None:
    assert start(opens(pull.number)).status == "completed"
    assert github.statuses == []


@pytest.mark.parametrize("url", ["https://github.test/Other/Repo/pull/{}", "javascript:alert({})"])
def test_a_pull_request_of_another_repository_is_left_alone(
    github: FakeGitHub, pull: StoredPull, url: str
) -> None:
    start(opens(pull.number, url.format(pull.number), requires_approval=True))
    assert github.statuses == []
    assert not github.calls_of("GET", "/pulls")


def test_a_token_that_may_not_set_checks_holds_nothing_up(
    github: FakeGitHub, pull: StoredPull
) -> None:
    github.fail(unauthorized(), path="/statuses", times=99)
    run = start(opens(pull.number, requires_approval=True))
    for _ in range(10):
        later(3600)
        Delivery.objects.filter(is_due=True).update(next_try_at=run.created_at)
        work_off()
    check = Delivery.objects.get(kind="check")
    assert (check.is_due, "401" in check.last_error) == (False, True)
    f.answer(f.fresh(run), "approve")
    work_off()
    assert f.fresh(run).status == "completed"


def test_a_check_on_gitlab_is_set_on_the_merge_request(gitlab: FakeGitLab) -> None:
    Project.objects.create(name=REPO, tracker="gitlab")
    gitlab.open(REPO, ISSUE)
    gitlab.open(REPO, 7, MERGE_REQUEST)
    run = start(opens(7, f"{gitlab.url}/{REPO}/-/merge_requests/7", requires_approval=True))
    assert [status[:2] for status in gitlab.statuses] == [("c0ffee", "pending")]
    engine.cancel(run.pk, reason="not needed", actor=f.STARTER)
    work_off()
    assert [status[:2] for status in gitlab.statuses][-1] == ("c0ffee", "failed")
