import itertools
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runs.domain.values.errors import Invalid
from runs.domain.values.phases import Phase
from runs.domain.workflow.definition import AutonomyLevel, CheckIn, ResultHandling, Workflow
from runs.domain.workflow.merge import MergedPlan, make_plan
from runs.domain.workflow.parse import read_workflow
from runs.domain.workflow.plan import Plan, PlannedPhase, Unit

Keys = dict[str, object]


def step(name: str, **keys: object) -> Keys:
    return {"id": name, "prompt": "Do it.", **keys}


def steps(*names: str) -> list[Keys]:
    return [step(name) for name in names]


def flow(name: str, phases: Keys | None = None, **keys: object) -> Workflow:
    return read_workflow({"id": name, "phases": phases or {}, **keys}).workflow


def ids(phase: PlannedPhase) -> list[str]:
    return [unit.step.id for unit in phase.units]


def planned(merged: MergedPlan, phase: str) -> list[str]:
    return ids(merged.plan.phase(Phase(phase)))


def unit(merged: MergedPlan, name: str) -> Unit:
    return next(
        unit for phase in merged.plan.phases for unit in phase.units if unit.step.id == name
    )


def problems(*chain: Workflow, **choice: object) -> list[str]:
    with pytest.raises(Invalid) as caught:
        make_plan(chain, **choice)  # type: ignore[arg-type]
    return [str(problem) for problem in caught.value.problems]


def said(merged: MergedPlan) -> list[str]:
    return [str(warning) for warning in merged.warnings]


CORE = flow(
    "core",
    {
        "frame": {"pre_steps": steps("core-fetch-or-create-issue", "core-switch-or-create-branch")},
        "architect": {"steps": []},
        "build": {"steps": [], "post_steps": steps("core-commit-and-push-build")},
        "evaluate": {
            "max_retries": 3,
            "pre_steps": steps("core-issue-review"),
            "steps": [],
            "post_steps": steps(
                "core-commit-and-push-evaluate", "core-create-pr", "core-review-pr-checks"
            ),
        },
        "release": {"require_approval": True, "post_steps": steps("core-merge-pr")},
    },
    autonomy={"level": "guarded", "require_approval_for": ["release"]},
)
DEFAULT = flow(
    "default",
    {
        "frame": {"enabled": True, "pre_steps": [], "steps": [], "post_steps": []},
        "architect": {"enabled": True, "steps": steps("generate-spec", "refine-spec")},
        "build": {"enabled": True, "steps": steps("implement")},
        "evaluate": {"enabled": True, "pre_steps": [], "steps": [], "post_steps": []},
        "release": {"enabled": True, "steps": []},
    },
    extends="core",
    autonomy={"level": "guarded", "require_approval_for": ["release"]},
)


# The order of steps


def test_the_default_workflow_has_eleven_steps_in_the_documented_order() -> None:
    plan = make_plan([DEFAULT, CORE]).plan

    assert plan.chain == ("default", "core")
    assert plan.step_keys == (
        "frame:core-fetch-or-create-issue",
        "frame:core-switch-or-create-branch",
        "architect:generate-spec",
        "architect:refine-spec",
        "build:implement",
        "build:core-commit-and-push-build",
        "evaluate:core-issue-review",
        "evaluate:core-commit-and-push-evaluate",
        "evaluate:core-create-pr",
        "evaluate:core-review-pr-checks",
        "release:core-merge-pr",
    )
    assert [(u.index, u.source, u.position) for u in plan.phase(Phase.BUILD).units] == [
        (0, "default", "step"),
        (1, "core", "post_step"),
    ]
    assert unit(make_plan([DEFAULT, CORE]), "core-issue-review").position == "pre_step"


def test_a_hotfix_keeps_inherited_steps_without_the_disabled_phase() -> None:
    hotfix = flow(
        "hotfix",
        {"architect": {"enabled": False}, "build": {"pre_steps": steps("lint")}},
        extends="default",
        skip_steps=["core-merge-pr"],
    )

    merged = make_plan([hotfix, DEFAULT, CORE])

    assert merged.plan.phase(Phase.ARCHITECT).left_out == "disabled"
    assert planned(merged, "build") == ["lint", "implement", "core-commit-and-push-build"]
    assert merged.plan.phase(Phase.RELEASE).left_out == "no steps"
    assert merged.plan.skipped_steps == ("core-merge-pr",)
    assert not any(key.startswith(("architect", "release")) for key in merged.plan.step_keys)
    assert said(merged) == []


