"""What somebody tried and may not do is on record, whichever door they came through."""

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.test import Client
from pytest_django.fixtures import Settings

from feedback.channels.trackers import inbound
from feedback.models import InboundComment
from feedback.requests.answers import respond
from runs.accounts import tokens, users
from runs.domain.values.actors import Role, Scope
from runs.models import AuditEntry, Run
from tests import factories as f
from tests.api_client import Program, account, program
from tests.commands import faber
from tests.mcp_clients import Caller

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _nothing_remembered() -> None:
    cache.clear()


@pytest.fixture
def run() -> Run:
    step = f.step("two", requires_approval=True, reviewers=["olga"])
    return f.started(f.workflow({"build": [step]}))


def refusals() -> list[AuditEntry]:
    return list(AuditEntry.objects.filter(kind="refusal").order_by("id"))


def test_a_page_that_is_not_for_somebody(run: Run, client: Client) -> None:
    client.force_login(account("rita", Role.REVIEWER))
    request_id = f.pending(run).request_id

    client.post(f"/requests/{request_id}/", {"response": "approve"})

    (line,) = refusals()
    assert (line.who, line.channel, line.request_id) == ("rita", "web", request_id)
    assert line.reason == "Only olga can answer this request."
    assert (line.run_id, line.project) == (run.run_id, "Acme/App")


def test_a_call_that_is_not_for_a_token(run: Run) -> None:
    agent = program(Scope.AGENT, account("rita", Role.REVIEWER), name="bot")

    agent.post(f"/requests/{f.pending(run).request_id}/answer", {"response": "approve"})
    agent.post(f"/runs/{run.run_id}/cancel", {"reason": "x"})

    answer, cancel = refusals()
    assert "can't answer" in answer.reason
    assert (cancel.who, cancel.run_id) == ("rita", run.run_id)
    assert (answer.what, cancel.what) == ("answer", "cancel")


def test_a_stale_answer(run: Run) -> None:
    olga = program(Scope.REVIEWER, account("olga", Role.REVIEWER))

    olga.post(
        f"/requests/{f.pending(run).request_id}/answer",
        {"response": "approve", "seal": "0" * 64},
    )

    (line,) = refusals()
    assert "changed since" in line.reason


def test_self_approval_on_the_command_line(settings: Settings) -> None:
    settings.FABER_SELF_APPROVAL = "refuse"
    run = f.started(f.five_steps())
    Run.objects.filter(pk=run.pk).update(started_by_account=_me())

    assert faber("answer", f.pending(run).request_id, "approve").code == 7

    (line,) = refusals()
    assert (line.channel, line.what) == ("cli", "faber answer")
    assert "You started this run" in line.reason


def _me() -> str:
    from runs.terminal.identity import cli_actor

    return cli_actor().account


@pytest.mark.slow
def test_a_tool_that_is_not_for_an_agent(run: Run) -> None:
    secret = tokens.create("bot", scope=Scope.AGENT, user=account("vera", Role.VIEWER))[1]
    call = {"name": "next_step", "arguments": {"run_id": run.run_id}}

    Caller(secret).send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call})

    (line,) = refusals()
    assert (line.who, line.channel, line.what) == ("vera", "mcp", "mcp next_step")
    assert line.reason == "A viewer's token is read-only."
    assert line.run_id == run.run_id


def test_a_comment_of_somebody_who_may_not_write(run: Run) -> None:
    heard = InboundComment(repository="Acme/App", issue=7, comment_id=1, author="mallory")

    inbound._turn_away(heard)

    (line,) = refusals()
    assert (line.who, line.channel) == ("mallory", "issue_comment")


def test_trying_again_at_once_is_one_attempt(run: Run) -> None:
    agent = program(Scope.AGENT, name="bot")

    for _ in range(3):
        agent.post(f"/runs/{run.run_id}/cancel", {"reason": "x"})

    assert len(refusals()) == 1


def test_what_is_allowed_leaves_no_refusal(run: Run) -> None:
    respond(f.pending(run).request_id, "approve", actor=f.person("olga"))

    assert refusals() == []


# Who came in, and what was changed


def lines(kind: str) -> list[tuple[str, str]]:
    found = AuditEntry.objects.filter(kind=kind).order_by("id")
    return [(line.who, line.what) for line in found]


def test_signing_in_is_on_record(client: Client) -> None:
    users.create("rita", role=Role.REVIEWER, password="a long enough secret")

    client.post("/login/", {"username": "rita", "password": "wrong"})
    client.post("/login/", {"username": "rita", "password": "a long enough secret"})

    assert lines("sign_in") == [("rita", "was refused"), ("rita", "signed in with a password")]


def test_a_sign_in_by_link_is_on_record(client: Client) -> None:
    rita: User = users.create("rita", role=Role.REVIEWER)
    url, _ = users.login_link(rita)

    client.post(url.removeprefix("http://127.0.0.1:8000"))

    assert lines("sign_in") == [("rita", "signed in with a sign-in link")]


def test_who_may_do_what_is_changed_on_record() -> None:
    me = _me()
    faber("user", "create", "rita")
    faber("token", "create", "ci", "--scope", "agent")
    faber("token", "revoke", "ci")
    faber("login-link", "rita")

    changed = [what for who, what in lines("rule")]
    assert changed == [
        "made the account rita, role reviewer",
        "made the token ci: scope agent",
        "revoked the token ci",
        "made a sign-in link for rita",
    ]
    assert AuditEntry.objects.filter(kind="rule")[0].account == me


def test_a_changed_project_is_on_record() -> None:
    f.started(f.five_steps())

    faber("project", "acme/app", "--set", "visibility=members")

    assert lines("rule")[0][1] == "project Acme/App: visibility=members"


def test_a_change_in_the_admin_is_on_record(client: Client) -> None:
    client.force_login(account("ada", Role.ADMIN))
    rita = account("rita", Role.REVIEWER)

    client.post("/admin/auth/group/add/", {"name": "leads"})

    assert lines("rule")[-1][0] == "ada"
    assert "leads" in lines("rule")[-1][1]
    assert rita.pk


def test_a_program_without_a_token_did_not_come_in(run: Run) -> None:
    assert Program().post(f"/runs/{run.run_id}/cancel", {"reason": "x"}).status_code == 401
    assert refusals() == []
