"""A call of an agent's tool is put to people once, and the agent hears what they decided."""

import time
from datetime import timedelta

import pytest
from django.test import Client
from pytest_django.fixtures import Settings

from feedback.api import long_poll
from feedback.models import FeedbackRequest, ToolCall
from feedback.requests import answers
from feedback.requests.answers import Words
from feedback.tool_calls import asking
from runs import engine
from runs.domain.values.actors import Role, Scope
from runs.models import Project
from tests import factories as f
from tests.api_client import Program, account, body_of, program
from tests.tool_calls import Hook

pytestmark = pytest.mark.django_db

PLAN = "# Export invoices\n\n1. Write a test.\n2. Write the code.\n"


@pytest.fixture
def agent() -> Program:
    return program(Scope.AGENT)


def decide(request_id: str, response: str, comment: str = "", **words: object) -> None:
    said = Words(comment=comment, **words)  # type: ignore[arg-type]
    answers.respond(request_id, response, actor=f.person(), words=said)


def asked(told: dict[str, object]) -> FeedbackRequest:
    return FeedbackRequest.objects.get(request_id=told["request_id"])


def test_a_permission_is_called_by_its_command(agent: Program) -> None:
    request = asked(Hook(agent).asks("npm test -- --watch", folder="/home/rita/shop"))

    assert request.title == "npm test -- --watch"
    assert request.run.title == "npm test -- --watch"
    assert request.prompt == "Claude Code wants to use Bash in shop."
    assert [option.value for option in request.choices] == ["allow", "always_allow", "deny"]
    assert request.artifacts.get().path == "Bash.txt"


@pytest.mark.parametrize(
    ("named", "kind"), [("claude", "claude"), ("codex", "codex"), ("other", None)]
)
def test_a_request_says_which_agent_asks(agent: Program, named: str, kind: str | None) -> None:
    request = asked(Hook(agent).asks("npm test", agent=named))

    told = body_of(agent.get(f"/requests/{request.request_id}"))
    assert (told["agent"], told["cost_usd"]) == (kind, None)


def test_its_page_says_nothing_of_a_plan_that_only_asks(agent: Program, client: Client) -> None:
    request = asked(Hook(agent).asks("npm test"))
    client.force_login(account("rita", Role.REVIEWER))

    page = client.get(f"/requests/{request.request_id}/").content.decode()

    assert "Always allow" in page
    told = ("Completes the run", "On plan", "Blocks 1 step", "Ends the run")
    assert [words for words in told if words in page] == []


def test_another_tool_is_called_by_its_name_and_its_file(agent: Program) -> None:
    given = {"file_path": "/home/rita/shop/a.py", "content": "x = 1\n"}

    request = asked(Hook(agent).asks(tool="Write", input=given))

    assert request.title == "Write /home/rita/shop/a.py"


def test_what_a_person_allows_is_allowed(agent: Program) -> None:
    hook = Hook(agent)
    waiting = hook.asks()

    decide(waiting["request_id"], "allow")

    assert waiting["verdict"] is None
    assert hook.asks()["verdict"]["behavior"] == "allow"


def test_what_a_person_denies_is_denied_with_their_comment(agent: Program) -> None:
    hook = Hook(agent)

    decide(hook.asks()["request_id"], "deny", "Use the staging database.")

    verdict = hook.asks()["verdict"]
    assert verdict["behavior"] == "deny"
    assert "“Use the staging database.”" in verdict["message"]


def test_the_call_of_a_process_that_died_finds_its_request_and_its_answer(agent: Program) -> None:
    first = Hook(agent).asks()
    ToolCall.objects.update(polled_at=f.long_ago(asking.WATCHED))

    again = Hook(agent)
    assert again.asks()["request_id"] == first["request_id"]
    decide(first["request_id"], "allow")

    assert again.asks()["verdict"]["behavior"] == "allow"


def test_an_answer_lets_one_call_through(agent: Program) -> None:
    hook = Hook(agent)
    decide(hook.asks()["request_id"], "allow")
    hook.asks()

    assert Hook(agent).asks()["verdict"] is None
    assert ToolCall.objects.count() == 2


def test_equal_calls_at_the_same_time_are_two_requests(agent: Program) -> None:
    assert Hook(agent).asks()["request_id"] != Hook(agent).asks()["request_id"]


def test_equal_calls_stay_two_requests_while_both_are_waited_for(agent: Program) -> None:
    first, second = Hook(agent), Hook(agent)
    asked_first = [hook.asks()["request_id"] for hook in (first, second)]

    for _ in range(2):
        assert [hook.asks()["request_id"] for hook in (first, second)] == asked_first
    assert ToolCall.objects.count() == 2


