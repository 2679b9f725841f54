import copy
from contextlib import suppress
from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runs.domain.values.errors import Invalid
from runs.domain.values.phases import Phase
from runs.domain.values.questions import Action, FeedbackType
from runs.domain.workflow.definition import (
    AutonomyLevel,
    Hook,
    HookType,
    Step,
    StepOption,
    Workflow,
    WorkflowPhase,
)
from runs.domain.workflow.parse import ReadWorkflow, read_workflow

Document = dict[str, object]


def workflow_with(**step: object) -> Document:
    """A workflow whose only step has these keys besides an id and a prompt."""
    whole = {"id": "implement", "prompt": "Do it.", **step}
    return {"id": "flow", "phases": {"build": {"steps": [whole]}}}


def step_alone(**step: object) -> Document:
    return {"id": "flow", "phases": {"build": {"steps": [step]}}}


def problems(document: object) -> list[str]:
    with pytest.raises(Invalid) as caught:
        read_workflow(document)
    return [str(problem) for problem in caught.value.problems]


def warnings(document: object) -> list[str]:
    return [str(warning) for warning in read_workflow(document).warnings]


def read_step(read: ReadWorkflow) -> Step:
    (phase,) = read.workflow.phases.values()
    assert phase.steps
    return phase.steps[0]


def test_a_published_file_is_read_with_a_warning_for_each_thing_that_is_not_used() -> None:
    document = {
        "$schema": "../workflow.schema.json",
        "id": "deploy",
        "prompt": "Overall mission",
        "defaults": {"model": "x"},
        "phase_defaults": {},
        "critical_artifacts": {"always_load": []},
        "phases": {
            "frame": {
                "enabled": True,
                "steps": [
                    {
                        "name": "fetch-work",
                        "skill": "fractary-work:issue-fetcher",
                        "config": {"base_branch": "main"},
                        "conditional": "only_if_failures",
                        "changelog": {"event_type": "CODE_MERGED"},
                        "step_action": "x",
                        "step_type": "y",
                    }
                ],
                "validation": ["work-item-exists"],
            }
        },
        "autonomy": {"level": "guarded", "description": "Pauses", "overrides": {"production": {}}},
    }

    read = read_workflow(document)

    ignored = "known, but not used here; ignored"
    assert sorted(map(str, read.warnings)) == [
        f"$schema: {ignored}",
        f"autonomy.description: {ignored}",
        f"autonomy.overrides: {ignored}",
        f"critical_artifacts: {ignored}",
        f"defaults: {ignored}",
        f"phase_defaults: {ignored}",
        f"phases.frame.steps[0].changelog: {ignored}",
        "phases.frame.steps[0].conditional: known, but not used here; the step is always executed",
        "phases.frame.steps[0].id: missing; the name fetch-work is taken as id",
        f"phases.frame.steps[0].step_action: {ignored}",
        f"phases.frame.steps[0].step_type: {ignored}",
        f"phases.frame.validation: {ignored}",
        f"prompt: {ignored}",
    ]
    assert read_step(read).id == "fetch-work"
    assert read_step(read).config == {"base_branch": "main"}


def test_reading_leaves_the_document_as_it_was() -> None:
    document = step_alone(name="a", description="Do it.", conditional="x", options=["approve"])
    before = copy.deepcopy(document)

    read_workflow(document)

    assert document == before


def test_a_workflow_may_leave_out_its_phases() -> None:
    assert read_workflow({"id": "child", "extends": "default"}).workflow.phases == {}


def test_an_explicit_empty_list_differs_from_saying_nothing() -> None:
    phases = read_workflow({"id": "flow", "phases": {"build": {"steps": []}, "frame": {}}})

    assert [phase.steps for phase in phases.workflow.phases.values()] == [(), None]


