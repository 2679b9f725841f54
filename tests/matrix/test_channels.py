"""Every channel an answer comes through against whom the question is for: one rule at each door."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.test import Client
from pytest_django.fixtures import Settings

from feedback.models import FeedbackRequest
from runs.accounts import users
from runs.domain.values.actors import Role, Scope, Source
from runs.models import AuditEntry, Run
from runs.terminal import identity
from tests import batches as b
from tests import factories as f
from tests.api_client import Program, program
from tests.commands import faber
from tests.fake_github import FakeGitHub
from tests.jobs import work_off

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

REPO, ISSUE = "Acme/App", 258
FOR_RITA: dict[str, object] = {"reviewers": ["rita"]}
FOR_TWO: dict[str, object] = {"reviewers": ["group:reviewer"], "quorum": 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Doors:
    """What the channels need to let somebody speak."""

    fixtures: pytest.FixtureRequest
    terminal: pytest.MonkeyPatch

    @property
    def github(self) -> FakeGitHub:
        github: FakeGitHub = self.fixtures.getfixturevalue("github")
        return github


Answering = Callable[[Doors, str, FeedbackRequest, str], None]


def on_the_page(_: Doors, who: str, asked: FeedbackRequest, response: str) -> None:
    _browser(who).post(f"/requests/{asked.request_id}/", {"response": response})


def on_the_page_of_a_batch(_: Doors, who: str, asked: FeedbackRequest, response: str) -> None:
    sent = {f"choice-{asked.request_id}": response, "seals": f"{asked.request_id}={asked.seal}"}
    _browser(who).post(f"/batches/{_batch_id(asked)}/", sent)


def by_the_api(_: Doors, who: str, asked: FeedbackRequest, response: str) -> None:
    _program(who).post(f"/requests/{asked.request_id}/answer", {"response": response})


def by_the_api_of_a_batch(_: Doors, who: str, asked: FeedbackRequest, response: str) -> None:
    _program(who).post(
        f"/batches/{_batch_id(asked)}/answers", {"text": f"#{asked.run.work_id}: {response}"}
    )


def at_a_terminal(doors: Doors, who: str, asked: FeedbackRequest, response: str) -> None:
    with _sitting_there(doors, who):
        faber("answer", asked.request_id, response)


def with_resume(doors: Doors, who: str, asked: FeedbackRequest, response: str) -> None:
    with _sitting_there(doors, who):
        faber("resume", asked.run.run_id, response)


def at_a_terminal_for_a_batch(
    doors: Doors, who: str, asked: FeedbackRequest, response: str
) -> None:
    with _sitting_there(doors, who):
        faber("batch", "answer", _batch_id(asked), stdin=f"#{asked.run.work_id}: {response}\n")


def in_a_comment(doors: Doors, who: str, asked: FeedbackRequest, response: str) -> None:
    github, login = doors.github, f"{who}-on-github"
    github.grant(REPO, login, "write")
    assert faber("user", "link", who, login).code == 0
    work_off()
    delivery = github.webhook(github.comment(REPO, ISSUE, f"@faber {response}", author=login))
    Client().post(
        "/github/webhook", delivery.body, content_type="application/json", headers=delivery.headers
    )
    work_off()


# Where each is on record.
CHANNELS: dict[Answering, str] = {
    on_the_page: "web",
    on_the_page_of_a_batch: "web",
    by_the_api: "api",
    by_the_api_of_a_batch: "api",
    at_a_terminal: "cli",
    with_resume: "cli",
    at_a_terminal_for_a_batch: "cli",
    in_a_comment: "issue_comment",
}
# Whence no person answers: an agent never does, a policy is the workflow's own.
NOBODY = {Source.MCP, Source.POLICY}
# A batch is answered through one of the others, and on record as what it is.
THROUGH_OTHERS = {Source.PARALLEL_COORDINATION}
# Whoever sits at the terminal of the site sees every project.
OF_PEOPLE = [channel for channel, source in CHANNELS.items() if source != "cli"]

every_channel = pytest.mark.parametrize("by", CHANNELS, ids=lambda by: by.__name__)


def test_every_source_of_answers_has_a_rule() -> None:
    assert {*CHANNELS.values(), *NOBODY, *THROUGH_OTHERS} == set(Source)


@pytest.fixture
def doors(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Doors:
    cache.clear()
    for name in ("rita", "rosa", "mallory"):
        users.create(name, role=Role.REVIEWER)
    return Doors(fixtures=request, terminal=monkeypatch)


def asks(doors: Doors, by: Answering, does: str = f.SUCCEED, **fields: object) -> FeedbackRequest:
    """What a run of a batch waits for, on an issue."""
    if by is in_a_comment:
        doors.github.add_issue(REPO, ISSUE, author="ida")
    step = f.step("spec", does, requires_approval=True, **fields)
    document = f.workflow({"architect": [step], "build": [f.step("make")]})
    return f.pending(f.started(document, work_id=str(ISSUE), batch=b.new_batch()))


def refusals() -> list[AuditEntry]:
    return list(AuditEntry.objects.filter(kind="refusal"))


@every_channel
@pytest.mark.parametrize(
    ("does", "response"),
    [(f.SUCCEED, "approve"), ("tests.steps:fail", "skip"), ("tests.steps:fail", "retry")],
)
def test_what_is_for_somebody_is_refused_to_others_and_that_is_on_record(
    doors: Doors, by: Answering, does: str, response: str
) -> None:
    asked = asks(doors, by, does, **FOR_RITA)

    by(doors, "mallory", asked, response)

    assert is_open(asked)
    (line,) = refusals()
    assert (line.account, line.channel) == ("mallory", CHANNELS[by])
    assert line.reason == "Only rita can answer this request."
    assert line.run_id == asked.run.run_id


@every_channel
@pytest.mark.parametrize(
    ("does", "response"), [(f.SUCCEED, "approve"), ("tests.steps:fail", "skip")]
)
def test_one_of_two_is_not_enough(doors: Doors, by: Answering, does: str, response: str) -> None:
    asked = asks(doors, by, does, **FOR_TWO)

    by(doors, "rita", asked, response)

    assert [answer.decides for answer in asked.responses.all()] == [False]
    assert f.fresh(asked.run).status == "awaiting_feedback"


@every_channel
def test_skipping_a_failure_comes_to_the_gate(doors: Doors, by: Answering) -> None:
    asked = asks(doors, by, "tests.steps:fail", **FOR_RITA)

    by(doors, "rita", asked, "skip")

    gate = f.pending(asked.run)
    assert (gate.gate, gate.reviewers) == ("after_step", ["rita"])


@every_channel
def test_nobody_approves_what_they_started(doors: Doors, by: Answering, settings: Settings) -> None:
    settings.FABER_SELF_APPROVAL = "refuse"
    asked = asks(doors, by)
    Run.objects.filter(pk=asked.run.pk).update(started_by_user=User.objects.get(username="rita"))

    by(doors, "rita", asked, "approve")

    assert is_open(asked)
    assert "You started this run" in refusals()[0].reason


# `faber resume` is how an operator ends the rest of one.
@pytest.mark.parametrize(
    "by",
    [channel for channel in CHANNELS if channel is not with_resume],
    ids=lambda by: by.__name__,
)
def test_an_imported_run_rests(doors: Doors, by: Answering) -> None:
    asked = asks(doors, by)
    Run.objects.filter(pk=asked.run.pk).update(on_hold=True)

    by(doors, "rita", asked, "approve")

    assert is_open(asked)


@pytest.mark.parametrize("by", OF_PEOPLE, ids=lambda by: by.__name__)
def test_what_members_decide_is_closed_to_others(doors: Doors, by: Answering) -> None:
    asked = asks(doors, by)
    project = asked.run.project
    project.visibility, project.members = "members", ["rita:reviewer"]
    project.save()

    by(doors, "mallory", asked, "approve")
    assert is_open(asked)

    by(doors, "rita", asked, "approve")
    assert not is_open(asked)


def is_open(asked: FeedbackRequest) -> bool:
    asked.refresh_from_db()
    return asked.status == "pending" and not asked.responses.exists()


def _batch_id(asked: FeedbackRequest) -> str:
    assert asked.run.batch
    return asked.run.batch.batch_id


def _browser(who: str) -> Client:
    browser = Client()
    browser.force_login(User.objects.get(username=who))
    return browser


def _program(who: str) -> Program:
    return program(Scope.REVIEWER, User.objects.get(username=who), name=f"{who}'s program")


@contextmanager
def _sitting_there(doors: Doors, who: str) -> Iterator[None]:
    with doors.terminal.context() as there:
        there.setattr(identity, "_account", lambda: who)
        yield
