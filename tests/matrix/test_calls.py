"""Every call of the API against every kind of token."""

from dataclasses import dataclass
from functools import cache

import pytest
from django.http import HttpResponse

from faber_site.api import api
from tests import factories as f
from tests.api_client import Program
from tests.matrix.conftest import Place, Site, taken_back
from tests.matrix.people import PROGRAMS, Level, program, standing_of_program

pytestmark = pytest.mark.django_db

_READ, _ACT, _ANSWER, _OPERATE = Level.READ, Level.ACT, Level.ANSWER, Level.OPERATE


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """Who gets through, and what is sent."""

    needs: Level
    of: str = "project"
    body: f.Json | None = None
    on: str = "asking"  # which of the runs it is about


# By the operation's id; a new one without a row fails.
CALLS = {
    "listRequests": Call(needs=_READ, of="site"),
    "ask": Call(needs=_ACT, body={"type": "confirmation", "prompt": "?", "project": "PROJECT"}),
    "askInRun": Call(needs=_ACT, body={"type": "confirmation", "prompt": "?"}, on="remote"),
    "askToolUse": Call(
        needs=_ACT,
        body={
            "tool": "Bash",
            "input": {"command": "ls"},
            "session": "s",
            "event": "x",
            "waiter": "12345678",
            "project": "PROJECT",
        },
    ),
    "leaveToolCall": Call(needs=_ACT, of="own", body={"waiter": "12345678"}),
    "answerRequest": Call(needs=_ANSWER, body={"response": "approve"}),
    "withdrawRequest": Call(needs=_ACT, body={}),
    "delegateRequest": Call(needs=_ANSWER, body={"to": "admin"}),
    "overrideRequest": Call(needs=_OPERATE, body={"response": "approve", "reason": "x"}),
    "askAgent": Call(needs=_ANSWER, body={"question": "Why?"}),
    "replyToQuestion": Call(needs=_ACT, of="own", body={"answer": "So."}),
    "waitForAnswer": Call(needs=_READ),
    "getRequest": Call(needs=_READ),
    "startBatch": Call(
        needs=_ANSWER, body={"workflow": "core", "work_ids": ["1"], "project": "PROJECT"}
    ),
    "aggregateRuns": Call(needs=_READ),
    "promptRuns": Call(needs=_READ),
    "answerRuns": Call(needs=_ANSWER, body={"runs": ["RUN"], "text": "#1: approve"}),
    "getBatch": Call(needs=_READ),
    "getBatchPrompt": Call(needs=_READ),
    "answerBatch": Call(needs=_ANSWER, body={"text": "#1: approve"}),
    "listWebhooks": Call(needs=_OPERATE, of="somewhere"),
    "addWebhook": Call(needs=_OPERATE, body={"url": "https://192.0.2.1/", "project": "PROJECT"}),
    "removeWebhook": Call(needs=_OPERATE),
    "rotateWebhook": Call(needs=_OPERATE),
    "listWebhookDeliveries": Call(needs=_OPERATE),
    "redeliverWebhook": Call(needs=_OPERATE),
    "nextStep": Call(needs=_ACT, body={}, on="remote"),
    "finishStep": Call(needs=_ACT, body={"lease": "x/1/y", "response": {}}, on="remote"),
    "keepStep": Call(needs=_ACT, body={"lease": "x/1/y"}, on="remote"),
    "startRun": Call(needs=_ANSWER, body={"workflow": "core", "project": "PROJECT"}),
    "listRuns": Call(needs=_READ, of="site"),
    "getRunState": Call(needs=_READ),
    "listRunEvents": Call(needs=_READ),
    "addRunEvent": Call(needs=_ACT, body={"type": "test_run", "message": "x"}),
    "getRunContext": Call(needs=_READ),
    "verifyRun": Call(needs=_READ),
    "getRunChanges": Call(needs=_READ),
    "cancelRun": Call(needs=_OPERATE, body={"reason": "x"}),
    "resumeRun": Call(needs=_OPERATE, body={}),
    "rerunRun": Call(needs=_OPERATE, body={}),
    "getRun": Call(needs=_READ),
}


@cache
def known() -> dict[str, tuple[str, str]]:
    """Each operation with its method and path, as OpenAPI tells them."""
    paths = api.get_openapi_schema()["paths"]
    return {
        about["operationId"]: (method, address.removeprefix("/api/v1"))
        for address, methods in paths.items()
        for method, about in methods.items()
    }


def test_every_call_has_a_rule() -> None:
    assert set(known()) == set(CALLS)


def sent(caller: Program, name: str, place: Place) -> HttpResponse:
    method, path = known()[name]
    call = CALLS[name]
    run = place.remote if call.on == "remote" else place.asking
    address = (
        path.replace("{run_id}", run.run_id)
        .replace("{request_id}", place.request.request_id)
        .replace("{call}", "1")
        .replace("{number}", "1")
        .replace("{batch_id}", place.batch.batch_id)
        .replace("{webhook_id}", place.webhook.endpoint_id)
        .replace("{delivery_id}", place.delivery.delivery_id)
    )
    if method == "get":
        named = f"?runs={run.run_id}"
        queries = {"waitForAnswer": "?timeout=0", "aggregateRuns": named, "promptRuns": named}
        return caller.get(f"{address}{queries.get(name, '')}")
    if method == "delete":
        return caller.delete(address)
    meant = {"PROJECT": place.project.name, "['RUN']": [run.run_id]}
    body = {key: meant.get(str(value), value) for key, value in (call.body or {}).items()}
    return caller.post(address, body)


def expected(name: str, who: str, where: str) -> str:
    call, standing = CALLS[name], standing_of_program(who)
    if not standing.site:
        return "out"
    if call.of == "own":
        return "missing"  # nobody here has asked
    if call.of == "site":
        return "through"
    if call.of == "somewhere":
        best = max(standing.open, standing.closed)
        return "through" if best >= call.needs else "forbidden"
    here = standing.open if where == "open" else standing.closed
    if not here:
        return "missing"
    return "through" if here >= call.needs else "forbidden"


def met(answer: HttpResponse) -> str:
    assert answer.status_code < 500, answer.content
    if b'"no_changes"' in answer.content:  # it looked at the run, which is in no repository
        return "through"
    outcomes = {401: "out", 403: "forbidden", 404: "missing"}
    return outcomes.get(answer.status_code, "through")


@pytest.mark.parametrize("where", ["open", "closed"])
def test_every_token_gets_as_far_as_the_rules_say(site: Site, where: str) -> None:
    place = site.place(where)
    callers = {who: program(who, site.closed.project) for who in PROGRAMS}
    wrong = []
    for name in CALLS:
        for who in PROGRAMS:
            with taken_back():
                answer = sent(callers[who], name, place)
            if (got := met(answer)) != (wanted := expected(name, who, where)):
                wrong.append(f"{who} {name}: {got} ({answer.status_code}), not {wanted}")

    assert wrong == [], "\n".join(wrong)


@pytest.mark.parametrize("who", PROGRAMS)
def test_no_list_tells_of_what_is_not_there(site: Site, who: str) -> None:
    standing = standing_of_program(who)
    caller = program(who, site.closed.project)

    for address in ("/runs", "/requests", "/runs?q=acme"):
        told = caller.get(address).content.decode()
        assert ("acme/open" in told) is bool(standing.open), address
        assert ("acme/closed" in told) is bool(standing.closed), address