def test_three_tiers_wrap_each_other() -> None:
    def tier(name: str, **keys: object) -> Workflow:
        around = {"pre_steps": steps(f"{name}-pre"), "post_steps": steps(f"{name}-post")}
        return flow(name, {"build": {**around, **keys}})

    chain = [tier("my", steps=steps("my-step")), tier("etl"), tier("base", steps=steps("lost"))]

    assert planned(make_plan(chain), "build") == [
        "base-pre",
        "etl-pre",
        "my-pre",
        "my-step",
        "my-post",
        "etl-post",
        "base-post",
    ]


@pytest.mark.parametrize(
    ("child", "expected"),
    [
        ({}, ["middle"]),
        ({"build": {}}, ["middle"]),
        ({"build": {"steps": []}}, []),
        ({"build": {"steps": steps("own")}}, ["own"]),
    ],
)
def test_the_nearest_file_that_defines_steps_wins(child: Keys, expected: list[str]) -> None:
    middle = flow("middle", {"build": {"steps": steps("middle")}})
    root = flow("root", {"build": {"steps": steps("root")}, "frame": {"steps": steps("always")}})

    assert planned(make_plan([flow("child", child), middle, root]), "build") == expected


# What a phase says


@pytest.mark.parametrize(
    ("told", "enabled"),
    [
        ((None, None), True),
        ((None, False), False),
        ((True, False), True),
        ((False, True), False),
        ((False, None), False),
    ],
)
def test_the_first_word_on_enabled_counts(told: tuple[bool | None, ...], enabled: bool) -> None:
    def phase(word: bool | None) -> Keys:
        return {"build": {} if word is None else {"enabled": word}}

    root = flow("root", {"frame": {"steps": steps("a")}, "build": {"steps": steps("b")}})
    chain = [flow("child", phase(told[0])), flow("middle", phase(told[1])), root]

    assert (make_plan(chain).plan.phase(Phase.BUILD).left_out == "") is enabled


@pytest.mark.parametrize(("told", "most"), [((None, 3), 3), ((0, 3), 0), ((2, 3), 2), ((None,), 0)])
def test_the_nearest_word_on_retries_counts(told: tuple[int | None, ...], most: int) -> None:
    chain = [
        flow("f", {"evaluate": {"pre_steps": steps(f"s{number}"), "max_retries": word}})
        for number, word in enumerate(told)
    ]

    assert make_plan(chain).plan.phase(Phase.EVALUATE).max_retries == most


def test_the_nearest_description_of_a_phase_is_shown() -> None:
    child = flow("child", {"build": {"description": ""}})
    root = flow("root", {"build": {"description": "Make it", "steps": steps("a")}})

    assert make_plan([child, root]).plan.phase(Phase.BUILD).description == "Make it"


# Gates


@pytest.mark.parametrize(
    ("phase", "autonomy", "gated"),
    [
        ({}, None, False),
        ({}, {"level": "guarded"}, False),
        ({}, {"level": "autonomous"}, False),
        ({}, {"level": "assist"}, True),
        ({}, {"pause_before_release": True}, True),
        ({}, {"require_approval_for": ["release"]}, True),
        ({}, {"require_approval_for": ["build"]}, False),
        ({"require_approval": True}, None, True),
        ({"require_approval": False}, {"require_approval_for": ["release"]}, True),
    ],
)
def test_a_release_is_gated_however_it_is_spelt(
    phase: Keys, autonomy: Keys | None, gated: bool
) -> None:
    phases = {"build": {"steps": steps("a")}, "release": {"steps": steps("b"), **phase}}
    chain = [read_workflow({"id": "f", "phases": phases, "autonomy": autonomy}).workflow]

    assert make_plan(chain).plan.phase(Phase.RELEASE).gated is gated


