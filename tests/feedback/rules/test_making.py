"""Always allow makes a rule, which decides from then on, on record and revocable."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from feedback.models import FeedbackRequest, FeedbackResponse, RuleTrial, StandingRule
from feedback.requests import answers
from feedback.requests.answers import Words
from feedback.rules import making
from runs.domain.values.actors import Scope, Source
from runs.domain.values.errors import InvalidAnswer, NotAllowed
from runs.domain.values.standing.rules import Mode
from runs.models import AuditEntry, Project
from tests import factories as f
from tests.api_client import Program, error_of, program
from tests.tool_calls import Hook

pytestmark = pytest.mark.django_db


@pytest.fixture
def agent() -> Program:
    return program(Scope.AGENT)


def always(agent: Program, command: str = "npm test", **rule: Any) -> StandingRule:
    told = Hook(agent).asks(command)
    words = Words(rule=rule or None)
    answers.respond(told["request_id"], "always_allow", actor=f.person(), words=words)
    return StandingRule.objects.latest("pk")


def verdict(agent: Program, command: str = "npm test") -> Any:
    return Hook(agent).asks(command, session="another")["verdict"]


def changes() -> list[str]:
    lines = AuditEntry.objects.filter(kind="rule").order_by("pk")
    return [line.what for line in lines if "rule" in line.what]


def test_always_allow_allows_this_call_and_the_next(agent: Program) -> None:
    rule = always(agent)

    assert verdict(agent) == {
        "behavior": "allow",
        "message": "",
        "answers": {},
        "rule": f"{rule.name}@1",
    }
    assert verdict(agent, "npm test -- --watch") is None


def test_a_decision_by_a_rule_says_so_on_record(agent: Program) -> None:
    rule = always(agent, pattern="npm *")
    verdict(agent, "npm install")

    given = FeedbackResponse.objects.latest("pk")
    assert given.source == "policy"
    assert given.provided_by["rule"] == {"name": rule.name, "version": 1}
    line = AuditEntry.objects.filter(kind="decision").latest("pk")
    assert (line.channel, line.reason) == ("policy", f"{rule.name}@1")
    assert changes() == [
        f"made {rule.name}@1: always allow Bash `npm *` with the answer to "
        f"{FeedbackRequest.objects.earliest('pk').request_id}"
    ]


def test_a_command_with_a_shell_operator_is_asked_about(agent: Program) -> None:
    always(agent, pattern="npm *")

    assert verdict(agent, "npm test; rm -rf /") is None
    assert verdict(agent, "npm test\nrm -rf /") is None


def test_a_rule_is_its_projects_alone(agent: Program) -> None:
    always(agent)
    Project.objects.create(name="acme/shop")

    assert Hook(agent).asks(project="acme/shop", session="x")["verdict"] is None


def test_a_rule_ends_when_it_expires(agent: Program) -> None:
    rule = always(agent, expires="7d")
    assert rule.expires_at is not None
    assert verdict(agent)["behavior"] == "allow"

    StandingRule.objects.update(expires_at=datetime.now(UTC) - timedelta(seconds=1))

    assert verdict(agent) is None


def test_a_rule_in_shadow_only_notes_what_it_would_have_done(agent: Program) -> None:
    rule = always(agent, mode="shadow")

    assert verdict(agent) is None

    assert RuleTrial.objects.get().rule == rule


def test_always_ask_goes_before_always_allow(agent: Program) -> None:
    always(agent, pattern="npm *")
    told = Hook(agent).asks("npm publish; true")
    words = Words(rule={"pattern": "npm publish; true", "effect": "ask"})
    answers.respond(told["request_id"], "allow", actor=f.person(), words=words)
    asking = StandingRule.objects.latest("pk")
    StandingRule.objects.filter(pk=asking.pk).update(pattern="npm publish *")

    assert verdict(agent, "npm publish x") is None
    assert verdict(agent, "npm test")["behavior"] == "allow"


@pytest.mark.parametrize("stop", ["disable", "remove", "switch"])
def test_a_stopped_rule_decides_nothing(agent: Program, stop: str) -> None:
    rule, boss = always(agent), f.person(groups=frozenset({"operator"}))

    match stop:
        case "disable":
            making.set_mode(rule, Mode.OFF, boss)
        case "remove":
            making.remove(rule, boss)
        case "switch":
            making.switch(boss, is_on=False)

    assert verdict(agent) is None
    assert len(changes()) == 2


def test_a_change_is_a_new_version(agent: Program) -> None:
    rule = always(agent, mode="shadow")

    making.set_mode(rule, Mode.ON, f.person())

    assert verdict(agent)["rule"] == f"{rule.name}@2"


@pytest.mark.parametrize(
    ("response", "rule", "place"),
    [
        ("always_allow", {"pattern": "git *"}, "rule.pattern"),
        ("always_allow", {"pattern": "*"}, "rule.pattern"),
        ("always_allow", {"mode": "off"}, "rule.mode"),
        ("always_allow", {"expires": "yesterday"}, "rule.expires"),
        ("always_allow", {"expires": "2020-01-01"}, "rule.expires"),
        ("always_allow", {"effect": "ask"}, "rule.effect"),
        ("always_allow", {"colour": "red"}, "rule.colour"),
        ("allow", {"effect": "allow"}, "rule.effect"),
    ],
)
def test_a_wrong_rule_is_refused_and_decides_nothing(
    agent: Program, response: str, rule: dict[str, str], place: str
) -> None:
    told = Hook(agent).asks()

    with pytest.raises(InvalidAnswer) as refused:
        answers.respond(told["request_id"], response, actor=f.person(), words=Words(rule=rule))

    problems: Any = refused.value.details["problems"]
    assert [each["place"] for each in problems] == [place]
    assert FeedbackRequest.objects.get().status == "pending"
    assert not StandingRule.objects.exists()


def test_an_answer_that_is_taken_back_leaves_no_rule(agent: Program, settings: Any) -> None:
    settings.FABER_UNDO_SECONDS = 60
    rita = f.person(source=Source.WEB)
    told = Hook(agent).asks()
    answers.respond(told["request_id"], "always_allow", actor=rita)

    answers.retract(told["request_id"], rita)

    assert not StandingRule.objects.exists()


def test_a_secret_in_a_command_is_covered_by_no_rule(agent: Program) -> None:
    always(agent, "deploy --to staging", pattern="deploy *")

    assert verdict(agent, f"deploy --token ghp_{'a1B2' * 9}") is None


def test_only_who_may_answer_makes_and_changes_rules(agent: Program) -> None:
    rule = always(agent)
    told = Hook(agent).asks("ls")
    body = {"response": "always_allow"}

    refused = agent.post(f"/requests/{told['request_id']}/answer", body)

    assert error_of(refused)["code"] == "not_allowed"
    for who in (f.person(groups=frozenset()), f.person(is_agent=True)):
        with pytest.raises(NotAllowed):
            making.set_mode(rule, Mode.OFF, who)
        with pytest.raises(NotAllowed):
            making.remove(rule, who)
    with pytest.raises(NotAllowed):
        making.switch(f.person(), is_on=False)


def test_the_api_takes_the_rule_beside_the_answer(agent: Program) -> None:
    told = Hook(agent).asks()
    reviewer = program(Scope.REVIEWER)
    body = {"response": "always_allow", "rule": {"pattern": "npm *", "mode": "on"}}

    answer = reviewer.post(f"/requests/{told['request_id']}/answer", body)

    assert answer.status_code == 200
    assert verdict(agent, "npm install")["behavior"] == "allow"
