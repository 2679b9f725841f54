"""The permission tool: what it asks people, and what it tells Claude Code."""

import json
from types import SimpleNamespace

import pytest
from asgiref.sync import async_to_sync

from feedback.api import long_poll
from feedback.mcp import http_transport, permission
from feedback.mcp.local_site import Here, account_caller
from feedback.mcp.site import Session, WaitResult
from feedback.models import FeedbackRequest
from runs.accounts import tokens
from runs.domain.values.actors import Role, Scope
from runs.domain.values.errors import FaberError, NotFound
from runs.models import Artifact, Project
from tests import factories as f
from tests.api_client import account
from tests.mcp_clients import Caller, Json

pytestmark = pytest.mark.django_db

KEY = "sk-ant-api03-aB3dE6gH9jK2mN5pQ8sT1vW4"


@pytest.fixture(autouse=True)
def nobody_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_transport, "PATIENCE", 0.0)
    monkeypatch.setattr(permission, "PARKED", permission.Parked())


@pytest.fixture
def claude() -> Caller:
    return Caller(tokens.create("laptop", scope=Scope.AGENT)[1])


def asked() -> FeedbackRequest:
    return FeedbackRequest.objects.latest("id")


def test_what_nobody_answered_is_no_and_says_that_it_is_no_refusal(claude: Caller) -> None:
    verdict = claude.verdict("Bash", command="make deploy")

    assert set(verdict) == {"behavior", "message"}
    assert verdict["behavior"] == "deny"
    assert verdict["message"].startswith("Nobody has answered yet; this is not a refusal.")
    assert f"/requests/{asked().request_id}/" in verdict["message"]


def test_leave_given_later_lets_the_same_call_through_once(claude: Caller) -> None:
    claude.verdict("Bash", command="make deploy")
    first = asked()
    f.answer(first.run, "confirm")

    other = claude.verdict("Bash", command="make destroy")
    allowed = claude.verdict("Bash", command="make deploy")
    again = claude.verdict("Bash", command="make deploy")

    assert allowed == {"behavior": "allow", "updatedInput": {"command": "make deploy"}}
    assert [other["behavior"], again["behavior"]] == ["deny", "deny"]
    assert FeedbackRequest.objects.count() == 3


def test_leave_is_given_to_one_token_only(claude: Caller) -> None:
    claude.verdict("Bash", command="make deploy")
    f.answer(asked().run, "confirm")

    another = Caller(tokens.create("ci", scope=Scope.AGENT)[1])

    assert another.verdict("Bash", command="make deploy")["behavior"] == "deny"


def test_a_refusal_is_final_and_brings_the_persons_words(claude: Caller) -> None:
    claude.verdict("Bash", command="make deploy")
    f.answer(asked().run, "cancel", "Not on a Friday")

    assert claude.verdict("Bash", command="make deploy") == {
        "behavior": "deny",
        "message": "A person refused this, saying: “Not on a Friday”. The refusal is final: do "
        "not try it again and do not look for a way around it. Go on without it, or stop and say "
        "so.",
    }


def test_what_people_see_holds_the_input_and_no_secret(claude: Caller) -> None:
    given = {"command": f"export KEY={KEY}\nmake deploy \u202e", "env": {"password": "hunter2"}}
    claude.verdict("Bash", **given)
    request = asked()
    shown = bytes(Artifact.objects.get().content).decode()

    assert (request.type, request.prompt) == ("confirmation", "Allow Bash?")
    assert [option.value for option in request.choices] == ["confirm", "cancel"]
    assert request.context["input"]["env"] == {"password": "[redacted]"}
    assert "  make deploy \\u202e" in shown
    for text in (
        shown,
        json.dumps(request.context),
        str(request.run.events.values_list("document")),
    ):
        assert KEY not in text
        assert "hunter2" not in text
    f.answer(request.run, "confirm")
    assert claude.verdict("Bash", **given) == {"behavior": "allow", "updatedInput": given}


@pytest.mark.parametrize(
    ("tool", "given", "title"),
    [
        ("Bash", {"command": "make deploy"}, "Allow Bash: make deploy?"),
        ("Write", {"file_path": "/w/a.py", "content": ""}, "Allow Write: /w/a.py?"),
        ("Bash", {"command": f"x --key {KEY}"}, "Allow Bash: x --key [redacted]?"),
    ],
)
def test_a_request_is_called_by_the_command_or_the_file(
    claude: Caller, tool: str, given: dict[str, str], title: str
) -> None:
    claude.verdict(tool, **given)

    assert (asked().prompt, asked().title) == (title, title)