def test_assist_and_the_pause_gate_only_the_release() -> None:
    workflow = flow(
        "f",
        {"build": {"steps": steps("a")}, "release": {"steps": steps("b")}},
        autonomy={"level": "assist", "pause_before_release": True},
    )

    gated = [phase.name for phase in make_plan([workflow]).plan.phases if phase.gated]

    assert gated == [Phase.RELEASE]


def test_a_child_may_take_back_a_phase_approval() -> None:
    child = flow("child", {"release": {"require_approval": False}}, autonomy={})

    assert not make_plan([child, CORE]).plan.phase(Phase.RELEASE).gated


@pytest.mark.parametrize("entry", ["deploy", "release:deploy"])
def test_an_approval_asked_for_by_name_gates_the_step(entry: str) -> None:
    workflow = flow(
        "f",
        {"release": {"steps": steps("tag", "deploy")}},
        autonomy={"require_approval_for": [entry]},
    )

    merged = make_plan([workflow])

    assert unit(merged, "deploy").gated
    assert not unit(merged, "tag").gated
    assert not merged.plan.phase(Phase.RELEASE).gated


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("deploi", "no phase or step is deploi, did you mean deploy?"),
        ("build:deploy", "no phase or step is build:deploy, did you mean deploy?"),
        ("merge_to_main", "no phase or step is merge_to_main"),
    ],
)
def test_an_approval_that_names_nothing_is_refused(entry: str, message: str) -> None:
    workflow = flow(
        "f", {"release": {"steps": steps("deploy")}}, autonomy={"require_approval_for": [entry]}
    )

    assert problems(workflow) == [f"autonomy.require_approval_for[0]: {message}"]


def test_an_inherited_approval_that_lost_its_step_is_refused() -> None:
    root = flow(
        "root",
        {"release": {"steps": steps("deploy")}},
        autonomy={"require_approval_for": ["deploy"]},
    )
    child = flow("child", {"release": {"steps": steps("publish")}})

    assert problems(child, root) == [
        "root: autonomy.require_approval_for[0]: no phase or step is deploy"
    ]


def test_the_gate_of_a_skipped_step_goes_with_it() -> None:
    root = flow(
        "root",
        {"release": {"steps": steps("deploy", "tag")}},
        autonomy={"require_approval_for": ["deploy", "release:deploy"]},
    )

    assert make_plan([flow("child", skip_steps=["deploy"]), root]).plan.step_keys == (
        "release:tag",
    )


# Autonomy


def test_the_nearest_autonomy_counts_as_a_whole() -> None:
    child = flow("child", autonomy={"check_in_frequency": "per-step"})

    autonomy = make_plan([flow("leaf"), child, CORE]).plan.autonomy

    assert autonomy.check_in_frequency is CheckIn.PER_STEP
    assert autonomy.require_approval_for == ()


def test_without_any_autonomy_a_run_is_guarded() -> None:
    merged = make_plan([flow("f", {"build": {"steps": steps("a")}})])

    assert merged.plan.autonomy.level is AutonomyLevel.GUARDED


def test_a_level_chosen_at_the_start_replaces_the_written_one() -> None:
    plan = make_plan([DEFAULT, CORE], autonomy=AutonomyLevel.AUTONOMOUS).plan

    assert plan.autonomy.level is AutonomyLevel.AUTONOMOUS
    assert plan.autonomy.require_approval_for == ("release",)


def test_choosing_assist_gates_the_release() -> None:
    workflow = flow("f", {"release": {"steps": steps("a")}})

    plan = make_plan([workflow], autonomy=AutonomyLevel.ASSIST).plan

    assert plan.phase(Phase.RELEASE).gated


# What follows a result


def test_a_steps_word_counts_before_its_phase_and_the_workflow() -> None:
    workflow = flow(
        "f",
        {
            "frame": {"steps": steps("fetch")},
            "build": {
                "result_handling": {"on_warning": "prompt"},
                "steps": [step("code"), step("deploy", result_handling={"on_warning": "stop"})],
            },
        },
        result_handling={"on_warning": "continue", "on_success": "prompt"},
    )

    merged = make_plan([workflow])

    handling = {u.step.id: u.step.result_handling for u in merged.plan.units}
    assert {name: h.on_warning for name, h in handling.items()} == {
        "fetch": "continue",
        "code": "prompt",
        "deploy": "stop",
    }
    assert {h.on_success for h in handling.values()} == {"prompt"}