def test_a_misspelt_key_names_the_place_and_the_nearest_key() -> None:
    step = {"id": "c", "prompt": "p", "requires_aproval": True}
    others = [{"id": "a", "prompt": "p"}, {"id": "b", "prompt": "p"}]
    document = {"id": "flow", "phases": {"build": {"steps": [*others, step]}}}

    assert problems(document) == [
        "phases.build.steps[2].requires_aproval: unknown key, did you mean requires_approval?"
    ]


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ({"id": "flow", "phasess": {}}, "phasess: unknown key, did you mean phases?"),
        ({"id": "flow", "zzz": 1}, "zzz: unknown key"),
        (
            {"id": "flow", "phases": {"build": {"max_retry": 1}}},
            "phases.build.max_retry: unknown key, did you mean max_retries?",
        ),
        (
            {"id": "flow", "autonomy": {"levle": "guarded"}},
            "autonomy.levle: unknown key, did you mean level?",
        ),
        (
            {"id": "flow", "autonomy": {"limits": {"max_total_warning": 1}}},
            "autonomy.limits.max_total_warning: unknown key, did you mean max_total_warnings?",
        ),
        (
            {"id": "flow", "result_handling": {"on_warn": "stop"}},
            "result_handling.on_warn: unknown key, did you mean on_warning?",
        ),
        (
            workflow_with(confirm=True, options=[{"value": "approve", "acton": "continue"}]),
            "phases.build.steps[0].options[0].acton: unknown key, did you mean action?",
        ),
        (
            {
                "id": "flow",
                "hooks": {
                    "pre_build": [{"type": "document", "name": "n", "path": "x", "timeuot": 1}]
                },
            },
            "hooks.pre_build[0].timeuot: unknown key, did you mean timeout?",
        ),
        ({"phases": {}}, "id: missing key"),
        ({"id": "My Flow"}, "id: 'My Flow' cannot be an id: use lower-case letters, digits,"),
        ({"id": "a" * 101}, "id: is longer than 100 characters"),
        ({"id": 5}, "id: must be a string, not a number"),
        ({"id": "flow", "description": None}, "description: must be a string, not null"),
        ({"id": "flow", "phases": []}, "phases: must be an object, not a list"),
        ({"id": "flow", "phases": {"build": 1}}, "phases.build: must be an object, not a number"),
        (
            {"id": "flow", "phases": {"build": {"enabled": "yes"}}},
            "phases.build.enabled: must be true or false, not a string",
        ),
        (
            {"id": "flow", "phases": {"build": {"pre_steps": {}}}},
            "phases.build.pre_steps: must be a list, not an object",
        ),
        (
            {"id": "flow", "phases": {"evaluate": {"max_retries": 11}}},
            "phases.evaluate.max_retries: must be at most 10",
        ),
        (
            {"id": "flow", "phases": {"evaluate": {"max_retries": 1.5}}},
            "phases.evaluate.max_retries: must be a whole number, not a number",
        ),
        ({"id": "flow", "skip_steps": [True]}, "skip_steps[0]: must be a string, not true"),
        (
            {"id": "flow", "phases": {"biuld": {}}},
            "phases.biuld: unknown phase, did you mean build?",
        ),
        (
            {"id": "flow", "phases": {"zzz": {}}},
            "phases.zzz: unknown phase; the phases are frame, architect, build, evaluate, release",
        ),
        (
            {"id": "flow", "autonomy": {"level": "gaurded"}},
            "autonomy.level: must be one of dry-run, assist, guarded, autonomous;"
            " did you mean guarded?",
        ),
        (
            {"id": "flow", "result_handling": {"on_warning": "/fix"}},
            "result_handling.on_warning: must be one of continue, prompt, stop",
        ),
        (workflow_with(timeout=0), "phases.build.steps[0].timeout: must be at least 1"),
        (workflow_with(timeout=10**9), "phases.build.steps[0].timeout: must be at most 2678400"),
        (
            workflow_with(requires_approval=True, approval_type="aproval"),
            "phases.build.steps[0].approval_type: must be one of approval, confirmation, selection,"
            " clarification, review, error_resolution; did you mean approval?",
        ),
        (
            workflow_with(confirm=True, options=[{"value": "go", "action": "proceed"}]),
            "phases.build.steps[0].options[0].action: must be one of continue, revise, retry, skip,"
            " abort, answer",
        ),
        (
            workflow_with(confirm=True, options=[{"value": "", "action": "abort"}]),
            "phases.build.steps[0].options[0].value: must not be empty",
        ),
        (
            step_alone(id="a", python="module"),
            "phases.build.steps[0].python: 'module' cannot be a function: write module:function",
        ),
        (
            step_alone(id="a", run=5),
            "phases.build.steps[0].run: must be a string or a list of strings",
        ),
        (
            step_alone(id="a", run=["git", 5]),
            "phases.build.steps[0].run: must be a string or a list of strings",
        ),
        ({"id": "flow", "phases": {"build": {"steps": ["go"]}}}, "phases.build.steps[0]: must be"),
    ],
)
def test_what_a_key_refuses_is_said_in_a_plain_sentence(document: object, problem: str) -> None:
    (said,) = problems(document)

    assert said.startswith(problem)
    assert "pydantic" not in said


