import json
import re
from pathlib import Path

import pytest

from runs.domain.values.errors import Invalid, NotFound
from runs.domain.values.phases import Phase
from runs.domain.workflow.merge import make_plan
from runs.workflow_files.library import BUNDLED, known_workflows, load_chain, load_definition

SMALL = {"id": "small", "phases": {"build": {"steps": [{"id": "code", "run": "make"}]}}}


def write(path: Path, document: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return path


def child_of(parent: str, name: str = "child") -> dict[str, object]:
    return {"id": name, "extends": parent}


def names(reference: Path | str, workspace: Path | None = None) -> list[str]:
    return [w.id for w in load_chain(str(reference), workspace=workspace).workflows]


def problems(reference: Path, workspace: Path | None = None) -> list[str]:
    with pytest.raises(Invalid) as caught:
        load_chain(str(reference), workspace=workspace)
    return [str(problem) for problem in caught.value.problems]


def in_workspace(workspace: Path, name: str) -> Path:
    return workspace / ".fractary" / "faber" / "workflows" / name


# Bundled workflows


def test_the_bundled_workflows_are_read_without_a_warning() -> None:
    for name in known_workflows(None):
        chain = load_chain(name, workspace=None)

        assert chain.warnings == ()
        assert make_plan(chain.workflows).warnings == ()


def test_the_bundled_default_has_the_documented_steps() -> None:
    plan = make_plan(load_chain("default", workspace=None).workflows).plan

    assert plan.chain == ("default", "core")
    assert [unit.step.id for unit in plan.units] == [
        "core-fetch-or-create-issue",
        "core-switch-or-create-branch",
        "generate-spec",
        "refine-spec",
        "implement",
        "core-commit-and-push-build",
        "core-issue-review",
        "core-commit-and-push-evaluate",
        "core-create-pr",
        "core-review-pr-checks",
        "core-merge-pr",
    ]
    assert plan.phase(Phase.EVALUATE).max_retries == 3
    assert [phase.name for phase in plan.phases if phase.gated] == [Phase.RELEASE]


def test_the_bundled_core_can_be_planned_alone() -> None:
    plan = make_plan(load_chain("core", workspace=None).workflows).plan

    assert len(plan.step_keys) == 8
    assert plan.phase(Phase.ARCHITECT).left_out == "no steps"


# Finding files


@pytest.mark.parametrize("name", ["small.json", "small.yaml", "small.yml"])
def test_a_workflow_is_loaded_by_its_path(tmp_path: Path, name: str) -> None:
    path = write(tmp_path / name, SMALL)

    chain = load_chain(str(path), workspace=None)

    assert chain.path == path
    assert [workflow.id for workflow in chain.workflows] == ["small"]


def test_a_path_may_be_relative(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "small.json", SMALL)
    monkeypatch.chdir(tmp_path)

    assert load_chain("small.json", workspace=None).path == tmp_path / "small.json"


def test_a_workflow_of_the_workspace_is_loaded_by_its_id(tmp_path: Path) -> None:
    write(in_workspace(tmp_path, "small.yaml"), SMALL)

    assert names("small", tmp_path) == ["small"]


def test_a_parent_is_looked_for_beside_the_file_then_in_the_workspace_then_bundled(
    tmp_path: Path,
) -> None:
    workspace = tmp_path / "workspace"
    path = write(tmp_path / "child.json", child_of("core"))
    assert load_chain(str(path), workspace=workspace).workflows[1].description

    write(in_workspace(workspace, "core.yml"), {**SMALL, "id": "from-workspace"})
    assert names(path, workspace) == ["child", "from-workspace"]

    write(tmp_path / "core.json", {**SMALL, "id": "from-beside"})
    assert names(path, workspace) == ["child", "from-beside"]


def test_the_namespace_means_bundled_only(tmp_path: Path) -> None:
    write(tmp_path / "core.json", {**SMALL, "id": "impostor"})
    path = write(tmp_path / "child.json", child_of("fractary-faber:core"))

    assert names(path) == ["child", "core"]
    assert names("fractary-faber:default") == ["default", "core"]


def test_a_project_may_extend_the_bundled_workflow_of_its_own_name(tmp_path: Path) -> None:
    write(in_workspace(tmp_path, "default.json"), child_of("fractary-faber:default", "default"))

    assert names("default", tmp_path) == ["default", "default", "core"]


def test_the_ids_that_can_be_started_are_known(tmp_path: Path) -> None:
    write(in_workspace(tmp_path, "etl.yaml"), SMALL)
    write(in_workspace(tmp_path, "default.json"), SMALL)
    write(in_workspace(tmp_path, "notes.txt"), "not a workflow")

    assert {"core", "default"} <= set(known_workflows(None))
    assert known_workflows(tmp_path) == sorted({*known_workflows(None), "etl"})


def test_an_unknown_id_names_where_it_was_looked_for_and_the_nearest_one(tmp_path: Path) -> None:
    with pytest.raises(NotFound) as caught:
        load_chain("defualt", workspace=tmp_path)

    assert str(caught.value) == (
        f"There is no workflow defualt in {tmp_path}/.fractary/faber/workflows, {BUNDLED};"
        " did you mean default?"
    )


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ("acme:flow", "Unknown namespace acme. Use fractary-faber:."),
        ("faber@fractary-faber:core", "Unknown namespace faber@fractary-faber."),
        ("fractary-faber:nothing", f"There is no workflow nothing in {BUNDLED}."),
        ("../core", "'../core' is neither a .json, .yaml or .yml file nor a workflow's id."),
        ("", "'' is neither a .json, .yaml or .yml file nor a workflow's id."),
        ("nothing.json", "There is no file "),
        ("a\0b.json", "There is no file "),
        (f"{'a' * 5000}.json", ""),
    ],
)
def test_a_reference_that_leads_nowhere_is_not_found(reference: str, message: str) -> None:
    with pytest.raises(NotFound) as caught:
        load_chain(reference, workspace=None)

    assert str(caught.value).startswith(message)