def test_a_childs_word_counts_before_its_parents_on_the_same_level() -> None:
    def tier(name: str, word: str, *named: str) -> Workflow:
        handling = {"on_warning": word}
        return flow(
            name,
            {"build": {"pre_steps": steps(*named), "result_handling": handling}},
            result_handling={"on_success": "prompt" if word == "stop" else "continue"},
        )

    merged = make_plan([tier("child", "stop"), tier("parent", "prompt", "code")])

    assert unit(merged, "code").step.result_handling.on_warning == "stop"
    assert unit(merged, "code").step.result_handling.on_success == "prompt"


def test_a_parents_phase_counts_before_the_childs_workflow() -> None:
    child = flow("child", result_handling={"on_warning": "stop"})
    parent = flow(
        "parent",
        {"build": {"steps": steps("code"), "result_handling": {"on_warning": "prompt"}}},
    )

    merged = make_plan([child, parent])

    assert unit(merged, "code").step.result_handling.on_warning == "prompt"


def test_a_step_about_which_nothing_is_said_has_the_defaults() -> None:
    continued = flow(
        "f", {"build": {"steps": [step("a", result_handling={"on_failure": "continue"})]}}
    )

    assert unit(make_plan([continued]), "a").step.result_handling == ResultHandling(
        on_success="continue", on_warning="continue", on_failure="stop", on_pending_input="wait"
    )


# Skipped, doubled and missing steps


def test_only_the_leaf_skips_steps() -> None:
    middle = flow("middle", {"frame": {"steps": steps("own")}}, skip_steps=["core-merge-pr"])

    assert "release:core-merge-pr" in make_plan([flow("leaf"), middle, CORE]).plan.step_keys


def test_an_unknown_step_to_skip_is_a_warning() -> None:
    merged = make_plan([flow("leaf", skip_steps=["merge-pr"]), DEFAULT, CORE])

    assert said(merged) == [
        "skip_steps[0]: there is no step merge-pr to skip, did you mean core-merge-pr?"
    ]
    assert merged.plan.skipped_steps == ()


def test_the_same_id_in_two_files_is_refused() -> None:
    child = flow("child", {"release": {"pre_steps": steps("implement")}})

    assert problems(child, DEFAULT, CORE) == [
        "phases.release.pre_steps:"
        " the step id implement of child is already used in build by default"
    ]


def test_skipping_a_doubled_id_settles_it() -> None:
    child = flow("child", {"release": {"pre_steps": steps("implement")}}, skip_steps=["implement"])

    assert make_plan([child, DEFAULT, CORE]).plan.skipped_steps == ("implement",)


@pytest.mark.parametrize(
    "chain", [[flow("empty")], [flow("child"), flow("root")], [flow("f", {"build": {"steps": []}})]]
)
def test_a_workflow_without_steps_is_refused(chain: list[Workflow]) -> None:
    assert problems(*chain) == ["phases: the workflow has no steps"]


def test_an_ancestor_that_gives_nothing_is_a_warning() -> None:
    merged = make_plan([DEFAULT, flow("empty"), CORE])

    assert said(merged) == ["extends: empty contributes no steps"]


def test_a_workflow_whose_every_step_is_disabled_is_refused() -> None:
    workflow = flow("f", {"build": {"enabled": False, "steps": steps("a")}})

    assert problems(workflow) == [
        "phases: nothing is left to execute: frame has no steps, architect has no steps,"
        " build is disabled, evaluate has no steps, release has no steps"
    ]


# Selection


def test_phases_that_were_not_chosen_are_left_out() -> None:
    plan = make_plan([DEFAULT, CORE], phases=[Phase.ARCHITECT, Phase.BUILD]).plan

    assert [phase.left_out for phase in plan.phases] == [
        "not selected",
        "",
        "",
        "not selected",
        "not selected",
    ]
    assert plan.step_keys[0] == "architect:generate-spec"
    assert plan.step_keys[-1] == "build:core-commit-and-push-build"