@pytest.mark.parametrize("document", [None, [], "flow", 5, True])
def test_a_workflow_is_an_object(document: object) -> None:
    assert problems(document) == ["a workflow must be an object with an id and phases"]


def test_every_problem_of_a_document_is_listed_at_once() -> None:
    document = {
        "id": "Flow",
        "phases": {
            "biuld": {"steps": [{"id": "a"}]},
            "release": {"steps": [{"id": "a", "run": "sh", "prompt": "p", "quorom": 1}]},
        },
        "hooks": {"pre_biuld": []},
    }

    assert [line.partition(":")[0] for line in problems(document)] == [
        "id",
        "phases.biuld",
        "phases.release.steps[0].quorom",
        "phases.biuld.steps[0]",
        "phases.release.steps[0]",
        "phases.release.steps[0].id",
        "hooks.pre_biuld",
    ]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (date(2026, 1, 1), "description: contains a date, which JSON does not support"),
        (float("nan"), "description: contains a value that is not a number"),
        ("\ud800", "description: contains an invalid character"),
        ("a\0b", "description: contains an invalid character"),
        (2**65, "description: contains a number that is too large"),
        ({1: "x"}, "description: the key 1 must be a string"),
    ],
)
def test_what_json_or_the_database_cannot_keep_is_refused(value: object, message: str) -> None:
    assert problems({"id": "flow", "description": value}) == [message]


def test_a_document_nested_too_deeply_is_refused() -> None:
    deep: object = "x"
    for _ in range(5000):
        deep = [deep]

    (said,) = problems({"id": "flow", "description": deep})

    assert said.endswith("is nested too deeply")


# Ways to execute


@pytest.mark.parametrize(
    "step",
    [
        {"run": "make test"},
        {"run": ["make", "test"]},
        {"prompt": "Do it."},
        {"command": "/fractary-repo:pr-merge"},
        {"skill": "fractary-work:issue-fetcher"},
        {"prompt": "Carefully.", "skill": "a:b", "command": "/a:b"},
        {"python": "acme.steps:build"},
        {"remote": True},
        {"run": "make", "remote": False},
    ],
)
def test_a_step_has_one_way_to_execute(step: dict[str, object]) -> None:
    assert warnings(step_alone(id="a", description="What it does", **step)) == []


@pytest.mark.parametrize(
    ("step", "ways"),
    [
        ({"run": "make", "prompt": "p"}, "run, prompt"),
        ({"run": "make", "python": "a:b"}, "run, python"),
        ({"command": "/a:b", "skill": "a:b", "remote": True}, "command, skill, remote"),
        ({"python": "a:b", "remote": True}, "python, remote"),
    ],
)
def test_a_step_with_two_ways_to_execute_is_refused(step: dict[str, object], ways: str) -> None:
    assert problems(step_alone(id="a", **step)) == [
        f"phases.build.steps[0]: has more than one thing to execute: {ways}"
    ]


@pytest.mark.parametrize("step", [{}, {"remote": False}, {"prompt": "  "}, {"description": ""}])
def test_a_step_without_a_way_to_execute_is_refused(step: dict[str, object]) -> None:
    assert problems(step_alone(id="a", **step)) == [
        "phases.build.steps[0]: has nothing to execute;"
        " add run, prompt, command, skill, python or remote: true"
    ]


def test_a_step_with_only_a_description_is_given_to_the_agent() -> None:
    read = read_workflow(step_alone(id="a", description="Write it.", config={"x": 1}))

    assert read_step(read).prompt == "Write it."
    assert read_step(read).config == {"x": 1}
    assert list(map(str, read.warnings)) == [
        "phases.build.steps[0]: has nothing to execute; its description becomes the agent's prompt"
    ]


@pytest.mark.parametrize("way", [{"run": "make"}, {"python": "a:b"}, {"remote": True}])
def test_only_an_agent_uses_a_config(way: dict[str, object]) -> None:
    read = read_workflow(step_alone(id="a", config={"x": 1}, **way))

    assert read_step(read).config == {}
    assert [warning.place for warning in read.warnings] == ["phases.build.steps[0].config"]


