"""The client in one file, against a real server."""

import ast
import hmac
import json
import sys
import threading
import time
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.utils import timezone
from pytest_django.live_server_helper import LiveServer

import faber_client
from faber_client import (
    Faber,
    Json,
    LeaseLost,
    NotAllowed,
    NotGenuine,
    Unreachable,
    verify_callback,
)
from feedback.channels.callbacks import signing
from runs.accounts import tokens
from runs.domain.values.actors import Scope
from runs.models import Run, StepAttempt
from tests import factories as f

pytestmark = [pytest.mark.django_db(transaction=True)]


@pytest.fixture
def agent(live_server: LiveServer) -> Faber:
    return Faber(live_server.url, tokens.create("laptop", scope=Scope.AGENT)[1])


@pytest.fixture
def reviewer(live_server: LiveServer) -> Faber:
    return Faber(live_server.url, tokens.create("ci", scope=Scope.REVIEWER)[1])


def outside(*steps: str) -> Run:
    return f.start(f.workflow({"build": [{"id": step, "remote": True} for step in steps]}))


def test_it_needs_nothing_but_the_standard_library() -> None:
    tree = ast.parse(Path(faber_client.__file__).read_text())
    names = {
        alias.name.split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    } | {
        (node.module or "").split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
    }

    assert names <= sys.stdlib_module_names


def test_it_executes_a_run_to_its_end(agent: Faber) -> None:
    run, seen = outside("one", "two"), []

    def execute(step: dict[str, Any]) -> dict[str, Any]:
        seen.append(step["briefing"]["step"])
        return {"status": "success", "message": "done"}

    assert agent.work(run.run_id, execute) == "completed"
    assert seen == ["one", "two"]


def test_an_exception_of_the_executor_is_put_to_a_person(agent: Faber, reviewer: Faber) -> None:
    run, tries = outside("one"), []

    def execute(step: dict[str, Any]) -> dict[str, Any]:
        tries.append(step)
        if len(tries) == 1:
            raise RuntimeError("the compiler is gone")
        return {"status": "success", "message": "done"}

    def answer() -> None:
        while not (open_requests := list(reviewer.pending())):
            time.sleep(0.05)
        reviewer.answer(open_requests[0]["request_id"], "retry")

    person = threading.Thread(target=answer)
    person.start()
    ended = agent.work(run.run_id, execute, poll=0.05)
    person.join()

    assert (ended, len(tries)) == ("completed", 2)
    assert "the compiler is gone" in f.fresh(run).attempts.order_by("id")[0].response["message"]  # type: ignore[index]


def test_after_a_lost_lease_it_takes_the_step_again(agent: Faber) -> None:
    run, attempts = outside("one"), []

    def execute(step: dict[str, Any]) -> dict[str, Any]:
        attempts.append(step["briefing"]["attempt"])
        if len(attempts) == 1:
            StepAttempt.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
        return {"status": "success", "message": "done"}

    assert agent.work(run.run_id, execute) == "completed"
    assert attempts == [1, 2]


def test_it_asks_and_waits_for_a_person(agent: Faber, reviewer: Faber) -> None:
    asked = agent.ask(type="selection", prompt="Which?", options=["red", "blue"])

    assert agent.wait(asked["request_id"], 0.1) is None
    reviewer.answer(asked["request_id"], "blue", "calmer")

    settled = agent.wait(asked["request_id"])
    assert settled is not None
    assert settled["response"]["response"] == "blue"


def test_it_lists_page_by_page(agent: Faber) -> None:
    runs = [f.start(f.five_steps()) for _ in range(3)]

    assert [run["run_id"] for run in agent.runs(limit=1)] == [r.run_id for r in reversed(runs)]
    events = [event["type"] for event in agent.events(runs[0].run_id)]
    assert events == f.told(runs[0])


def test_refusals_have_their_names(agent: Faber, live_server: LiveServer) -> None:
    run = outside("one")
    lease = agent.next(run.run_id)["lease"]
    agent.finish(run.run_id, lease, {"status": "success", "message": "x"})

    with pytest.raises(LeaseLost):
        agent.heartbeat(run.run_id, lease)
    with pytest.raises(NotAllowed) as refused:
        agent.cancel(run.run_id, "no")
    assert refused.value.status == 403
    with pytest.raises(NotAllowed):
        Faber(live_server.url, "faber_wrong").run(run.run_id)


def test_a_site_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("faber_client.time.sleep", lambda _seconds: None)

    with pytest.raises(Unreachable):
        Faber("http://127.0.0.1:9", "x").run("latest")