def test_a_chosen_phase_may_be_disabled_as_long_as_another_is_left() -> None:
    child = flow("child", {"architect": {"enabled": False}})

    plan = make_plan([child, DEFAULT, CORE], phases=["architect", "build"]).plan

    assert plan.phase(Phase.ARCHITECT).left_out == "disabled"
    assert plan.units[0].key == "build:implement"


ORDER = "frame, architect, build, evaluate, release"


@pytest.mark.parametrize(
    ("phases", "message"),
    [
        (["build", "frame"], f"phases: must be each once and in the order {ORDER}"),
        (["build", "build"], f"phases: must be each once and in the order {ORDER}"),
        (["biuld"], "phases: unknown phase biuld, did you mean build?"),
        (["zzz"], f"phases: unknown phase zzz; the phases are {ORDER}"),
        (["architect"], "phases: nothing is left to execute: frame is not selected, architect has"),
    ],
)
def test_phases_that_cannot_be_chosen_are_refused(phases: list[str], message: str) -> None:
    (only,) = problems(CORE, phases=phases)

    assert only.startswith(message)


@pytest.mark.parametrize("name", ["build:core-commit-and-push-build", "core-commit-and-push-build"])
def test_one_step_alone_can_be_chosen(name: str) -> None:
    hooked = flow(
        "leaf", hooks={"pre_build": [{"type": "document", "name": "rules", "path": "RULES.md"}]}
    )

    plan = make_plan([hooked, DEFAULT, CORE], step=name).plan

    assert [(u.key, u.index) for u in plan.units] == [("build:core-commit-and-push-build", 1)]
    assert plan.phase(Phase.FRAME).left_out == "not selected"


def test_a_gate_stays_before_a_step_chosen_alone() -> None:
    assert make_plan([DEFAULT, CORE], step="core-merge-pr").plan.phase(Phase.RELEASE).gated


def test_an_unknown_step_is_refused_with_the_known_ones() -> None:
    workflow = flow("f", {"frame": {"steps": steps("fetch")}, "build": {"steps": steps("code")}})

    assert problems(workflow, step="cod") == [
        "step: there is no step cod, did you mean code? The steps are frame:fetch, build:code."
    ]
    assert problems(workflow, step="frame:code")[0].startswith("step: there is no step frame:code")
    assert problems(workflow, step="zzz") == [
        "step: there is no step zzz. The steps are frame:fetch, build:code."
    ]


def test_a_step_of_a_disabled_phase_cannot_be_chosen() -> None:
    child = flow("child", {"build": {"enabled": False}})

    (only,) = problems(child, DEFAULT, CORE, step="implement")

    assert "build is disabled" in only


def test_phases_and_a_step_cannot_be_chosen_together() -> None:
    assert problems(CORE, phases=["build"], step="core-merge-pr") == [
        "phases: choose phases or a step, not both"
    ]


# Hooks


def test_hooks_stand_at_their_phases_boundary() -> None:
    def tier(name: str, **keys: object) -> Workflow:
        hooks = {
            side: [{"type": "prompt", "name": f"{name} hook", "prompt": "p"}]
            for side in ("pre_build", "post_build")
        }
        return flow(name, {"build": {"pre_steps": steps(f"{name}-pre"), **keys}}, hooks=hooks)

    merged = make_plan([tier("child", steps=steps("code")), tier("root")])

    assert [(u.step.id, u.index, u.source) for u in merged.plan.units] == [
        ("pre_build-root-hook", 0, "root"),
        ("pre_build-child-hook", 0, "child"),
        ("root-pre", 0, "root"),
        ("child-pre", 1, "child"),
        ("code", 2, "child"),
        ("post_build-child-hook", 2, "child"),
        ("post_build-root-hook", 2, "root"),
    ]
    assert merged.plan.step_keys == ("build:root-pre", "build:child-pre", "build:code")


def hooked(**keys: object) -> Unit:
    workflow = flow(
        "f",
        {"build": {"steps": steps("code")}},
        hooks={"pre_build": [{"name": "Check it!", **keys}]},
    )
    return make_plan([workflow]).plan.units[0]


def test_a_script_hook_runs_its_file_in_the_workspace() -> None:
    found = hooked(type="script", path="scripts/check.sh", timeout=60, parameters={"level": 2})

    assert found.is_hook
    assert found.step.id == "pre_build-check-it"
    assert found.step.title == "Check it!"
    assert found.step.run == ("scripts/check.sh",)
    assert found.step.timeout == 60
    assert found.step.config == {"level": 2}