def test_each_of_two_equal_calls_hears_its_own_answer(agent: Program) -> None:
    first, second = Hook(agent), Hook(agent)
    told = first.asks()
    second.asks()

    decide(told["request_id"], "allow")

    assert second.asks()["verdict"] is None
    assert first.asks()["verdict"]["behavior"] == "allow"
    assert second.asks()["verdict"] is None


def test_another_session_and_another_agent_ask_for_themselves(agent: Program) -> None:
    other = program(Scope.AGENT, name="other")
    told = [Hook(agent).asks(), Hook(agent).asks(session="s-2"), Hook(other).asks()]

    assert len({each["request_id"] for each in told}) == 3


def test_both_hooks_of_a_call_ask_once(agent: Program) -> None:
    before = Hook(agent, event="PreToolUse")
    first = before.asks()
    before.leaves(first["call"], withdraw=False)

    prompt = Hook(agent)
    assert prompt.asks()["request_id"] == first["request_id"]
    decide(first["request_id"], "allow")

    assert prompt.asks()["verdict"]["behavior"] == "allow"


def test_the_prompt_of_a_call_whose_first_hook_was_killed_asks_no_second_time(
    agent: Program,
) -> None:
    first = Hook(agent, event="PreToolUse").asks()

    prompt = Hook(agent)
    assert prompt.asks()["request_id"] == first["request_id"]
    decide(first["request_id"], "deny")

    assert prompt.asks()["verdict"]["behavior"] == "deny"
    assert ToolCall.objects.count() == 1


def test_an_equal_call_after_a_prompt_is_another_one(agent: Program) -> None:
    first = Hook(agent, event="PermissionRequest").asks()

    assert Hook(agent, event="PreToolUse").asks()["request_id"] != first["request_id"]


def test_an_answer_is_for_no_call_after_the_next_one(agent: Program) -> None:
    before = Hook(agent, event="PreToolUse")
    decide(before.asks()["request_id"], "allow")
    before.asks()
    Hook(agent, event="PreToolUse").asks()

    assert [Hook(agent).asks()["verdict"] for _ in range(2)] == [None, None]


def test_an_answer_to_the_first_hook_is_one_to_the_second(agent: Program) -> None:
    before = Hook(agent, event="PreToolUse")
    decide(before.asks()["request_id"], "allow")
    before.asks()

    assert Hook(agent).asks()["verdict"]["behavior"] == "allow"
    assert Hook(agent, event="PreToolUse").asks()["verdict"] is None


def test_what_was_decided_in_the_terminal_is_withdrawn(agent: Program) -> None:
    hook = Hook(agent)
    told = hook.asks()

    assert hook.leaves(told["call"]) == 200

    assert asked(told).status == "cancelled"


def test_a_request_that_somebody_cancels_decides_nothing(agent: Program) -> None:
    hook = Hook(agent)
    run = asked(hook.asks()).run

    engine.cancel(run.pk, reason="Not now.", actor=f.person(groups=frozenset({"operator"})))

    assert hook.asks()["verdict"]["behavior"] == "none"


def test_nobody_withdraws_the_call_of_another_agent(agent: Program) -> None:
    told = Hook(agent).asks()

    assert Hook(program(Scope.AGENT, name="other")).leaves(told["call"]) == 404
    assert Hook(agent).leaves(told["call"]) == 200  # another process waits for it by now
    assert asked(told).status == "pending"


