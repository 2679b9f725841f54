"""Every tool of MCP against every kind of token: whatever the scope, never more than an agent."""

import pytest

from tests import factories as f
from tests.matrix.conftest import Place, Site, taken_back
from tests.matrix.people import PROGRAMS, TOKENS, Level, secret_of, standing_of_program
from tests.mcp_clients import Caller

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

_READ, _ACT = Level.READ, Level.ACT

# What a tool needs in the project it is called for; a new one without a row fails.
TOOLS = {
    "ask_human": _ACT,
    "reply_to_question": None,  # nobody here is asked
    "withdraw_question": None,  # nobody here has asked
    "next_step": _ACT,
    "finish_step": _ACT,
    "run_status": _READ,
    "wait_for_answer": _READ,
    "list_pending": None,  # of all that there is for somebody
    "approve_tool_use": None,  # asks in a run of its own
}


def arguments(tool: str, place: Place) -> f.Json:
    run = place.remote.run_id
    every: dict[str, f.Json] = {
        "ask_human": {"run_id": run, "type": "confirmation", "prompt": "?"},
        "next_step": {"run_id": run},
        "finish_step": {"run_id": run, "lease": "x/1/y", "response": {"status": "success"}},
        "run_status": {"run_id": run},
        "wait_for_answer": {"request_id": place.request.request_id, "timeout": 0},
        "list_pending": {},
    }
    return every[tool]


def test_every_tool_has_a_rule(site: Site) -> None:
    caller = Caller(secret_of("agent", site.closed.project))
    listed = caller.send({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})

    names = {tool["name"] for tool in listed.json()["result"]["tools"]}  # type: ignore[attr-defined]
    assert names == set(TOOLS)


def met(caller: Caller, tool: str, place: Place) -> str:
    message = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": tool, "arguments": arguments(tool, place)},
    }
    answer = caller.send(message)
    if answer.status_code == 401:
        return "out"
    told = answer.content.decode()
    if "not_found" in told:
        return "missing"
    return "forbidden" if "not_allowed" in told else "through"


@pytest.mark.parametrize("where", ["open", "closed"])
def test_every_token_gets_as_far_as_an_agent_may(site: Site, where: str) -> None:
    place = site.place(where)
    callers = {who: Caller(secret_of(who, site.closed.project)) for who in PROGRAMS}
    wrong = []
    for tool, needs in TOOLS.items():
        for who in PROGRAMS if needs else ():
            standing = standing_of_program(who)
            here = standing.open if where == "open" else standing.closed
            wanted = "through" if needs and here >= needs else "forbidden" if here else "missing"
            wanted = wanted if who in TOKENS else "out"
            with taken_back():
                got = met(callers[who], tool, place)
            if got != wanted:
                wrong.append(f"{who} {tool}: {got}, not {wanted}")

    assert wrong == [], "\n".join(wrong)


@pytest.mark.parametrize("who", list(TOKENS))
def test_what_waits_is_told_to_those_it_exists_for(site: Site, who: str) -> None:
    standing = standing_of_program(who)
    with taken_back():
        caller = Caller(secret_of(who, site.closed.project))
        told = str(caller.call("list_pending"))

    assert (site.open.asking.run_id in told) is bool(standing.open)
    assert (site.closed.asking.run_id in told) is bool(standing.closed)