def test_a_folder_is_no_workflow(tmp_path: Path) -> None:
    (tmp_path / "flow.json").mkdir()

    with pytest.raises(NotFound):
        load_chain(str(tmp_path / "flow.json"), workspace=None)


# Ancestors


def test_a_missing_parent_is_a_problem_of_the_file_that_names_it(tmp_path: Path) -> None:
    path = write(tmp_path / "child.json", child_of("etl-comon"))
    write(tmp_path / "etl-common.json", SMALL)

    (said,) = problems(path)

    assert said.startswith(f"extends: There is no workflow etl-comon in {tmp_path}, ")
    assert said.endswith("; did you mean etl-common?")


@pytest.mark.parametrize(
    "parent", ["../secret", "/etc/passwd", "a/b", "flow.json", "acme:flow", ""]
)
def test_a_parent_can_only_be_named_by_id(tmp_path: Path, parent: str) -> None:
    (said,) = problems(write(tmp_path / "child.json", child_of(parent)))

    assert said.startswith("extends: ")


def test_two_workflows_that_extend_each_other_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a.json", child_of("b", "a"))
    write(tmp_path / "b.json", child_of("a", "b"))

    assert problems(path) == ["b.json: extends: is a cycle: a → b → a"]


def test_a_workflow_that_extends_itself_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a.json", child_of("a", "a"))

    assert problems(path) == ["extends: is a cycle: a → a"]


def test_problems_and_warnings_of_an_ancestor_name_its_file(tmp_path: Path) -> None:
    path = write(tmp_path / "child.json", {**child_of("base"), "$schema": "x"})
    write(tmp_path / "base.yaml", {**SMALL, "$schema": "x"})

    assert [warning.place for warning in load_chain(str(path), workspace=None).warnings] == [
        "$schema",
        "base.yaml: $schema",
    ]

    write(tmp_path / "base.yaml", {**SMALL, "phasess": {}})

    assert problems(path) == ["base.yaml: phasess: unknown key, did you mean phases?"]


def test_every_file_of_the_chain_is_told_what_is_wrong_with_it(tmp_path: Path) -> None:
    path = write(tmp_path / "child.json", {**child_of("base"), "descripton": "x"})
    write(tmp_path / "base.json", {**child_of("root"), "autonmy": {}})
    write(tmp_path / "root.yaml", "id: }")

    assert [re.split(": (?:not valid|unknown)", line)[0] for line in problems(path)] == [
        "root.yaml: 1:5",
        "descripton",
        "base.json: autonmy",
    ]


def test_three_tiers_are_loaded_from_the_leaf_to_the_root(tmp_path: Path) -> None:
    path = write(tmp_path / "mine.yaml", "id: mine\nextends: etl-common\n")
    write(in_workspace(tmp_path, "etl-common.json"), child_of("default", "etl-common"))

    assert names(path, tmp_path) == ["mine", "etl-common", "default", "core"]


# Inline definitions


def test_an_inline_definition_may_extend_a_known_workflow(tmp_path: Path) -> None:
    write(in_workspace(tmp_path, "etl.json"), {**SMALL, "id": "etl"})

    chain = load_definition(child_of("etl"), workspace=tmp_path)

    assert chain.path is None
    assert [workflow.id for workflow in chain.workflows] == ["child", "etl"]