def test_a_question_that_was_withdrawn_is_a_no(claude: Caller) -> None:
    claude.verdict("Write", file_path="x")
    FeedbackRequest.objects.update(status="cancelled")

    verdict = claude.verdict("Write", file_path="x")

    assert verdict["message"].startswith("The question was withdrawn")


def test_whoever_cannot_ask_gets_a_no_with_the_reason() -> None:
    viewer = account("vera", Role.VIEWER)
    claude = Caller(tokens.create("v", scope=Scope.AGENT, user=viewer)[1])

    verdict = claude.verdict("Write", file_path="x")

    assert verdict["behavior"] == "deny"
    assert verdict["message"].startswith(
        "The request could not be created, so it is denied. A viewer's token is read-only."
    )
    assert not FeedbackRequest.objects.exists()


def test_a_long_input_is_shown_whole_but_kept_once(claude: Caller) -> None:
    claude.verdict("Write", content="a line of text\n" * 10_000)

    assert len(bytes(Artifact.objects.get().content)) > 150_000
    assert "input" not in asked().context


def test_inside_a_step_the_question_names_the_run_and_goes_to_its_project() -> None:
    run = f.start(f.five_steps())

    verdict = decided(run_id=run.run_id)

    request = asked()
    assert verdict["behavior"] == "deny"
    assert request.run.pk != run.pk
    assert request.run.project == run.project
    assert request.context["run_id"] == run.run_id
    assert request.context["summary"] == f"An agent wants to use this tool in run {run.run_id}."


def test_a_run_that_the_site_does_not_know_is_named_all_the_same() -> None:
    decided(run_id="other/site/0b8f3a52-5f0c-4a3e-9a44-2f1c8f0b6f11")

    assert asked().context["run_id"].startswith("other/site/")


def test_it_waits_in_slices_and_reports_each(monkeypatch: pytest.MonkeyPatch) -> None:
    now, reports = [0.0], []
    monkeypatch.setattr(permission, "time", SimpleNamespace(monotonic=lambda: now[0]))

    async def report(seconds: float) -> None:
        reports.append(seconds)

    class Patient(Here):
        def wait(self, request_id: str, seconds: float) -> WaitResult:
            now[0] += seconds
            if now[0] >= 100:
                f.answer(asked().run, "confirm")
            return super().wait(request_id, 0)

    verdict = decided(site=Patient(account_caller()), patience=3000, report=report)

    assert verdict["behavior"] == "allow"
    assert reports == [20, 40, 60, 80]


def test_an_answer_that_comes_while_the_site_is_away_is_not_lost() -> None:
    class Shaky(Here):
        is_away = True

        def wait(self, request_id: str, seconds: float) -> WaitResult:
            if self.is_away:
                raise FaberError("FABER could not be reached.")
            return super().wait(request_id, seconds)

    site = Shaky(account_caller())

    away = decided(site=site)
    f.answer(asked().run, "confirm")
    site.is_away = False

    assert away["message"].startswith(
        "The request was created, but its answer is not available now. FABER could not be reached."
    )
    assert decided(site=site)["behavior"] == "allow"


def test_it_leaves_the_web_threads_to_others_when_there_is_no_seat(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(long_poll, "SEATS", SimpleNamespace(acquire=lambda blocking: False))

    async def report(seconds: float) -> None:
        raise AssertionError(f"it holds its thread after {seconds} seconds")

    assert decided(patience=3000, report=report)["message"].startswith("Nobody has answered yet")


async def _silent(_seconds: float) -> None:
    pass


def decided(
    *,
    site: Here | None = None,
    patience: float = 0,
    report: permission.Report = _silent,
    **more: str,
) -> Json:
    session = Session(
        site=site or Here(account_caller()),
        in_thread=http_transport.in_thread,
        patience=patience,
        **more,
    )
    return async_to_sync(permission.decide)(session, "Bash", {"command": "ls"}, "toolu_1", report)


def test_the_agent_of_a_step_sees_the_project_of_its_run_alone(db: None) -> None:
    here, there = f.start(f.five_steps()), f.start(f.five_steps())
    there.project = Project.objects.create(name="Acme/Other", visibility="members")
    there.save()

    site = Here(account_caller(here.run_id))

    assert site.run(here.run_id)["run_id"] == here.run_id
    with pytest.raises(NotFound):
        site.run(there.run_id)
    here.project.visibility = "members"
    here.project.save()
    assert site.run(here.run_id)["run_id"] == here.run_id
