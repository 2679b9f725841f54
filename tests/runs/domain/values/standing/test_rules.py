"""Which rule decides, and which are proposed."""

from typing import Any

from runs.domain.values.standing.calls import Subject, SubjectKind
from runs.domain.values.standing.rules import (
    ENOUGH,
    AnsweredCall,
    Effect,
    Mode,
    Rule,
    proposals,
    rule_on,
)


def subject(text: str) -> Subject:
    return Subject(kind=SubjectKind.COMMAND, text=text)


def rule(name: str = "r", pattern: str = "npm *", **fields: Any) -> Rule:
    usual = {"version": 1, "effect": Effect.ALLOW, "mode": Mode.ON, "tool": "Bash"}
    return Rule(name=name, pattern=pattern, **{**usual, **fields})


def answers(*commands: str, is_allowed: bool = True) -> list[AnsweredCall]:
    return [
        AnsweredCall(project="p", tool="Bash", subject=subject(each), is_allowed=is_allowed)
        for each in commands
    ]


def test_the_oldest_rule_that_covers_a_call_allows_it() -> None:
    rules = [rule("a", "git *"), rule("b"), rule("c", "npm test")]

    ruling = rule_on(rules, "Bash", subject("npm test"))

    assert ruling.allowed_by == rules[1]


def test_always_ask_goes_before_every_allow() -> None:
    rules = [rule("a"), rule("b", "npm publish *", effect=Effect.ASK)]

    assert rule_on(rules, "Bash", subject("npm publish x")).allowed_by is None
    assert rule_on(rules, "Bash", subject("npm test")).allowed_by == rules[0]


def test_a_rule_in_shadow_decides_nothing() -> None:
    quiet = rule(mode=Mode.SHADOW)

    ruling = rule_on([quiet, rule(mode=Mode.OFF)], "Bash", subject("npm test"))

    assert (ruling.allowed_by, ruling.in_shadow) == (None, (quiet,))


def test_a_rule_is_about_its_tool_alone() -> None:
    assert rule_on([rule()], "Other", subject("npm test")).allowed_by is None


def test_five_times_the_same_answer_is_a_proposal() -> None:
    assert proposals(answers(*["npm test"] * (ENOUGH - 1)), []) == []

    [found] = proposals(answers(*["npm test"] * ENOUGH), [])

    assert (found.project, found.tool, found.pattern, found.times) == ("p", "Bash", "npm test", 5)


def test_different_calls_with_the_same_beginning_are_proposed_as_that() -> None:
    [found] = proposals(answers(*(f"npm test {n}" for n in range(ENOUGH))), [])

    assert found.pattern == "npm test *"


def test_what_somebody_denied_or_has_a_rule_is_not_proposed() -> None:
    often = answers(*["npm test"] * ENOUGH)

    assert proposals([*often, *answers("npm test", is_allowed=False)], []) == []
    assert proposals(often, [("p", rule(pattern="npm *"))]) == []