def test_a_circle_above_an_inline_definition_is_refused(tmp_path: Path) -> None:
    write(in_workspace(tmp_path, "a.json"), child_of("b", "a"))
    write(in_workspace(tmp_path, "b.json"), child_of("a", "b"))

    with pytest.raises(Invalid, match=r"b\.json: extends: is a cycle: child → a → b → a"):
        load_definition(child_of("a"), workspace=tmp_path)


def test_an_inline_definition_does_not_look_around_in_the_file_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "etl.json", SMALL)
    monkeypatch.chdir(tmp_path)

    with pytest.raises(Invalid):
        load_definition(child_of("etl"), workspace=None)


@pytest.mark.parametrize("document", [None, [], {"id": "x", "extends": 5}, {"extends": "default"}])
def test_an_inline_definition_that_is_none_is_refused(document: object) -> None:
    with pytest.raises(Invalid):
        load_definition(document, workspace=None)


# Documents


def test_yaml_is_read_like_json(tmp_path: Path) -> None:
    path = write(
        tmp_path / "flow.yaml",
        """
id: flow
description: 2026-01-01
phases:
  build:
    steps:
      - id: code
        run: [make, "all"]
        requires_approval: true
""",
    )

    (workflow,) = load_chain(str(path), workspace=None).workflows

    assert workflow.description == "2026-01-01"
    steps = workflow.phases[Phase.BUILD].steps
    assert steps
    assert steps[0].run == ("make", "all")
    assert steps[0].requires_approval


def test_a_byte_order_mark_is_no_mistake(tmp_path: Path) -> None:
    path = tmp_path / "flow.json"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(SMALL).encode())

    assert names(path) == ["small"]


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("f.json", '{"id": "f",\n "phases": }', "2:12: not valid JSON: expecting value"),
        ("f.json", "", "1:1: not valid JSON: expecting value"),
        ("f.json", '{"id": "f", "id": "g"}', "the key id appears twice in one object"),
        (
            "f.json",
            '{"id": "f", "description": NaN}',
            "description: contains a value that is not a number",
        ),
        ("f.json", '{"id": "\\ud800"}', "id: contains an invalid character"),
        ("f.yaml", "id: f\nphases: }", "2:9: not valid YAML: while parsing"),
        ("f.yaml", "id: f\n\tphases: x", "2:1: not valid YAML: while scanning"),
        ("f.yaml", "", "a workflow must be an object"),
        ("f.yaml", "id: f\n---\nid: g\n", "2:1: not valid YAML: expected a single document"),
        ("f.yaml", "id: f\nid: g\n", "2:1: the key id appears twice"),
        ("f.yaml", "id: f\non: x\n", "2:1: a key must be text; put it in quotes"),
        ("f.yaml", "id: f\n1: x\n", "2:1: a key must be text; put it in quotes"),
        ("f.yaml", "id: f\n? [a]\n: x\n", "2:3: a key must be text; put it in quotes"),
        ("f.yaml", "id: f\n<<: {a: b}\n", "2:1: a key must be text; put it in quotes"),
        ("f.yaml", "id: &a f\n", "1:5: anchors and aliases are not accepted"),
        ("f.yaml", "id: !!python/name:os.system x\n", "1:5: tags are not accepted"),
        ("f.yaml", "id: !!bool maybe\n", "1:5: tags are not accepted"),
        ("f.yaml", "id: 0b_\n", "not valid YAML: "),
        ("f.yaml", "id: f\0", "not valid YAML: "),
        ("f.yaml", "id: .inf", "id: contains a value that is not a number"),
        pytest.param("f.json", "[" * 100_000, "the file is nested too deeply", id="deep-json"),
        pytest.param("f.yaml", "[" * 100_000, "1:51: is nested too deeply", id="deep-yaml"),
        pytest.param("f.json", "9" * 5000, "not valid JSON: exceeds the limit", id="long-number"),
        pytest.param("f.json", "x" * 1_000_001, "the file is larger than 1 MB", id="large"),
    ],
)
def test_a_file_that_cannot_be_read_says_where(
    tmp_path: Path, name: str, text: str, problem: str
) -> None:
    (said,) = problems(write(tmp_path / name, text))

    assert said.startswith(problem)


def test_an_alias_bomb_is_refused_before_it_grows(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x, x]"]
    lines += [f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 40)]

    said = problems(write(tmp_path / "bomb.yaml", "\n".join(lines)))

    assert said[0] == "1:5: anchors and aliases are not accepted"


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "flow.yaml"
    path.write_bytes(b"id: \xff\xfe")

    assert problems(path) == ["the file is not UTF-8 text"]