def test_a_script_is_never_looked_for_in_the_path() -> None:
    assert hooked(type="script", path="check.sh").step.run == ("./check.sh",)


def test_skill_and_prompt_hooks_go_to_the_agent() -> None:
    skill = hooked(type="skill", skill="infra-tester", config={"strict": True}).step
    prompt = hooked(type="prompt", prompt="Look again.").step

    assert (skill.skill, skill.prompt, skill.config) == ("infra-tester", None, {"strict": True})
    assert (prompt.skill, prompt.prompt) == (None, "Look again.")


def test_a_document_hook_only_adds_its_file() -> None:
    found = hooked(type="document", path="docs/STANDARDS.md")

    assert found.document == "docs/STANDARDS.md"
    assert (found.step.run, found.step.prompt, found.step.skill) == (None, None, None)


@pytest.mark.parametrize("word", ["stop", "continue"])
def test_a_hook_keeps_what_follows_its_failure(word: str) -> None:
    found = hooked(type="script", path="./a.sh", on_failure=word)

    assert found.step.result_handling.on_failure == word


def test_hooks_of_one_name_get_ids_of_their_own() -> None:
    hook = {"type": "prompt", "name": "check", "prompt": "p"}
    workflow = flow(
        "f",
        {"build": {"steps": steps("pre_build-check")}},
        hooks={"pre_build": [hook, hook, {**hook, "name": "…"}]},
    )

    assert planned(make_plan([workflow]), "build") == [
        "pre_build-check-2",
        "pre_build-check-3",
        "pre_build-prompt",
        "pre_build-check",
    ]


def test_hooks_of_a_phase_without_steps_do_not_run() -> None:
    workflow = flow(
        "f",
        {"build": {"steps": steps("code")}},
        hooks={"post_release": [{"type": "prompt", "name": "tell", "prompt": "p"}]},
    )

    merged = make_plan([workflow])

    assert [u.step.id for u in merged.plan.units] == ["code"]
    assert said(merged) == ["phases.release: has no steps, so its hooks do not run"]


# The plan as a value


def test_a_plan_survives_being_stored() -> None:
    plan = make_plan([DEFAULT, CORE]).plan

    again = Plan.read(plan.dump())

    assert again == plan
    assert again.digest == plan.digest


def _tier(number: int, draw: st.DrawFn) -> Workflow:
    names = (f"t{number}-{count}" for count in itertools.count())

    def some() -> list[Keys]:
        return steps(*itertools.islice(names, draw(st.integers(0, 2))))

    def part() -> Keys:
        enabled = draw(st.sampled_from([{}, {"enabled": True}, {"enabled": False}]))
        own: Keys = {"steps": some()} if draw(st.booleans()) else {}
        return {"pre_steps": some(), "post_steps": some(), **own, **enabled}

    chosen: Iterable[Phase] = draw(st.sets(st.sampled_from(Phase)))
    return flow(f"t{number}", {phase: part() for phase in chosen})


@st.composite
def _chains(draw: st.DrawFn) -> list[Workflow]:
    return [_tier(number, draw) for number in range(draw(st.integers(1, 4)))]


@settings(deadline=None)
@given(chain=_chains())
def test_a_plan_holds_every_pre_and_post_step_once_in_phase_order(chain: list[Workflow]) -> None:
    try:
        plan = make_plan(chain).plan
    except Invalid:
        return
    placed = [u for phase in plan.phases for u in phase.units]
    around = {s.id for w in chain for p in w.phases.values() for s in (*p.pre_steps, *p.post_steps)}

    assert [phase.name for phase in plan.phases] == list(Phase)
    assert len({u.key for u in placed}) == len(placed)
    assert around <= {u.step.id for u in placed}
    for phase in plan.phases:
        assert [u.index for u in phase.units] == list(range(len(phase.units)))
        positions = [u.position for u in phase.units]
        assert positions == sorted(positions, key=["pre_step", "step", "post_step"].index)
        assert len({u.source for u in phase.units if u.position == "step"}) <= 1
