"""What each scope may call, on one run; `tests/matrix` has every call and every caller."""

import re
from collections.abc import Callable
from typing import NamedTuple

import pytest
from django.http import HttpResponse
from django.test import Client

from feedback.models import FeedbackRequest
from runs.accounts.rate_limit import Buckets
from runs.api import auth
from runs.domain.values.actors import Role, Scope
from runs.models import AccessToken, Run
from tests import factories as f
from tests.api_client import Program, account, error_of, program

pytestmark = pytest.mark.django_db

REMOTE = f.workflow({"build": [{"id": "away", "remote": True}, {"id": "then", "remote": True}]})


class Call(NamedTuple):
    """One call, and what it answers to a viewer, an agent, a reviewer and an operator."""

    name: str  # as OpenAPI has it
    do: Callable[[Program, Run, str], HttpResponse]
    codes: tuple[int, int, int, int]


def reading(name: str, path: str, code: int = 200) -> Call:
    def do(caller: Program, run: Run, request_id: str) -> HttpResponse:
        return caller.get(path.format(run=run.run_id, request=request_id))

    return Call(name, do, (code, code, code, code))


def acting(name: str, path: str, body: object, codes: tuple[int, int, int, int]) -> Call:
    def do(caller: Program, run: Run, request_id: str) -> HttpResponse:
        return caller.post(path.format(run=run.run_id, request=request_id), body)

    return Call(name, do, codes)


def wait(caller: Program, run: Run, request_id: str) -> HttpResponse:
    return caller.get(f"/requests/{request_id}/wait", timeout=0)


LEASE = {"lease": "x/1/y"}
QUESTION = {"type": "approval", "prompt": "Go?"}
EVENT = {"type": "test_run", "message": "42 passed"}
CALLS = [
    reading("listRuns", "/runs"),
    reading("getRun", "/runs/{run}"),
    reading("getRunState", "/runs/{run}/state"),
    reading("listRunEvents", "/runs/{run}/events"),
    reading("getRunChanges", "/runs/{run}/changes", 404),  # it is in no repository
    reading("getRunContext", "/runs/{run}/context"),
    reading("verifyRun", "/runs/{run}/verification"),
    reading("listRequests", "/requests"),
    reading("getRequest", "/requests/{request}"),
    Call("waitForAnswer", wait, (202, 202, 202, 202)),
    acting("startRun", "/runs", {"workflow": "core"}, (403, 403, 201, 201)),
    acting("startRun", "/runs", {"workflow": REMOTE}, (403, 403, 403, 201)),
    acting("cancelRun", "/runs/{run}/cancel", {"reason": "no"}, (403, 403, 403, 200)),
    acting("resumeRun", "/runs/{run}/resume", {}, (403, 403, 403, 409)),
    acting("rerunRun", "/runs/{run}/rerun", {}, (403, 403, 403, 409)),
    acting("nextStep", "/runs/{run}/next", {}, (403, 200, 200, 200)),
    acting("finishStep", "/runs/{run}/finish", {**LEASE, "response": {}}, (403, 409, 409, 409)),
    acting("keepStep", "/runs/{run}/heartbeat", LEASE, (403, 409, 409, 409)),
    acting("addRunEvent", "/runs/{run}/events", EVENT, (403, 201, 201, 201)),
    acting("ask", "/requests", QUESTION, (403, 201, 201, 201)),
    acting("askInRun", "/runs/{run}/requests", QUESTION, (403, 409, 409, 409)),
    acting(
        "answerRequest", "/requests/{request}/answer", {"response": "approve"}, (403, 403, 200, 200)
    ),
]


@pytest.fixture
def run() -> Run:
    return f.started(f.five_steps())


