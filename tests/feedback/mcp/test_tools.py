"""What agents reach through MCP: always as an agent, always in the API's words."""

import signal
import subprocess
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.utils import timezone
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from feedback.api import long_poll
from feedback.models import FeedbackRequest, FeedbackResponse
from feedback.requests.handover.delegation import delegate
from feedback.requests.inquiries import asking as inquiries
from runs.accounts import tokens, users
from runs.accounts.rate_limit import Buckets
from runs.api import auth
from runs.domain.values.actors import Role, Scope
from runs.models import Run, StepAttempt
from tests import factories as f
from tests.api_client import Program, account, body_of, program
from tests.commands import FABER, environment
from tests.mcp_clients import Agent, Caller, connected, over_http, over_stdio, this_database

pytestmark = pytest.mark.slow

TOOLS = {
    *("ask_human", "wait_for_answer", "next_step", "finish_step", "run_status", "list_pending"),
    *("approve_tool_use", "reply_to_question", "withdraw_question"),
}
DONE = {"status": "success", "message": "done"}
INITIALISE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


def secret_of(scope: Scope, name: str = "laptop") -> str:
    return tokens.create(name, scope=scope)[1]


@pytest.fixture
def caller(db: None) -> Caller:
    return Caller(secret_of(Scope.AGENT))


@pytest.fixture
def run(db: None) -> Run:
    outside: list[f.Json] = [{"id": name, "remote": True} for name in ("one", "two")]
    return f.start(f.workflow({"build": outside}), work_id="124")


def answered(request_id: str, response: str, comment: str = "") -> FeedbackResponse:
    return f.answer(FeedbackRequest.objects.get(request_id=request_id).run, response, comment)


def test_a_reviewers_question_comes_with_the_wait_and_is_replied_to(caller: Caller) -> None:
    asked = caller.call("ask_human", type="approval", prompt="Deploy?")
    name = str(asked["request_id"])
    inquiries.ask(name, "Which version?", actor=f.person())

    heard = caller.call("wait_for_answer", request_id=name, timeout=30)
    assert (heard["settled"], heard["thread"][0]["question"]) == (False, "Which version?")
    told = caller.call("reply_to_question", request_id=name, number=1, answer="1.2.3")

    assert (told["thread"][0]["answer"], told["status"]) == ("1.2.3", "pending")


def test_an_agent_withdraws_its_own_question_and_no_other(caller: Caller) -> None:
    asked = caller.call("ask_human", type="approval", prompt="Deploy?")
    other = f.pending(f.started(f.five_steps(), work_id="9"))

    assert caller.call("withdraw_question", request_id=asked["request_id"])["status"] == "cancelled"
    refused = caller.refused("withdraw_question", request_id=other.request_id)
    assert "The workflow asks this" in refused
    assert f.pending(other.run).request_id == other.request_id


# The official client, over every way to the site


@pytest.fixture(params=["http", "http-handshake", "stdio-here", "stdio-there"])
def agent(
    request: pytest.FixtureRequest, transactional_db: None, live_server: LiveServer, tmp_path: Path
) -> Iterator[Agent]:
    secret = secret_of(Scope.AGENT)
    there = {"FABER_URL": live_server.url, "FABER_TOKEN": secret}
    ways: dict[str, Callable[[], object]] = {
        "http": lambda: over_http(live_server.url, secret),
        "http-handshake": lambda: over_http(live_server.url, secret, mode="legacy"),
        "stdio-here": lambda: over_stdio(tmp_path, FABER_DATABASE_URL=this_database()),
        "stdio-there": lambda: over_stdio(tmp_path, mode="legacy", **there),
    }
    with connected(ways[request.param]()) as client:  # type: ignore[arg-type]
        yield client


@pytest.mark.database
def test_the_official_client_asks_and_gets_the_answer(agent: Agent) -> None:
    told = agent.tools()
    asked = agent.call("ask_human", type="confirmation", prompt="Drop the table?")
    pending = agent.call("list_pending")
    early = agent.call("wait_for_answer", request_id=asked["request_id"], timeout=0)
    waits = agent.start("wait_for_answer", request_id=asked["request_id"], timeout=50)
    answered(asked["request_id"], "confirm", "Go on.")
    settled = waits.result(timeout=55).structured_content

    assert set(told) == TOOLS
    assert [request["request_id"] for request in pending["items"]] == [asked["request_id"]]
    assert (early["status"], early["settled"], early["response"]) == ("pending", False, None)
    assert settled is not None
    assert (settled["status"], settled["settled"]) == ("answered", True)
    assert (settled["response"]["response"], settled["response"]["comment"]) == (
        *("confirm", "Go on."),
    )
    assert settled["response"]["provided_by"]["source"] == "web"


