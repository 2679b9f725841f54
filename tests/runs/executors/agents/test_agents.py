"""Agents are chosen, started, read and asked on; stand-ins check every flag they get."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from pytest_django.fixtures import Settings

from runs.domain.responses.results import ResultStatus
from runs.domain.workflow.definition import Agent, Step
from runs.executors import Order, Outcome, Rules, execute
from runs.executors.agents import preview
from runs.executors.agents.claude import LONGEST_ARGUMENT, SCHEMA
from runs.models import Project, Run, StepAttempt
from tests import factories as f
from tests.fake_agents.programs import FakeAgents

CLAUDE = ("claude", "-p", "--output-format", "json")
CODEX = ("codex", "exec", "--json")
INSTRUCTION = "Execute step build:try of workflow run a/b/c."
NOBODY = "00000000-0000-0000-0000-000000000000"


class Listener:
    def __init__(self) -> None:
        self.lines: list[str] = []

    def line(self, stream: str, text: str) -> None:
        self.lines.append(text)

    def should_stop(self) -> bool:
        return False

    def hold(self) -> None:
        return None


def order(workspace: Path, **fields: Any) -> Order:
    step = fields.pop("step", {})
    return Order(
        **{
            "step": Step(id="try", prompt="Write it.", **step),
            "key": "build:try",
            "briefing": {"instruction": INSTRUCTION, "action": "start"},
            "workspace": workspace,
            "environment": {"FABER_RUN_ID": "a/b/c", "FABER_ATTEMPT": "1"},
            "timeout": 20.0,
            **fields,
        }
    )


def run(given: Order, *command: str, watcher: Listener | None = None) -> Outcome:
    return execute(given, Rules(agent_command=command or CLAUDE), watcher or Listener())


def follows(argv: Sequence[str], flag: str) -> str:
    return argv[argv.index(flag) + 1]


# Claude Code


def test_claude_waits_for_its_mcp_servers(agents: FakeAgents, tmp_path: Path) -> None:
    run(order(tmp_path))

    assert agents.calls[0]["does_not_wait"] == "0"


def test_the_worker_may_have_claude_not_wait(
    agents: FakeAgents, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MCP_CONNECTION_NONBLOCKING", "1")

    run(order(tmp_path))

    assert agents.calls[0]["does_not_wait"] == "1"


def test_claude_begins_a_session_with_instruction_and_schema(
    agents: FakeAgents, tmp_path: Path
) -> None:
    outcome = run(order(tmp_path))

    (call,) = agents.calls
    session = follows(call["argv"], "--session-id")
    assert str(UUID(session)) == session
    assert call["argv"] == [
        *("-p", "--output-format", "json", "--session-id", session),
        *("--append-system-prompt", INSTRUCTION, "--json-schema", SCHEMA),
    ]
    assert call["prompt"].startswith(f"{INSTRUCTION}\n")
    assert outcome.result.message == "Done."
    assert outcome.session == session
    assert outcome.usage == {
        "agent": "claude",
        "cost_usd": 0.0421,
        "turns": 3,
        "input_tokens": 3210,
        "output_tokens": 45,
    }


def test_claude_goes_on_in_its_session(agents: FakeAgents, tmp_path: Path) -> None:
    first = run(order(tmp_path))
    second = run(order(tmp_path, session=first.session))

    argv = agents.calls[1]["argv"]
    assert follows(argv, "--resume") == first.session
    assert "--session-id" not in argv
    assert "## Your session goes on" in agents.calls[1]["prompt"]
    assert second.session == first.session


def test_claude_begins_anew_when_it_does_not_know_the_session(
    agents: FakeAgents, tmp_path: Path
) -> None:
    listener = Listener()

    outcome = run(order(tmp_path, session=NOBODY), watcher=listener)

    (call,) = agents.calls
    note = f"refused the session {NOBODY}, so the step started a new one."
    assert outcome.result.status is ResultStatus.SUCCESS
    assert note in outcome.result.notes[-1]
    assert note in outcome.stderr
    assert any(note in line for line in listener.lines)
    assert "--resume" not in call["argv"]
    assert "## Your session goes on" not in call["prompt"]
    assert outcome.session == call["session"] != NOBODY


def test_a_session_name_that_is_taken_is_left_to_claude(agents: FakeAgents, tmp_path: Path) -> None:
    first, second = run(order(tmp_path)), run(order(tmp_path))

    assert second.result.status is ResultStatus.SUCCESS
    assert second.session not in ("", first.session)


def test_words_about_sessions_do_not_execute_a_step_twice(
    agents: FakeAgents, tmp_path: Path
) -> None:
    agents.will_say("I saw: No conversation found with session ID: x. It is already in use.")

    outcome = run(order(tmp_path))

    assert outcome.result.status is ResultStatus.FAILURE
    assert len(agents.calls) == 1


@pytest.mark.parametrize(
    ("printed", "exit_code"),
    [
        ("No conversation found with session ID: x, so I began one.", 0),
        ("Error: port 3000 is already in use.", 1),
    ],
    ids=["it succeeded", "it is about something else"],
)
def test_only_a_refused_session_executes_a_step_twice(
    agents: FakeAgents, tmp_path: Path, printed: str, exit_code: int
) -> None:
    answer = json.dumps({"status": "success", "message": "Done."})
    agents.install(
        "claude",
        "import pathlib, sys\n"
        "with pathlib.Path('launches').open('a') as file: file.write('x')\n"
        f"print({answer!r})\nprint({printed!r}, file=sys.stderr)\nsys.exit({exit_code})\n",
    )

    run(order(tmp_path))

    assert (tmp_path / "launches").read_text() == "x"


def test_every_attempt_has_a_session_of_its_own(tmp_path: Path) -> None:
    others = [("r", "build:try", "2"), ("r", "build:other", "1"), ("s", "build:try", "1")]
    sessions = [
        follows(
            preview(
                order(
                    tmp_path, key=key, environment={"FABER_RUN_ID": of, "FABER_ATTEMPT": attempt}
                ),
                Rules(agent_command=CLAUDE),
            ).argv,
            "--session-id",
        )
        for of, key, attempt in [("r", "build:try", "1"), *others]
    ]

    assert len(set(sessions)) == 4


@pytest.mark.parametrize(
    ("given", "added"),
    [
        (["--session-id", NOBODY], ["--append-system-prompt", "--json-schema"]),
        (["--append-system-prompt", "Be brief."], ["--session-id", "--json-schema"]),
        (["--json-schema", "{}"], ["--session-id", "--append-system-prompt"]),
        (["--json-schema={}"], ["--session-id", "--append-system-prompt"]),
        (
            ["--permission-mode", "acceptEdits", "--allowedTools", "Bash(git *)", "Edit"],
            ["--session-id", "--append-system-prompt", "--json-schema"],
        ),
    ],
    ids=lambda words: words[0].partition("=")[0],
)
def test_what_the_command_says_itself_is_kept_and_not_said_twice(
    agents: FakeAgents, tmp_path: Path, given: list[str], added: list[str]
) -> None:
    outcome = run(order(tmp_path), *CLAUDE, *given)

    argv = agents.calls[0]["argv"]
    assert outcome.result.status is ResultStatus.SUCCESS
    assert argv[3 : 3 + len(given)] == given
    assert [word for word in argv[3 + len(given) :] if word.startswith("--")] == added


def test_a_bare_claude_is_made_to_print_an_envelope(agents: FakeAgents, tmp_path: Path) -> None:
    outcome = run(order(tmp_path), "claude")

    assert agents.calls[0]["argv"][:3] == ["-p", "--output-format", "json"]
    assert outcome.usage is not None
    assert outcome.usage["turns"] == 3


@pytest.mark.parametrize("form", ["stream-json", "text"])
def test_claude_is_read_in_every_output_format(
    agents: FakeAgents, tmp_path: Path, form: str
) -> None:
    outcome = run(order(tmp_path), "claude", "-p", "--verbose", f"--output-format={form}")

    assert outcome.result.message == "Done."
    assert outcome.session == agents.calls[0]["session"]


def test_prose_around_the_answer_is_tolerated(agents: FakeAgents, tmp_path: Path) -> None:
    agents.will_say('Well.\n{"status": "warning", "message": "Slow.", "warnings": ["slow"]}\nBye.')

    assert run(order(tmp_path)).result.warnings == ("slow",)


def test_an_answer_that_claude_checked_goes_before_its_words(
    agents: FakeAgents, tmp_path: Path
) -> None:
    checked = {"status": "success", "message": "Checked."}
    words = '{"status": "failure", "message": "An example."}'
    agents.will_say(
        {"envelope": {"subtype": "success", "result": words, "structured_output": checked}}
    )

    assert run(order(tmp_path)).result.message == "Checked."


def test_an_answer_without_a_response_is_a_failure_that_says_so(
    agents: FakeAgents, tmp_path: Path
) -> None:
    agents.will_say("I think it is done.")

    outcome = run(order(tmp_path))

    assert outcome.result.message.startswith("The agent must end with a JSON skill response")
    assert outcome.result.details["words"] == "I think it is done."
    assert outcome.session  # it can be asked on


@pytest.mark.parametrize(
    ("envelope", "words"),
    [
        ({"subtype": "success", "is_error": True, "result": "Credit is too low"}, "Credit is too"),
        ({"subtype": "error_max_turns", "is_error": False}, "error_max_turns"),
        ({"subtype": "error_during_execution", "is_error": True, "errors": ["It broke"]}, "broke"),
    ],
    ids=["is_error", "subtype", "errors"],
)
def test_an_error_of_claude_is_a_failure_with_its_words(
    agents: FakeAgents, tmp_path: Path, envelope: dict[str, object], words: str
) -> None:
    agents.will_say({"envelope": envelope})

    outcome = run(order(tmp_path))

    assert outcome.result.status is ResultStatus.FAILURE
    assert words in outcome.result.message
    assert outcome.usage is not None
    assert outcome.usage["cost_usd"] == 0.0421


def test_a_failure_says_which_tools_were_refused(agents: FakeAgents, tmp_path: Path) -> None:
    denials = [{"tool_name": "Bash"}, {"tool_name": "Edit"}, {"tool_name": "Bash"}]
    said = {"subtype": "success", "result": "I may not.", "permission_denials": denials}
    agents.will_say({"envelope": said})

    outcome = run(order(tmp_path))

    assert outcome.result.suggested_fixes == ("Allow the agent these tools: Bash, Edit.",)


def test_numbers_that_are_none_are_not_kept(agents: FakeAgents, tmp_path: Path) -> None:
    answer = json.dumps({"status": "success", "message": "Done."})
    odd = {"total_cost_usd": float("nan"), "num_turns": 10**400, "usage": {"output_tokens": "7"}}
    agents.will_say({"envelope": {"subtype": "success", "result": answer, **odd}})

    assert run(order(tmp_path)).usage == {"agent": "claude"}


def test_a_session_that_could_be_a_flag_is_not_believed(agents: FakeAgents, tmp_path: Path) -> None:
    answer = json.dumps({"status": "success", "message": "Done."})
    agents.will_say({"envelope": {"subtype": "success", "result": answer, "session_id": "--model"}})

    assert run(order(tmp_path)).session == follows(agents.calls[0]["argv"], "--session-id")


def test_no_secret_and_no_endless_text_stands_on_the_command_line(
    agents: FakeAgents, tmp_path: Path
) -> None:
    secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
    run(order(tmp_path, briefing={"instruction": f"Use {secret} now."}))
    run(order(tmp_path, key="a:b", briefing={"instruction": "x" * (LONGEST_ARGUMENT + 1)}))

    first, second = (call["argv"] for call in agents.calls)
    assert follows(first, "--append-system-prompt") == "Use [redacted] now."
    assert "--append-system-prompt" not in second


def test_a_claude_that_is_ended_early_can_be_asked_on(agents: FakeAgents, tmp_path: Path) -> None:
    agents.install("claude", "import time\ntime.sleep(60)\n")

    outcome = run(order(tmp_path, timeout=0.2))

    assert outcome.ended == "timeout"
    assert str(UUID(outcome.session)) == outcome.session


# Codex


def test_codex_answers_in_events_and_names_its_thread(agents: FakeAgents, tmp_path: Path) -> None:
    outcome = run(order(tmp_path), "codex")

    (call,) = agents.calls
    assert call["argv"] == ["exec", "--json", "-"]
    assert call["prompt"].startswith(f"{INSTRUCTION}\n")
    assert outcome.result.message == "Done."
    assert outcome.session == call["session"]
    assert outcome.usage == {"agent": "codex", "input_tokens": 24763, "output_tokens": 122}


def test_codex_goes_on_in_its_thread_with_its_flags_before(
    agents: FakeAgents, tmp_path: Path
) -> None:
    command = (*CODEX, "--sandbox", "workspace-write", "-")
    first = run(order(tmp_path), *command)
    second = run(order(tmp_path, session=first.session), *command)

    argv = agents.calls[1]["argv"]
    assert argv == [*command[1:-1], "resume", first.session, "-"]
    assert second.session == first.session


def test_codex_begins_anew_when_it_does_not_know_the_thread(
    agents: FakeAgents, tmp_path: Path
) -> None:
    outcome = run(order(tmp_path, session=NOBODY), *CODEX)

    (call,) = agents.calls
    assert outcome.result.status is ResultStatus.SUCCESS
    assert NOBODY in outcome.result.notes[-1]
    assert call["argv"] == ["exec", "--json", "-"]
    assert "## Your session goes on" not in call["prompt"]


def test_a_turn_that_failed_is_a_failure_with_its_words(agents: FakeAgents, tmp_path: Path) -> None:
    lost = {"type": "error", "message": "Reconnecting... 1/5"}
    failed = {"type": "turn.failed", "error": {"message": "usage limit reached"}}
    agents.will_say({"events": [lost, failed]})

    outcome = run(order(tmp_path), *CODEX)

    assert outcome.result.message == "The agent reported an error: usage limit reached"


def test_an_error_that_codex_overcame_is_none(agents: FakeAgents, tmp_path: Path) -> None:
    answer = {"type": "agent_message", "text": '{"status": "success", "message": "Done."}'}
    events = [
        {"type": "error", "message": "Reconnecting... 1/5"},
        {"type": "item.completed", "item": answer},
        {"type": "turn.completed", "usage": {"input_tokens": 1, "output_tokens": 2}},
    ]
    lines = "\n".join(map(json.dumps, events))
    agents.install("codex", f"print({lines!r})")

    assert run(order(tmp_path), *CODEX).result.message == "Done."


@pytest.mark.parametrize("said", ["I think it is done.", ""])
def test_a_codex_without_a_response_is_a_failure_that_says_so(
    agents: FakeAgents, tmp_path: Path, said: str
) -> None:
    agents.will_say(said)

    message = run(order(tmp_path), *CODEX).result.message

    assert message.startswith("The agent must end with a JSON skill response")


# Which agent


@pytest.mark.parametrize(
    ("step", "project", "site", "started"),
    [
        ({}, "", ("codex",), ("codex", "exec", "--json", "-")),
        ({}, "codex --model o3", CLAUDE, ("codex", "--model", "o3", "exec", "--json", "-")),
        ({"agent": Agent(command=("./my", "agent"))}, "codex", CLAUDE, ("./my", "agent")),
        ({"agent": Agent(command=("./my",))}, "no 'end", CLAUDE, ("./my",)),
        ({"agent": Agent(kind="codex")}, "", CLAUDE, ("codex", "exec", "--json", "-")),
        (
            {"agent": Agent(kind="codex")},
            "claude",
            ("/opt/codex", "exec", "--sandbox", "workspace-write"),
            ("/opt/codex", "exec", "--sandbox", "workspace-write", "--json", "-"),
        ),
        (
            {"agent": Agent(kind="codex", command=("x", "exec"))},
            "",
            (),
            ("x", "exec", "--json", "-"),
        ),
        ({}, "", ("env", "claude"), ("env", "claude")),
    ],
    ids=[
        "the site's, known by its name",
        "the project's before the site's",
        "the workflow's before both",
        "others are not even read",
        "a kind alone has a usual command",
        "a kind alone takes the site's flags",
        "a wrapper of a known kind",
        "a wrapper of an unknown kind",
    ],
)
def test_the_nearest_agent_is_chosen(
    tmp_path: Path, step: dict[str, Any], project: str, site: tuple[str, ...], started: object
) -> None:
    rules = Rules(agent_command=site, project_agent=project)

    assert preview(order(tmp_path, step=step), rules).argv == started


def test_a_preview_is_what_is_launched(agents: FakeAgents, tmp_path: Path) -> None:
    given = order(tmp_path)

    shown = preview(given, Rules(agent_command=CLAUDE))
    run(given)

    (call,) = agents.calls
    assert list(shown.argv[1:]) == call["argv"]
    assert shown.stdin == call["prompt"]


@pytest.mark.parametrize(
    ("rules", "named_by"),
    [
        (Rules(agent_command=("no-such-agent",)), "set FABER_AGENT_COMMAND"),
        (Rules(project_agent="no-such-agent -x"), "change the project's agent"),
    ],
)
def test_a_missing_program_is_named_with_where_it_was_looked_for_and_who_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rules: Rules, named_by: str
) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin")

    outcome = execute(order(tmp_path), rules, Listener())

    assert outcome.result.message == (
        f"Agent `no-such-agent` is not installed. Install it or {named_by}."
    )
    assert outcome.result.errors == (f"Searched: {tmp_path}/bin, /usr/bin",)
    assert named_by.partition(" ")[2] in outcome.result.suggested_fixes[0]
    assert not outcome.session


def test_a_program_in_the_workspace_is_looked_for_there(tmp_path: Path) -> None:
    step = {"agent": Agent(command=("./agent.py",))}

    outcome = execute(order(tmp_path, step=step), Rules(), Listener())

    assert outcome.result.message.endswith("Install it or change the workflow's agent.")
    assert outcome.result.errors == (f"Searched: {tmp_path}/agent.py",)


@pytest.mark.parametrize(
    ("rules", "sentence"),
    [
        (Rules(), "No agent configured: FABER_AGENT_COMMAND is empty. Set it to a command."),
        (
            Rules(project_agent="no 'end"),
            "the project's agent is not a valid command: No closing quot",
        ),
    ],
)
def test_without_an_agent_that_can_be_read_that_is_said(
    tmp_path: Path, rules: Rules, sentence: str
) -> None:
    outcome = execute(order(tmp_path), rules, Listener())

    assert sentence in outcome.result.message


# In a run


REVIEWED = {
    "id": "write",
    "prompt": "Write it.",
    "requires_approval": True,
    "approval_type": "review",
}


@pytest.fixture
def site(settings: Settings) -> Settings:
    settings.FABER_AGENT_COMMAND = CLAUDE
    return settings


def attempts(run: Run) -> list[StepAttempt]:
    return list(StepAttempt.objects.filter(run=run).order_by("id"))


@pytest.mark.django_db(transaction=True)
def test_changes_are_made_in_the_session_that_made_the_work(
    agents: FakeAgents, site: Settings, tmp_path: Path
) -> None:
    run = f.started(f.workflow({"architect": [REVIEWED], "build": [f.step("make")]}), tmp_path)
    f.answered(run, "request_changes", "Shorter, please.")

    first, second = agents.calls
    assert follows(second["argv"], "--resume") == first["session"]
    instruction = follows(second["argv"], "--append-system-prompt")
    assert second["prompt"].startswith(f"{instruction}\n\n## Your session goes on\n")
    assert instruction.startswith(f"Resume workflow run {run.run_id} from step architect:write.")
    assert "User feedback received: request_changes: Shorter, please." in instruction
    assert 'author="Rita" channel="web"' in second["prompt"]
    assert [attempt.session for attempt in attempts(run)] == [first["session"]] * 2
    assert [(attempt.usage or {})["cost_usd"] for attempt in attempts(run)] == [0.0421] * 2


@pytest.mark.django_db(transaction=True)
def test_a_session_of_another_kind_of_agent_is_not_used(
    agents: FakeAgents, site: Settings, tmp_path: Path
) -> None:
    run = f.started(f.workflow({"architect": [REVIEWED]}), tmp_path)
    Project.objects.update(agent="codex")
    f.answered(run, "request_changes", "Shorter, please.")
    f.answered(run, "request_changes", "Shorter still.")

    _, second, third = agents.calls
    assert second["argv"] == ["exec", "--json", "-"]
    assert third["argv"] == ["exec", "--json", "resume", second["session"], "-"]


@pytest.mark.django_db(transaction=True)
def test_each_step_of_a_run_has_a_session_of_its_own(
    agents: FakeAgents, site: Settings, tmp_path: Path
) -> None:
    steps: list[f.Json] = [{"id": name, "prompt": "Do it."} for name in ("one", "two")]
    f.started(f.workflow({"build": steps}), tmp_path)

    assert len({call["session"] for call in agents.calls}) == 2


@pytest.mark.django_db(transaction=True)
def test_a_step_never_goes_on_in_the_session_of_another(
    agents: FakeAgents, site: Settings, tmp_path: Path
) -> None:
    steps = [{**REVIEWED, "id": name} for name in ("one", "two")]
    run = f.started(f.workflow({"architect": steps}), tmp_path)
    Project.objects.update(agent="codex")
    f.answered(run, "approve")
    Project.objects.update(agent="")
    f.answered(run, "request_changes", "Shorter, please.")

    assert [call["argv"][0] for call in agents.calls] == ["-p", "exec", "-p"]
    assert "--resume" not in agents.calls[2]["argv"]


@pytest.mark.django_db(transaction=True)
def test_the_workflow_names_the_agent_of_its_steps(
    agents: FakeAgents, site: Settings, tmp_path: Path
) -> None:
    steps: list[f.Json] = [
        {"id": "one", "prompt": "Do it."},
        {"id": "two", "prompt": "Do it.", "agent": "claude --model opus"},
    ]
    f.started(f.workflow({"build": steps}, agent="codex"), tmp_path)

    first, second = agents.calls
    assert first["argv"][0] == "exec"
    assert second["argv"][:2] == ["--model", "opus"]


QUESTIONS = [
    {"id": "db", "question": "Which database?", "options": ["sqlite", "postgres"]},
    "For how many people?",
]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("command", [CLAUDE, CODEX], ids=["claude", "codex"])
def test_an_agents_questions_become_a_form_and_the_answers_return_to_its_session(
    agents: FakeAgents, site: Settings, tmp_path: Path, command: tuple[str, ...]
) -> None:
    site.FABER_AGENT_COMMAND = command
    pending = {"reason": "Two things are open.", "questions": QUESTIONS}
    asks = {"status": "pending_input", "message": "I must ask.", "pending_input": pending}
    agents.will_say(asks, {"status": "success", "message": "With postgres."})

    run = f.started(f.workflow({"build": [{"id": "code", "prompt": "Code it."}]}), tmp_path)
    request = f.pending(run)
    form = request.context["questions"]
    f.answered(run, "Which database?: postgres\nFor how many people?: ten")

    first, second = agents.calls
    assert request.prompt == "Two things are open."
    assert form == [
        {"id": "db", "question": "Which database?", "options": ["sqlite", "postgres"]},
        {"id": "q2", "question": "For how many people?", "options": []},
    ]
    assert second["session"] == first["session"]
    assert "Your questions are answered: go on with the step." in second["prompt"]
    assert (
        "\nWhich database?: postgres\nFor how many people?: ten\n</faber-words" in second["prompt"]
    )
    assert [attempt.action for attempt in attempts(run)] == ["start", "answer"]
    assert f.fresh(run).status == "completed"


@pytest.mark.django_db(transaction=True)
def test_a_step_that_is_retried_goes_on_in_its_session(
    agents: FakeAgents, site: Settings, tmp_path: Path
) -> None:
    agents.will_say({"status": "failure", "message": "No.", "errors": ["2 tests failed"]})
    run = f.started(f.workflow({"build": [{"id": "code", "prompt": "Code it."}]}), tmp_path)
    f.answered(run, "retry", "Try the other way.")

    first, second = agents.calls
    assert second["session"] == first["session"]
    assert "2 tests failed" in second["prompt"].split("## What failed before")[1]


@pytest.mark.django_db(transaction=True)
def test_a_plain_agent_is_told_everything_each_time(
    agents: FakeAgents, site: Settings, tmp_path: Path
) -> None:
    source = (
        "import pathlib, sys\n"
        "with pathlib.Path('told').open('a') as file: file.write(sys.stdin.read() + chr(0))\n"
        'print(\'Fine. {"status": "success", "message": "Done."}\')\n'
    )
    site.FABER_AGENT_COMMAND = (str(agents.install("mine", source)), "--flag")
    run = f.started(f.workflow({"architect": [REVIEWED]}), tmp_path)
    f.answered(run, "request_changes", "Shorter, please.")

    first, second, _ = (tmp_path / "told").read_text().split("\0")
    assert "## The plan" in first
    assert "## The plan" in second
    assert "Shorter, please." in second
    assert [attempt.session for attempt in attempts(run)] == ["", ""]
    assert [attempt.usage for attempt in attempts(run)] == [{"agent": "mine"}] * 2


@pytest.mark.django_db(transaction=True)
def test_a_program_around_claude_code_tells_what_that_cost(
    agents: FakeAgents, site: Settings, tmp_path: Path
) -> None:
    envelope = {
        "type": "result",
        "result": json.dumps({"status": "success", "message": "Done."}),
        "total_cost_usd": 0.25,
        "usage": {"input_tokens": 5, "output_tokens": 2},
    }
    source = f"import sys\nsys.stdin.read()\nprint({json.dumps(envelope)!r})\n"
    site.FABER_AGENT_COMMAND = (str(agents.install("careful", source)),)

    run = f.started(f.workflow({"architect": [REVIEWED]}), tmp_path)

    [attempt] = attempts(run)
    assert (attempt.usage or {}).get("agent") == "careful"
    assert (attempt.cost_usd, attempt.input_tokens) == (0.25, 5)
    assert f.pending(run).cost_usd == 0.25