@pytest.fixture
def request_id(run: Run) -> str:
    return f.pending(run).request_id


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.name)
@pytest.mark.parametrize("who", ["viewer", "agent", "reviewer", "operator"])
def test_each_scope_may_do_what_it_is_for(who: str, call: Call, run: Run, request_id: str) -> None:
    caller = {
        "viewer": lambda: program(Scope.OPERATOR, account("vera", Role.VIEWER)),
        "agent": lambda: program(Scope.AGENT),
        "reviewer": lambda: program(Scope.REVIEWER, account("rita", Role.REVIEWER)),
        "operator": lambda: program(Scope.OPERATOR, account("olga", Role.OPERATOR)),
    }[who]()

    response = call.do(caller, run, request_id)

    expected = call.codes[["viewer", "agent", "reviewer", "operator"].index(who)]
    assert response.status_code == expected, response.content
    if expected == 403:
        assert error_of(response)["code"] == "not_allowed"
        assert f.fresh(run).status == "awaiting_feedback"
        assert FeedbackRequest.objects.get().status == "pending"


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.name)
@pytest.mark.parametrize("secret", ["", "faber_wrong", "Basic x"])
def test_without_a_good_token_nothing_can_be_called(
    secret: str, call: Call, run: Run, request_id: str
) -> None:
    response = call.do(Program(secret), run, request_id)

    assert response.status_code == 401
    assert response["WWW-Authenticate"] == "Bearer"
    assert error_of(response)["code"] == "unauthorised"
    assert run.run_id.encode() not in response.content


def test_a_session_opens_nothing(run: Run) -> None:
    caller = Program()
    caller._client.force_login(account("olga", Role.ADMIN))

    assert caller.get("/runs").status_code == 401
    assert caller.post(f"/runs/{run.run_id}/cancel", {"reason": "no"}).status_code == 401


def test_whoever_started_a_run_may_cancel_it_with_a_reviewers_token() -> None:
    rita = program(Scope.REVIEWER, account("rita", Role.REVIEWER))
    run_id = rita.post("/runs", {"workflow": "core"}).json()["run_id"]  # type: ignore[attr-defined]

    assert rita.post(f"/runs/{run_id}/cancel", {"reason": "no"}).status_code == 200


def test_who_calls_too_often_is_told_when_to_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auth, "BUCKETS", Buckets(burst=2, per_second=0.1))
    caller, other = program(Scope.AGENT), program(Scope.AGENT, name="other")

    codes = [caller.get("/runs").status_code for _ in range(3)]
    refused = caller.get("/runs")

    assert codes == [200, 200, 429]
    assert 1 <= int(refused["Retry-After"]) <= 11
    assert error_of(refused)["code"] == "too_many_calls"
    assert other.get("/runs").status_code == 200


def test_a_token_is_counted_for_itself_not_for_its_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """A database put back, or a transaction undone, gives a row's number out again."""
    monkeypatch.setattr(auth, "BUCKETS", Buckets(burst=1, per_second=0.001))
    caller, other = program(Scope.AGENT), program(Scope.AGENT, name="other")
    assert [caller.get("/runs").status_code for _ in range(2)] == [200, 429]
    gone, kept = AccessToken.objects.order_by("pk").values_list("pk", flat=True)

    AccessToken.objects.filter(pk=gone).delete()
    AccessToken.objects.filter(pk=kept).update(id=gone)

    assert other.get("/runs").status_code == 200


def test_what_the_api_lists_of_itself_is_public() -> None:
    response = Program().get("/openapi.json")

    assert response.status_code == 200
    assert response.json()["openapi"] == "3.1.0"  # type: ignore[attr-defined]


def test_a_call_that_does_not_exist_is_told_in_the_same_shape() -> None:
    assert error_of(Program().get("/nothing"))["code"] == "not_found"
    assert error_of(Program().get("/"))["code"] == "not_found"
    missing = Program().post("/requests/x")
    assert missing.status_code == 405
    assert missing["Allow"] == "GET"
    assert error_of(missing)["code"] == "method_not_allowed"


def test_the_docs_are_for_staff_and_load_nothing_from_outside() -> None:
    staff, others = Client(), Client()
    staff.force_login(account("olga", Role.OPERATOR))
    others.force_login(account("rita", Role.REVIEWER))

    page = staff.get("/api/v1/docs").content.decode()

    assert others.get("/api/v1/docs").status_code == Client().get("/api/v1/docs").status_code == 302
    words = " ".join(re.sub(r"<[^>]+>", " ", page).split())
    assert "POST /api/v1/runs/{run_id}/finish" in words
    assert "lease body, required" in words
    assert "`" not in words
    loaded = re.findall(r'(?:src|href)="([^"]+)"', page)
    assert all(address.startswith(("/", "#")) for address in loaded)