def test_a_command_line_is_split_like_a_shell_would() -> None:
    read = read_workflow(step_alone(id="a", run="git commit -m 'two words'"))

    assert read_step(read).run == ("git", "commit", "-m", "two words")


@pytest.mark.parametrize(
    ("run", "message"),
    [
        ("git commit -m 'open", "cannot be split into words: no closing quotation"),
        ("", "must name a program"),
        ("  ", "must name a program"),
        ("''", "must name a program"),
        ([], "must name a program"),
        (["", "x"], "must name a program"),
    ],
)
def test_a_command_line_that_names_no_program_is_refused(run: object, message: str) -> None:
    document = step_alone(id="a", run=run, description="What it does")

    assert problems(document) == [f"phases.build.steps[0].run: {message}"]


# Ids


def test_a_name_that_cannot_be_an_id_is_refused() -> None:
    (said,) = problems(step_alone(name="Fetch Work", prompt="p"))

    assert said.startswith("phases.build.steps[0].id: 'Fetch Work' cannot be an id")


def test_a_step_without_id_and_name_is_refused() -> None:
    assert problems(step_alone(prompt="p")) == ["phases.build.steps[0].id: missing key"]


def test_an_id_used_twice_in_a_file_is_refused_where_it_is_used_again() -> None:
    step = {"id": "a", "prompt": "p"}
    document = {"id": "flow", "phases": {"frame": {"steps": [step]}, "build": {"steps": [step]}}}

    assert problems(document) == [
        "phases.build.steps[0].id: the step id a is already used at phases.frame.steps[0]"
    ]


# Asking


def test_bare_option_names_become_options() -> None:
    read = read_workflow(
        workflow_with(
            requires_approval=True,
            options=["approve", {"value": "later", "action": "abort", "description": "Not now"}],
        )
    )

    assert read_step(read).options == (
        StepOption(value="approve"),
        StepOption(value="later", action=Action.ABORT, description="Not now"),
    )


def test_an_option_whose_action_cannot_be_known_is_refused() -> None:
    document = workflow_with(requires_approval=True, options=["approve", "maybe"])

    assert problems(document) == [
        "phases.build.steps[0].options[1]: the option 'maybe' needs an action"
        " (continue, revise, retry, skip, abort, answer)"
    ]


def test_a_selection_may_name_its_options_freely() -> None:
    document = workflow_with(
        requires_approval=True, approval_type="selection", options=["postgres", "sqlite"]
    )

    assert read_step(read_workflow(document)).approval_type is FeedbackType.SELECTION


@pytest.mark.parametrize("options", [{}, {"options": []}])
def test_a_selection_without_options_is_refused(options: dict[str, object]) -> None:
    document = workflow_with(requires_approval=True, approval_type="selection", **options)

    assert problems(document) == [
        "phases.build.steps[0].options: missing key; a selection needs options"
    ]


def test_an_option_offered_twice_is_refused() -> None:
    document = workflow_with(confirm=True, options=["confirm", "cancel", "confirm"])

    assert problems(document) == [
        "phases.build.steps[0].options[2]: the option confirm is offered twice"
    ]


@pytest.mark.parametrize(
    ("reviewers", "quorum", "refused"),
    [
        (["ann", "bob"], 2, False),
        (["ann", "bob"], 3, True),
        (["ann", "ann"], 2, True),
        (["ann", "group:leads"], 3, False),
        ([], 3, False),
    ],
)
def test_a_quorum_must_be_reachable(reviewers: list[str], quorum: int, refused: bool) -> None:
    document = workflow_with(requires_approval=True, reviewers=reviewers, quorum=quorum)

    if refused:
        (said,) = problems(document)
        assert said.startswith(f"phases.build.steps[0].quorum: asks for {quorum} of ")
    else:
        assert read_step(read_workflow(document)).quorum == quorum


@pytest.mark.parametrize(
    ("fields", "warned"),
    [
        ({"approval_type": "review"}, False),
        ({"options": ["approve", "request_changes"]}, False),
        ({"options": ["approve", {"value": "again", "action": "revise"}]}, False),
        ({}, True),
        ({"approval_type": "review", "options": ["approve", "reject"]}, True),
    ],
)
def test_a_limit_of_rounds_needs_an_option_that_requests_changes(
    fields: Document, warned: bool
) -> None:
    document = workflow_with(requires_approval=True, max_rounds=2, **fields)
    place = "phases.build.steps[0].max_rounds"

    assert warnings(document) == (
        [f"{place}: has no effect without the option request_changes"] if warned else []
    )
    assert read_step(read_workflow(document)).max_rounds == 2