def test_an_agent_walks_a_run_to_its_end(agent: Agent, run: Run) -> None:
    first = agent.call("next_step", run_id=run.run_id)
    second = agent.call("finish_step", run_id=run.run_id, lease=first["lease"], response=DONE)
    last = agent.call("finish_step", run_id=run.run_id, lease=second["lease"], response=DONE)
    late = agent.refused("finish_step", run_id=run.run_id, lease=second["lease"], response=DONE)

    assert [first["action"], first["step"], first["briefing"]["step"]] == ["execute", "one", "one"]
    assert [second["action"], second["step"]] == ["execute", "two"]
    assert last == {"action": "done", "status": "completed"}
    assert agent.call("run_status", run_id=run.run_id)["status"] == "completed"
    assert late == "The step is not yours any more; nothing was changed."


def test_what_is_refused_is_told_in_the_apis_sentences(agent: Agent) -> None:
    def asks(**more: object) -> str:
        return agent.refused("ask_human", **{"type": "approval", "prompt": "Go?", **more})

    assert agent.refused("run_status", run_id="nowhere") == "There is no run 'nowhere'."
    assert agent.refused("wait_for_answer", request_id="fr-1") == "There is no request 'fr-1'."
    assert asks(type="selection") == "options: a selection needs options"
    assert asks(type="maybe").startswith("type: Input should be 'approval', 'confirmation'")
    assert asks(run_id="a/b/c") == "There is no run 'a/b/c'."
    assert "path" in asks(artifact={"path": "../x", "content": ""})
    assert "always means abort" in asks(options=[{"value": "Reject", "action": "continue"}])


def test_who_asked_is_on_record_with_the_channel(agent: Agent) -> None:
    asked = agent.call("ask_human", type="approval", prompt="Go?")

    start = Run.objects.get(run_id=asked["run_id"]).events.get(number=1).document
    assert start["source"] == "mcp"
    assert start["user"] == "laptop" or start["user"].endswith("-agent")


