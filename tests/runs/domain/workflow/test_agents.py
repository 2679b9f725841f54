"""An agent in a workflow is named in several ways and means one thing."""

import pytest

from runs.domain.responses import usage
from runs.domain.values.errors import Invalid, Problem
from runs.domain.values.phases import Phase
from runs.domain.workflow.agents import named
from runs.domain.workflow.definition import Agent
from runs.domain.workflow.merge import make_plan
from runs.domain.workflow.parse import ReadWorkflow, read_workflow

Json = dict[str, object]


def read(agent: object, *, top: object = None, **way: object) -> ReadWorkflow:
    step: Json = {"id": "try", **(way or {"prompt": "Do it."}), "agent": agent}
    return read_workflow({"id": "small", "agent": top, "phases": {"build": {"steps": [step]}}})


def agent_of(read_so_far: ReadWorkflow) -> Agent | None:
    steps = read_so_far.workflow.phases[Phase.BUILD].steps or ()
    return steps[0].agent


CLAUDE = Agent(kind="claude", command=("claude", "--model", "opus"))


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("claude", Agent(kind="claude")),
        (" codex ", Agent(kind="codex")),
        ("claude --model opus", CLAUDE),
        (["claude", "--model", "opus"], CLAUDE),
        ({"kind": "claude", "command": "claude --model opus"}, CLAUDE),
        ({"command": ["claude", "--model", "opus"]}, CLAUDE),
        ("/opt/bin/codex exec", Agent(kind="codex", command=("/opt/bin/codex", "exec"))),
        ("my-agent 'a b'", Agent(kind="plain", command=("my-agent", "a b"))),
        ({"kind": "codex"}, Agent(kind="codex")),
        (
            {"kind": "codex", "command": "in-a-box codex"},
            Agent(kind="codex", command=("in-a-box", "codex")),
        ),
        ({"kind": "plain", "command": ["claude"]}, Agent(kind="plain", command=("claude",))),
        (None, None),
    ],
)
def test_an_agent_is_named_by_its_kind_its_command_or_both(
    written: object, meant: Agent | None
) -> None:
    assert agent_of(read(written)) == meant
    assert read(None, top=written).workflow.agent == meant


WAYS = "must be claude, codex, a command, or an object with kind and command"
PLACE = "phases.build.steps[0].agent"


@pytest.mark.parametrize(
    ("written", "place", "message"),
    [
        ("", "", WAYS),
        ("  ", "", WAYS),
        ([], "", WAYS),
        (["claude", 1], "", WAYS),
        (5, "", WAYS),
        (True, "", WAYS),
        ("claude 'x", "", "cannot be split into words: no closing quotation"),
        ({"command": "'x"}, ".command", "cannot be split into words: no closing quotation"),
        ({"command": []}, ".command", "must name a program"),
        ({"command": [""]}, ".command", "must name a program"),
        ({"command": [1]}, ".command[0]", "must be a string, not a number"),
        ({"command": 5}, ".command", "must be a list, not a number"),
        ({}, ".command", "missing key; only claude and codex are known without one"),
        ({"kind": "plain"}, ".command", "missing key; only claude and codex are known without one"),
        ({"kind": "gemini"}, ".kind", "must be one of claude, codex, plain"),
        ({"kind": "claude", "comand": "x"}, ".comand", "unknown key, did you mean command?"),
    ],
)
def test_an_agent_that_is_none_is_refused_at_its_place(
    written: object, place: str, message: str
) -> None:
    with pytest.raises(Invalid) as of_the_step:
        read(written)
    with pytest.raises(Invalid) as of_the_workflow:
        read(None, top=written)

    assert list(of_the_step.value.problems) == [Problem(f"{PLACE}{place}", message)]
    assert list(of_the_workflow.value.problems) == [Problem(f"agent{place}", message)]


@pytest.mark.parametrize("way", [{"run": "make"}, {"python": "a:b"}, {"remote": True}])
def test_an_agent_has_no_effect_on_a_step_that_is_not_for_one(way: Json) -> None:
    warnings = read("claude", **way).warnings

    assert warnings == (Problem(PLACE, "has no effect without prompt, command or skill"),)


def test_a_step_that_is_described_only_is_for_the_agent_it_names() -> None:
    described = read("codex", description="Do it.")

    assert agent_of(described) == Agent(kind="codex")
    assert [warning.place for warning in described.warnings] == ["phases.build.steps[0]"]


def test_the_workflows_agent_executes_its_hooks_too() -> None:
    hooks = [
        {"type": "prompt", "name": "look", "prompt": "Look around."},
        {"type": "script", "name": "list", "path": "list.sh"},
    ]
    workflow = read_workflow(
        {
            "id": "small",
            "agent": "codex",
            "phases": {"build": {"steps": [{"id": "make", "run": "make"}]}},
            "hooks": {"pre_build": hooks},
        }
    ).workflow

    look, listing, make = make_plan([workflow]).plan.units

    assert look.step.agent == Agent(kind="codex")
    assert listing.step.agent is make.step.agent is None


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("", None),
        ("claude", Agent(kind="claude")),
        ("codex exec --model o3", Agent(kind="codex", command=("codex", "exec", "--model", "o3"))),
        ("./mine", Agent(command=("./mine",))),
    ],
)
def test_a_project_names_its_agent_in_one_line(line: str, meant: Agent | None) -> None:
    assert named(line) == meant


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (None, ""),
        ({"agent": "claude"}, ""),
        (
            {"cost_usd": 0.1234, "turns": 3, "input_tokens": 3210, "output_tokens": 45},
            "$0.12, 3 turns, 3,255 tokens",
        ),
        ({"cost_usd": 0.001, "turns": 1}, "under $0.01, 1 turn"),
        ({"cost_usd": 0, "output_tokens": 1}, "$0.00, 1 token"),
        (
            {"cost_usd": True, "turns": "many", "input_tokens": -1, "output_tokens": float("nan")},
            "",
        ),
    ],
)
def test_the_cost_of_an_agent_is_told_in_a_few_words(told: Json | None, words: str) -> None:
    assert usage.spoken(told) == words