@pytest.mark.parametrize(
    ("key", "value", "refused"),
    [
        ("question", "", "must not be empty"),
        ("question", 3, "must be a string, not a number"),
        ("question", "x" * 2001, "is longer than 2000 characters"),
        ("max_rounds", 0, "must be at least 1"),
        ("max_rounds", "3", "must be a whole number, not a string"),
        ("max_round", 3, "unknown key, did you mean max_rounds?"),
        ("questoin", "Fit?", "unknown key, did you mean question?"),
    ],
)
def test_what_words_and_limits_a_request_is_checked(key: str, value: object, refused: str) -> None:
    document = workflow_with(requires_approval=True, approval_type="review", **{key: value})

    assert problems(document) == [f"phases.build.steps[0].{key}: {refused}"]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("approval_type", "review"),
        ("options", ["approve"]),
        ("question", "Fit to ship?"),
    ],
)
def test_asking_keys_have_no_effect_on_a_step_that_does_not_ask(key: str, value: object) -> None:
    effect = f"phases.build.steps[0].{key}: has no effect without requires_approval or confirm"
    gated = workflow_with(**{key: value})
    gated["autonomy"] = {"require_approval_for": ["build:implement"]}

    assert warnings(workflow_with(**{key: value})) == [effect]
    assert warnings(workflow_with(**{key: value}, requires_approval=True)) == []
    assert warnings(workflow_with(**{key: value}, confirm=True)) == []
    assert warnings(gated) == []


@pytest.mark.parametrize(
    "gate",
    [
        {"phases": {"release": {"require_approval": True}}},
        {"autonomy": {"require_approval_for": ["release"]}},
        {"autonomy": {"pause_before_release": True}},
        {"autonomy": {"level": "assist"}},
    ],
)
def test_reviewers_of_a_gated_phase_are_no_mistake(gate: dict[str, dict[str, object]]) -> None:
    step = {"id": "merge", "prompt": "p", "reviewers": ["ann"]}
    release = {**gate.get("phases", {}).get("release", {}), "steps": [step]}  # type: ignore[dict-item]
    document = {"id": "flow", **gate, "phases": {"release": release}}

    assert warnings(document) == []


# Results


@pytest.mark.parametrize(
    ("document", "place"),
    [
        (workflow_with(result_handling={"on_failure": "continue"}), "phases.build.steps[0]."),
        (
            {"id": "flow", "phases": {"build": {"result_handling": {"on_failure": "continue"}}}},
            "phases.build.",
        ),
        ({"id": "flow", "result_handling": {"on_failure": "continue"}}, ""),
    ],
)
def test_a_failed_step_stops_whatever_the_file_says(document: object, place: str) -> None:
    assert warnings(document) == [
        f"{place}result_handling.on_failure: has no effect: a failed step always stops"
    ]


# Autonomy


@pytest.mark.parametrize("alias", ["assisted", "supervised"])
def test_older_names_of_a_level_are_understood(alias: str) -> None:
    read = read_workflow({"id": "flow", "autonomy": {"level": alias}})

    assert read.workflow.autonomy
    assert read.workflow.autonomy.level is AutonomyLevel.ASSIST
    assert [warning.place for warning in read.warnings] == ["autonomy.level"]


# Hooks


def hook(**keys: object) -> Document:
    whole = {"type": "script", "name": "notify", "path": "./notify.sh", **keys}
    return {"id": "flow", "hooks": {"post_release": [whole]}}


def only_hook(read: ReadWorkflow) -> Hook:
    ((only,),) = read.workflow.hooks.values()
    return only


def test_a_hook_is_read() -> None:
    read = read_workflow(hook(timeout=60, parameters={"channel": "ops"}))

    assert read.warnings == ()
    assert only_hook(read) == Hook(
        type=HookType.SCRIPT,
        name="notify",
        path="./notify.sh",
        timeout=60,
        parameters={"channel": "ops"},
    )


@pytest.mark.parametrize(
    ("on_error", "on_failure"), [("continue", "continue"), ("abort", "stop"), ("retry", "stop")]
)
def test_a_hooks_older_on_error_is_understood(on_error: str, on_failure: str) -> None:
    read = read_workflow(hook(on_error=on_error))

    assert only_hook(read).on_failure == on_failure
    assert [warning.place for warning in read.warnings] == ["hooks.post_release[0].on_error"]