def test_an_hour_of_bounded_waits_loses_no_answer(
    transactional_db: None, live_server: LiveServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    monkeypatch.setattr(long_poll, "time", SimpleNamespace(monotonic=lambda: now[0], sleep=sleep))
    monkeypatch.setattr(long_poll, "POLL_SECONDS", 5.0)
    with connected(over_http(live_server.url, secret_of(Scope.AGENT))) as agent:
        asked = agent.call("ask_human", type="approval", prompt="Ship it?")["request_id"]
        waits = 0
        while not (got := agent.call("wait_for_answer", request_id=asked, timeout=3600))["settled"]:
            waits += 1
            if now[0] >= 3600:
                answered(asked, "approve")

    assert waits == 66  # of 55 seconds each, whatever was asked for
    assert got["response"]["response"] == "approve"


# Who may do what


@pytest.mark.parametrize("scope", list(Scope))
def test_nobody_answers_through_mcp_whatever_the_token(db: None, scope: Scope) -> None:
    rita = account("rita", Role.ADMIN)
    caller = Caller(tokens.create("laptop", scope=scope, user=rita)[1])
    asked = caller.call("ask_human", type="approval", prompt="Go?")

    run = Run.objects.get(run_id=asked["run_id"])
    assert (run.started_by, run.started_by_token) == ("rita", "laptop")
    listed = caller.send({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    assert {tool["name"] for tool in listed.json()["result"]["tools"]} == TOOLS  # type: ignore[attr-defined]
    assert caller.refused("answer", request_id=asked["request_id"], response="approve") == (
        "Unknown tool: answer"
    )
    assert FeedbackRequest.objects.get().status == "pending"


def test_the_thin_client_is_an_agent_even_with_a_reviewers_token(db: None, run: Run) -> None:
    reviewer = program(Scope.REVIEWER)
    asked = body_of(reviewer.post("/requests", {"type": "approval", "prompt": "Go?"}))
    answer = f"/requests/{asked['request_id']}/answer"

    through_mcp = reviewer.post(answer, {"response": "approve"}, {"Faber-Source": "mcp"})
    by_itself = reviewer.post(answer, {"response": "approve"})

    assert (through_mcp.status_code, by_itself.status_code) == (403, 200)


def test_the_token_of_a_viewer_only_reads(db: None, run: Run) -> None:
    caller = Caller(tokens.create("v", scope=Scope.REVIEWER, user=account("vera", Role.VIEWER))[1])

    assert caller.refused("ask_human", type="approval", prompt="Go?") == (
        "A viewer's token is read-only."
    )
    assert caller.refused("next_step", run_id=run.run_id) == "A viewer's token is read-only."
    assert caller.call("run_status", run_id=run.run_id)["run_id"] == run.run_id


def test_the_results_are_the_apis_json(caller: Caller, run: Run) -> None:
    api = Program(secret_of(Scope.AGENT, "api"))
    asked = caller.call("ask_human", type="review", prompt="Fine?", options=["approve", "reject"])

    assert asked == body_of(api.get(f"/requests/{asked['request_id']}"))
    assert caller.call("list_pending") == body_of(api.get("/requests", status="pending"))
    assert caller.call("run_status", run_id=run.run_id) == body_of(api.get(f"/runs/{run.run_id}"))
    caller.call("next_step", run_id=run.run_id)
    assert caller.call("next_step", run_id=run.run_id) == {"action": "wait", "request_id": None}


# Asking, and steps


def test_a_request_that_was_handed_over_is_told_alike_everywhere(
    run: Run, caller: Caller, db: None
) -> None:
    rita, bob = (account(name, Role.REVIEWER) for name in ("rita", "bob"))
    reviewed = f.pending(f.started(f.workflow({"build": [f.step("one", requires_approval=True)]})))
    delegate(reviewed.request_id, "bob", actor=users.actor_of(rita), comment="On leave.")
    api, name = program(Scope.REVIEWER, user=bob), reviewed.request_id

    told = [
        body_of(api.get(f"/requests/{name}")),
        *body_of(api.get("/requests", status="pending"))["items"],
        body_of(api.get(f"/requests/{name}/wait", timeout=0)),
        *caller.call("list_pending")["items"],
        caller.call("wait_for_answer", request_id=name, timeout=0),
        body_of(api.post(f"/requests/{name}/answer", {"response": "approve"})),
    ]

    handed = [each["delegated"] for each in told]
    assert handed == [handed[0]] * 6
    assert handed[0][0].items() >= {"from": "rita", "to": "bob", "comment": "On leave."}.items()


def test_a_question_inside_a_step_parks_the_run_until_the_answer(caller: Caller, run: Run) -> None:
    lease = caller.call("next_step", run_id=run.run_id)["lease"]
    question = {"type": "clarification", "prompt": "Which tables?", "run_id": run.run_id}

    without = caller.refused("ask_human", **question)
    asked = caller.call(
        "ask_human", **question, lease=lease, artifact={"path": "plan.md", "content": "# Plan\n"}
    )
    waits = caller.call("next_step", run_id=run.run_id)
    answered(asked["request_id"], "All of them")
    again = caller.call("next_step", run_id=run.run_id)

    assert without.startswith("A step of this run is in progress")
    assert [shown["path"] for shown in asked["artifacts"]] == ["plan.md"]
    assert waits == {"action": "wait", "request_id": asked["request_id"]}
    assert again["step"] == "one"
    assert again["briefing"]["feedback"]["response"] == "All of them"


@pytest.mark.database
def test_a_late_finish_is_an_error_and_changes_nothing(caller: Caller, run: Run) -> None:
    lease = caller.call("next_step", run_id=run.run_id)["lease"]
    StepAttempt.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    other = Caller(secret_of(Scope.AGENT, "other")).call("next_step", run_id=run.run_id)

    told = caller.refused("finish_step", run_id=run.run_id, lease=lease, response=DONE)

    assert told == "The step is not yours any more; nothing was changed."
    assert (other["action"], other["step"]) == ("execute", "one")
    assert caller.call("run_status", run_id=run.run_id)["progress"]["done"] == 0


def test_an_answer_that_can_be_taken_back_is_not_settled(
    caller: Caller, settings: Settings
) -> None:
    settings.FABER_UNDO_SECONDS = 5
    asked = caller.call("ask_human", type="approval", prompt="Go?")["request_id"]
    answered(asked, "approve")

    held = caller.call("wait_for_answer", request_id=asked, timeout=0)
    FeedbackResponse.objects.update(state="taken")
    taken = caller.call("wait_for_answer", request_id=asked, timeout=0)

    assert [held["settled"], taken["settled"]] == [False, True]


def test_a_wait_that_finds_no_seat_returns_at_once(
    caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = caller.call("ask_human", type="approval", prompt="Go?")["request_id"]
    monkeypatch.setattr(long_poll, "SEATS", SimpleNamespace(acquire=lambda blocking: False))

    assert caller.call("wait_for_answer", request_id=asked, timeout=55)["settled"] is False


def test_a_model_is_told_how_to_wait_and_that_a_refusal_is_final(caller: Caller) -> None:
    listed = caller.send({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).json()  # type: ignore[attr-defined]
    told = {tool["name"]: tool["description"] for tool in listed["result"]["tools"]}

    assert "never repeat it because nobody has answered yet" in " ".join(told["ask_human"].split())
    waiting = " ".join(told["wait_for_answer"].split())
    assert "that is no refusal, call again" in waiting
    assert "that is final, do not retry" in waiting


def test_a_mistake_of_ours_is_told_without_its_details(
    caller: Caller, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(*_given: object) -> None:
        raise RuntimeError("the password is hunter2")

    monkeypatch.setattr("feedback.mcp.local_site.runs.get_run", fails)

    assert caller.refused("run_status", run_id="latest") == (
        "Something went wrong that should not; it is in the site's log."
    )
    assert "hunter2" in caplog.text


# HTTP


def test_without_a_good_token_nothing_is_answered(db: None) -> None:
    token, secret = tokens.create("gone", scope=Scope.OPERATOR)
    tokens.revoke(token.name)

    for caller in (Caller(), Caller("faber_wrong"), Caller(secret)):
        refused = caller.send(INITIALISE)
        assert (refused.status_code, refused["WWW-Authenticate"]) == (401, "Bearer")


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
def test_there_is_no_session_to_read_or_to_end(caller: Caller, method: str) -> None:
    refused = caller.send(None, method=method)

    assert (refused.status_code, refused["Allow"]) == (405, "POST")


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://testserver"}, 200),
        ({"Host": "evil.example"}, 400),
        ({"Accept": "text/html"}, 406),
        ({"MCP-Protocol-Version": "1999-01-01"}, 400),
    ],
)
def test_a_page_of_another_origin_cannot_reach_it(
    caller: Caller, headers: dict[str, str], code: int
) -> None:
    assert caller.send(INITIALISE, headers=headers).status_code == code


def test_a_notification_is_taken_and_a_broken_message_refused(caller: Caller) -> None:
    taken = caller.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
    broken = caller.send(["no", "message"])
    huge = caller.send({"much": "x" * 3_000_000})

    assert (taken.status_code, taken.content) == (202, b"")
    assert broken.status_code == 400
    assert huge.status_code == 413


def test_the_limit_of_a_token_counts_here_too(
    caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auth, "BUCKETS", Buckets(burst=2, per_second=0.1))

    codes = [caller.send(INITIALISE).status_code for _ in range(3)]
    limited = caller.send(INITIALISE)

    assert codes == [200, 200, 429]
    assert int(limited["Retry-After"]) > 5


# The command


def piped(folder: Path, *words: str, **variables: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [FABER, "mcp", *words],
        env={**environment(folder), **variables},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize(
    ("variables", "code", "told"),
    [
        ({"FABER_URL": "http://127.0.0.1:9"}, 7, "Set both FABER_URL and FABER_TOKEN"),
        ({"FABER_TOKEN": "x"}, 7, "Set both FABER_URL and FABER_TOKEN"),
        ({"FABER_URL": "ftp://x", "FABER_TOKEN": "x"}, 2, "FABER_URL: 'ftp://x' is not an address"),
        ({}, 6, "There is no FABER site in "),
    ],
)
def test_the_command_says_what_it_lacks(
    tmp_path: Path, variables: dict[str, str], code: int, told: str
) -> None:
    process = piped(tmp_path, **variables)
    out, err = process.communicate(timeout=60)

    assert (process.returncode, out) == (code, "")
    assert told in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("end", "code"), [(None, 0), (signal.SIGTERM, -15), (signal.SIGINT, -2)], ids=str
)
def test_it_ends_when_its_client_goes_or_says_so(
    tmp_path: Path, end: signal.Signals | None, code: int
) -> None:
    there = {"FABER_URL": "http://127.0.0.1:9", "FABER_TOKEN": "x"}
    process = piped(tmp_path, **there)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write('{"jsonrpc":"2.0","id":7,"method":"ping"}\n')
    process.stdin.flush()
    first = process.stdout.readline()
    if end:
        process.send_signal(end)
    out, err = process.communicate(timeout=60)

    assert '"id":7' in first
    assert (process.returncode, out, err) == (code, "", "")
    assert not (tmp_path / "data" / "faber.sqlite3").exists()
