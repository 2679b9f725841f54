"""The page of standing rules, and the fields beside an answer."""

from typing import Any

import pytest
from django.test import Client

from feedback.models import FeedbackRequest, RuleSwitch, StandingRule
from feedback.requests import answers
from feedback.requests.answers import Words
from runs.domain.values.actors import Role, Scope
from tests import factories as f
from tests.api_client import Program, account, program
from tests.commands import faber
from tests.tool_calls import Hook

pytestmark = pytest.mark.django_db


@pytest.fixture
def agent() -> Program:
    return program(Scope.AGENT)


@pytest.fixture
def rita(client: Client, settings: Any) -> Client:
    settings.FABER_UNDO_SECONDS = 0
    client.force_login(account("rita", Role.REVIEWER))
    return client


def asked(agent: Program, command: str = "npm test", session: str = "s-1") -> FeedbackRequest:
    told = Hook(agent).asks(command, session=session)
    return FeedbackRequest.objects.get(request_id=told["request_id"])


def decide(request: FeedbackRequest, response: str = "allow", **rule: str) -> None:
    words = Words(rule=rule or None)
    answers.respond(request.request_id, response, actor=f.person(), words=words)


def post(client: Client, request: FeedbackRequest, **fields: str) -> Any:
    return client.post(f"/requests/{request.request_id}/", {"seal": request.seal, **fields})


def test_always_allow_in_the_browser_makes_the_rule_that_was_filled_in(
    agent: Program, rita: Client
) -> None:
    request = asked(agent, "npm test -- --watch")
    shown = rita.get(f"/requests/{request.request_id}/").content.decode()
    assert '<option value="npm test *"></option>' in shown

    fields = {"rule_pattern": "npm test *", "rule_mode": "shadow", "rule_expires": "7d"}
    post(rita, request, response="always_allow", **fields)

    rule = StandingRule.objects.get()
    assert (rule.pattern, rule.mode, rule.made_by) == ("npm test *", "shadow", "rita")
    assert rule.expires_at is not None


def test_a_wrong_pattern_is_told_beside_its_field(agent: Program, rita: Client) -> None:
    request = asked(agent)

    answer = post(rita, request, response="always_allow", rule_pattern="git *")

    assert answer.status_code == 422
    assert "This does not cover this call." in answer.content.decode()
    assert not StandingRule.objects.exists()


def test_always_ask_goes_with_an_answer(agent: Program, rita: Client) -> None:
    post(rita, asked(agent), response="deny", rule_pattern="npm test", rule_ask="on")

    assert StandingRule.objects.get().effect == "ask"


def test_a_rule_is_revoked_with_one_click(agent: Program, rita: Client) -> None:
    decide(asked(agent), "always_allow")
    rule = StandingRule.objects.get()
    assert "npm test" in rita.get("/rules/").content.decode()

    assert rita.post(f"/rules/{rule.pk}/", {"do": "remove"}).status_code == 303

    assert "No rules yet." in rita.get("/rules/").content.decode()
    assert Hook(agent).asks(session="x")["verdict"] is None


def test_a_rule_in_shadow_shows_how_it_agrees_with_people(agent: Program, rita: Client) -> None:
    decide(asked(agent), "always_allow", mode="shadow")
    decide(asked(agent, session="2"), "allow")
    decide(asked(agent, session="3"), "deny")

    page = " ".join(rita.get("/rules/").content.decode().split())

    assert "Agreed with people in 1 of 2 decisions (50 %)." in page
    [row] = faber("rule", "list", "--json").document["items"]
    assert row["agreement"] == {"same": 1, "other": 1}


def test_five_times_the_same_answer_is_proposed_and_becomes_a_rule(
    agent: Program, rita: Client
) -> None:
    for number in range(5):
        assert "Proposed" not in rita.get("/rules/").content.decode()
        decide(asked(agent, session=str(number)))
    request = FeedbackRequest.objects.first()
    assert request is not None
    proposal = {"project": request.run.project.name, "tool": "Bash", "pattern": "npm test"}
    assert "allowed 5 times" in rita.get("/rules/").content.decode()

    assert rita.post("/rules/make/", {**proposal, "pattern": "rm *"}).status_code == 404
    assert rita.post("/rules/make/", {**proposal, "mode": "on"}).status_code == 303

    assert Hook(agent).asks(session="x")["verdict"]["behavior"] == "allow"
    assert "Proposed" not in rita.get("/rules/").content.decode()


def test_one_switch_stops_all_and_is_for_operators(agent: Program, rita: Client) -> None:
    decide(asked(agent), "always_allow")
    assert rita.post("/rules/switch/", {"do": "off"}).status_code == 403
    rita.force_login(account("otto", Role.OPERATOR))

    rita.post("/rules/switch/", {"do": "off"})

    assert not RuleSwitch.objects.get().is_on
    assert Hook(agent).asks(session="x")["verdict"] is None
    rita.post("/rules/switch/", {"do": "on"})
    assert Hook(agent).asks(session="y")["verdict"]["behavior"] == "allow"


def test_a_viewer_sees_rules_and_changes_none(agent: Program, client: Client) -> None:
    decide(asked(agent), "always_allow")
    client.force_login(account("vera", Role.VIEWER))

    assert "Revoke" not in client.get("/rules/").content.decode()
    assert client.post(f"/rules/{StandingRule.objects.get().pk}/", {"do": "off"}).status_code == 403


def test_the_command_line_lists_disables_removes_and_stops(agent: Program) -> None:
    decide(asked(agent), "always_allow")
    name = StandingRule.objects.get().name

    assert name in faber("rule", "list").out
    assert faber("rule", "disable", name, "--json").document["mode"] == "off"
    assert faber("rule", "stop").code == 0
    assert "All rules are stopped" in faber("rule", "list").out
    assert faber("rule", "start").code == 0
    assert faber("rule", "remove", name).code == 0
    assert faber("rule", "remove", name).code == 6