def test_a_hook_that_asked_to_be_retried_is_told_that_it_stops() -> None:
    assert warnings(hook(on_error="retry")) == [
        "hooks.post_release[0].on_error:"
        " deprecated; a hook is never retried, read as on_failure: stop"
    ]


def test_a_hooks_result_handling_says_what_follows_its_failure() -> None:
    read = read_workflow(hook(result_handling={"on_failure": "continue"}))

    assert only_hook(read).on_failure == "continue"
    assert read.warnings == ()


def test_a_hooks_own_on_failure_counts_before_older_spellings() -> None:
    read = read_workflow(
        hook(on_failure="stop", on_error="continue", result_handling={"on_failure": "continue"})
    )

    assert only_hook(read).on_failure == "stop"


def test_other_result_handling_has_no_effect_on_a_hook() -> None:
    assert warnings(hook(result_handling={"on_warning": "stop"})) == [
        "hooks.post_release[0].result_handling.on_warning: has no effect on a hook"
    ]


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ({"id": "flow", "hooks": {"pre_biuld": []}}, "hooks.pre_biuld: must be pre_ or post_ and"),
        ({"id": "flow", "hooks": {"post_workflow": []}}, "hooks.post_workflow: must be pre_ or"),
        (hook(type="webhook"), "hooks.post_release[0].type: must be one of document, script,"),
        (hook(path=None), "hooks.post_release[0].path: missing key; a script hook needs it"),
        (hook(type="document", path=""), "hooks.post_release[0].path: missing key; a document"),
        (hook(type="skill"), "hooks.post_release[0].skill: missing key; a skill hook needs it"),
        (hook(type="prompt"), "hooks.post_release[0].prompt: missing key; a prompt hook needs"),
        (hook(failureMode="warn"), "hooks.post_release[0].failureMode: unknown key"),
        (hook(on_error="ignore"), "hooks.post_release[0].on_error: must be one of continue, abort"),
        (
            hook(on_failure="skip"),
            "hooks.post_release[0].on_failure: must be one of stop, continue",
        ),
        (
            hook(result_handling={"on_failure": "skip"}),
            "hooks.post_release[0].result_handling.on_failure: must be one of stop, continue",
        ),
        (
            hook(result_handling={"on_falure": "stop"}),
            "hooks.post_release[0].result_handling.on_falure: unknown key, did you mean on_f",
        ),
    ],
)
def test_a_hook_that_cannot_be_understood_is_refused(document: object, problem: str) -> None:
    (said,) = problems(document)

    assert said.startswith(problem)


# Whatever comes in

_WORDS = st.sampled_from(
    [
        *(field for model in (Workflow, WorkflowPhase, Step, Hook) for field in model.model_fields),
        *(*Phase, *FeedbackType, *Action, *HookType, *AutonomyLevel),
        *("value", "action", "level", "limits", "require_approval_for", "on_failure", "on_error"),
        *("pre_build", "stop", "group:leads", "a:b"),
    ]
)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | _WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_WORDS, inner, max_size=4),
    max_leaves=12,
)
_STEPS = st.lists(st.dictionaries(_WORDS, _VALUES, max_size=5), max_size=3)
_PHASES = st.dictionaries(_WORDS, st.dictionaries(_WORDS, _STEPS | _VALUES, max_size=3), max_size=3)
_DOCUMENTS = st.fixed_dictionaries(
    {"id": _WORDS},
    optional={
        "phases": _PHASES | _VALUES,
        "hooks": st.dictionaries(_WORDS, _STEPS, max_size=2) | _VALUES,
        "autonomy": st.dictionaries(_WORDS, _VALUES, max_size=4),
    },
)


@settings(deadline=None, max_examples=300)
@given(document=_DOCUMENTS | _VALUES)
def test_any_document_is_read_or_refused(document: object) -> None:
    with suppress(Invalid):
        read_workflow(document)


@pytest.mark.parametrize("name", ["reject", "Reject", "REQUEST CHANGES", "skip", "Abort"])
def test_an_option_people_know_keeps_its_meaning(name: str) -> None:
    offered = [{"value": name, "action": "continue"}]

    told = problems(workflow_with(requires_approval=True, options=offered))

    assert [problem.split(":")[0] for problem in told] == ["phases.build.steps[0].options[0]"]
    assert "always means" in told[0]