def test_a_shell_asks_with_one_line(
    agent: Faber,
    reviewer: Faber,
    live_server: LiveServer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("FABER_URL", live_server.url)
    monkeypatch.setenv("FABER_TOKEN", agent._token)

    def answer() -> None:
        while not (open_requests := list(reviewer.pending())):
            time.sleep(0.05)
        reviewer.answer(open_requests[0]["request_id"], "approve")

    person = threading.Thread(target=answer)
    person.start()
    code = faber_client._main(["ask", "approval", "Deploy?"])
    person.join()

    assert code == 0
    assert json.loads(capsys.readouterr().out)["response"] == "approve"


# Being called back

BODY = b'{"request_id": "fr-20261116-a1b2c3", "status": "answered"}'


OURS, THEIRS = 1, 2  # tokens


def secret(token: int = OURS) -> str:
    return signing.secret_of("fr-20261116-a1b2c3", token)


def called(token: int = OURS, age: float = 0) -> dict[str, str]:
    """The headers of a call, as the site makes them."""
    at = timezone.now() - timedelta(seconds=age)
    return signing.signed("fr-20261116-a1b2c3", at, BODY, token_pk=token)


def test_a_call_of_the_site_is_genuine() -> None:
    headers = called()

    assert verify_callback(secret(), headers, BODY)["status"] == "answered"
    shouted = {name.upper(): value for name, value in headers.items()}
    assert verify_callback(secret(), shouted, BODY)["status"] == "answered"
    both = {**headers, "webhook-signature": f"v1,AAAA {headers['webhook-signature']}"}
    assert verify_callback(secret(), both, BODY)["status"] == "answered"


@pytest.mark.parametrize(
    "change",
    [
        {"webhook-signature": "v1,AAAA"},
        {"webhook-signature": "v1,ÄÄ"},
        {"webhook-signature": ""},
        {"webhook-id": "fr-20261116-ffffff"},
        {"webhook-timestamp": "0"},
        {"webhook-timestamp": "9" * 400},
        {"webhook-timestamp": "soon"},
        {"webhook-timestamp": ""},
    ],
    ids=str,
)
def test_a_call_that_was_changed_is_not_genuine(change: dict[str, str]) -> None:
    with pytest.raises(NotGenuine):
        verify_callback(secret(), {**called(), **change}, BODY)


def test_a_call_of_somebody_else_or_of_yesterday_is_not_genuine() -> None:
    with pytest.raises(NotGenuine, match="signature"):
        verify_callback(secret(), called(THEIRS), BODY)
    with pytest.raises(NotGenuine, match="signature"):
        verify_callback(secret(), called(), BODY + b" ")
    with pytest.raises(NotGenuine, match="timestamp"):
        verify_callback(secret(), called(age=301), BODY)
    with pytest.raises(NotGenuine, match="timestamp"):
        verify_callback(secret(), called(age=-310), BODY)
    with pytest.raises(NotGenuine):
        verify_callback(secret(), {}, BODY)
    assert verify_callback(secret(), called(age=301), BODY, age=600)
    assert verify_callback(secret(), called(age=-200), BODY), "a clock may be ahead"


def test_a_signature_is_compared_to_its_end_and_tells_nothing_by_the_time_it_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compared: list[bytes] = []

    def compare(mine: bytes, given: bytes) -> bool:
        compared.append(given)
        return hmac.compare_digest(mine, given)

    monkeypatch.setattr(
        faber_client, "hmac", SimpleNamespace(**vars(hmac) | {"compare_digest": compare})
    )
    headers = called()
    signature = headers["webhook-signature"]
    almost = signature[:-2] + ("A=" if signature[-2] != "A" else "E=")

    with pytest.raises(NotGenuine, match="signature"):
        verify_callback(secret(), {**headers, "webhook-signature": almost}, BODY)
    assert compared == [almost.encode()]


def test_a_program_replies_to_a_reviewer_while_it_waits(agent: Faber, reviewer: Faber) -> None:
    asked = agent.ask(type="approval", prompt="Deploy?")
    told = reviewer.ask_agent(asked["request_id"], "Which version?")
    assert [entry["status"] for entry in told["thread"]] == ["pending"]

    def reply(entry: Json) -> str:
        return f"To {entry['question']}: 1.2.3"

    assert agent.wait(asked["request_id"], 0, reply=reply) is None
    (entry,) = agent.request(asked["request_id"])["thread"]
    assert (entry["status"], entry["answer"]) == ("answered", "To Which version?: 1.2.3")


def test_a_program_withdraws_what_it_asked(agent: Faber) -> None:
    asked = agent.ask(type="approval", prompt="Deploy?")

    assert agent.withdraw(asked["request_id"])["status"] == "cancelled"