def test_a_request_that_nobody_waits_for_is_withdrawn(
    agent: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched, left = Hook(agent).asks("ls"), Hook(agent).asks("pwd")
    ToolCall.objects.filter(pk=left["call"]).update(polled_at=f.long_ago(asking.ABANDONED))

    monkeypatch.setattr(asking, "_BEGAN", time.monotonic())
    assert asking.withdraw_abandoned() == 0  # the site may have been away itself
    monkeypatch.setattr(asking, "_BEGAN", time.monotonic() - asking.ABANDONED.total_seconds())
    assert asking.withdraw_abandoned() == 1

    assert asked(left).status == "cancelled"
    assert asked(watched).status == "pending"


def test_a_plan_goes_back_with_its_line_comments_and_returns_as_the_next_round(
    agent: Program,
) -> None:
    plan = {"tool": "ExitPlanMode", "input": {"plan": PLAN}}
    hook = Hook(agent)
    first = asked(hook.asks(**plan))
    item = {"path": "plan.md", "line": 3, "quote": "1. Write a test.", "kind": "must"}

    decide(first.request_id, "request_changes", "Good.", items=[{**item, "body": "Two tests."}])

    verdict = hook.asks(**plan)["verdict"]
    assert verdict["behavior"] == "deny"
    assert verdict["message"].endswith(
        "Comment from Rita:\nGood.\n\nMust change, line 3:\n> 1. Write a test.\nTwo tests."
    )
    revised = {"tool": "ExitPlanMode", "input": {"plan": PLAN.replace("a test", "two tests")}}
    again = Hook(agent)
    second = asked(again.asks(**revised))
    assert (first.title, second.title) == ("Export invoices", "Export invoices")
    assert (second.run_id, second.round) == (first.run_id, 2)
    assert second.artifacts.get().revision == 2
    decide(second.request_id, "approve")
    assert again.asks(**revised)["verdict"]["behavior"] == "allow"


def test_a_rejected_plan_is_not_carried_out(agent: Program) -> None:
    plan = {"tool": "ExitPlanMode", "input": {"plan": PLAN}}
    hook = Hook(agent)

    decide(hook.asks(**plan)["request_id"], "reject", "We buy it.")

    verdict = hook.asks(**plan)["verdict"]
    assert verdict["behavior"] == "deny"
    assert verdict["message"].startswith("A person rejected the plan, saying: “We buy it.”")


def test_questions_are_a_form_and_come_back_by_their_text(agent: Program) -> None:
    questions = [
        {"question": "Which format?", "header": "Format", "multiSelect": False}
        | {"options": [{"label": "CSV", "description": "One line each"}, {"label": "JSON"}]},
        {"question": "For whom?", "header": "Who", "multiSelect": True}
        | {"options": [{"label": "Sales"}, {"label": "Support"}, {"label": "Tax"}]},
    ]
    call = {"tool": "AskUserQuestion", "input": {"questions": questions}}
    hook = Hook(agent)
    request = asked(hook.asks(**call))

    assert request.title == "Which format? (and 1 more)"
    assert request.prompt == "Claude Code asks 2 questions."
    assert request.context["summary"] == "CSV: One line each"
    other = request.form[0].options[-1]
    answer = {"q1": other, "q2": ["Sales", "Tax"]}
    answers.respond(
        request.request_id, answer, actor=f.person(), words=Words(comment="Parquet, please")
    )

    told = hook.asks(**call)["verdict"]
    assert told["answers"] == {"Which format?": "Parquet, please", "For whom?": "Sales, Tax"}
    assert told["behavior"] == "allow"


def test_a_secret_in_a_command_is_never_kept(agent: Program) -> None:
    secret = "ghp_" + "a1B2" * 9
    told = Hook(agent).asks(f"curl -H 'Authorization: Bearer {secret}' x")

    call = ToolCall.objects.get(pk=told["call"])
    request = asked(told)
    kept = [call.subject, request.title, request.run.title, str(request.context)]
    assert not any(secret in text for text in kept)
    assert secret.encode() not in bytes(request.artifacts.get().content)


def test_the_folder_names_the_project(agent: Program, settings: Settings) -> None:
    Project.objects.create(name="acme/shop", workspace="/home/rita/shop")

    request = asked(Hook(agent).asks(folder="/home/rita/shop/src"))

    assert request.run.project.name == "acme/shop"


def test_an_agent_names_no_project_that_is_not_there(agent: Program) -> None:
    call = {"tool": "Bash", "input": {}, "session": "s", "event": "x", "waiter": "12345678"}

    assert agent.post("/tool-calls", {**call, "project": "acme/none"}).status_code == 404


def test_a_plan_that_never_comes_back_ends_with_its_session(
    agent: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = Hook(agent).asks(tool="ExitPlanMode", input={"plan": PLAN})
    decide(told["request_id"], "request_changes", "Shorter.")
    monkeypatch.setattr(asking, "_BEGAN", -asking.ABANDONED.total_seconds())
    assert asking.withdraw_abandoned() == 0
    ToolCall.objects.update(polled_at=f.long_ago(timedelta(days=1)))

    assert asking.withdraw_abandoned() == 1

    assert asked(told).run.status == "cancelled"


def test_waiting_for_a_decision_ends_when_the_site_is_about_to(agent: Program) -> None:
    agent.environ[long_poll.IS_ENDING] = lambda: True

    began = time.monotonic()
    told = Hook(agent).asks(wait=60)

    assert told["verdict"] is None
    assert time.monotonic() - began < 30
