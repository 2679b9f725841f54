"""The commands that look at what somebody wrote: workflows, responses, markdown."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from django.core.management import CommandError
from pytest_django.fixtures import Settings

from runs.domain.responses import published
from runs.terminal import inputs
from tests import factories as f
from tests.commands import faber

pytestmark = pytest.mark.django_db


def put(folder: Path, document: object, name: str = "small.json") -> str:
    file = folder / name
    file.write_text(document if isinstance(document, str) else json.dumps(document))
    return str(file)


def test_a_good_workflow_is_valid(tmp_path: Path) -> None:
    answer = faber("validate", put(tmp_path, f.five_steps()), "--json")

    assert answer.code == 0
    assert answer.document == {"valid": True, "errors": [], "warnings": []}


def test_a_workflow_with_warnings_is_valid_and_they_are_told(tmp_path: Path) -> None:
    answer = faber("validate", put(tmp_path, f.five_steps(skip_steps=["nothing"])))

    assert answer.code == 0
    assert answer.lines == ["warning: skip_steps[0]: there is no step nothing to skip", "valid"]


@pytest.mark.parametrize("command", ["validate", "run"])
def test_a_refusal_that_would_continue_is_refused(tmp_path: Path, command: str) -> None:
    options = ["approve", {"value": "Reject", "action": "continue"}]
    step = f.step("one", requires_approval=True, options=options)

    answer = faber(command, put(tmp_path, f.workflow({"build": [step]})))

    assert answer.code == 2
    assert "'Reject' always means abort" in answer.out + answer.err


def test_every_problem_of_a_workflow_stands_on_its_own_line(tmp_path: Path) -> None:
    broken = f.workflow({"build": [f.step("one", requires_aproval=True)]}, colour="red")

    answer = faber("validate", put(tmp_path, broken))

    assert answer.code == 2
    assert sorted(answer.lines) == [
        "colour: unknown key",
        "phases.build.steps[0].requires_aproval: unknown key, did you mean requires_approval?",
    ]


def test_what_only_the_merge_finds_is_a_problem_too(tmp_path: Path) -> None:
    gated = f.five_steps(autonomy={"require_approval_for": ["nothing"]})

    answer = faber("validate", put(tmp_path, gated), "--json")

    assert answer.code == 2
    places = [error["place"] for error in answer.document["errors"]]
    assert places == ["autonomy.require_approval_for[0]"]


@pytest.mark.parametrize(
    ("wrong", "place"),
    [
        ({"colour": "red"}, "colour"),  # what the file says
        ({"budget": {"usd": 1, "tokens": 0}}, "budget.tokens"),
        ({"autonomy": {"require_approval_for": ["no"]}}, "autonomy.require_approval_for[0]"),
    ],
)
def test_an_error_leaves_the_warnings_to_be_told(tmp_path: Path, wrong: f.Json, place: str) -> None:
    step = f.step("go", requires_approval=True, reviewers=["nobody"])
    document = f.workflow({"build": [step]}, changelog=[], **wrong)

    answer = faber("validate", put(tmp_path, document), "--json")

    assert answer.code == 2
    assert place in [error["place"] for error in answer.document["errors"]]
    assert "changelog" in [warning["place"] for warning in answer.document["warnings"]]


def test_what_breaks_a_rule_leaves_the_warnings_of_the_plan_to_be_told(tmp_path: Path) -> None:
    twice = [f.step("go", requires_approval=True, reviewers=["nobody"]), f.step("go")]

    answer = faber("validate", put(tmp_path, f.workflow({"build": twice})), "--json")

    assert answer.code == 2
    assert [warning["place"] for warning in answer.document["warnings"]] == [
        "phases.build.steps[0].reviewers[0]"
    ]


@pytest.mark.parametrize("command", ["validate", "run"])
def test_a_command_whose_quotes_do_not_match_is_told_at_its_place(
    tmp_path: Path, command: str
) -> None:
    broken = f.workflow({"build": [{"id": "go", "run": "echo 'one"}]})

    answer = faber(command, put(tmp_path, broken))

    assert answer.code == 2
    place = "phases.build.steps[0].run"
    told = f"{place}: cannot be split into words: no closing quotation"
    assert told in (answer.out + answer.err).splitlines()


@pytest.mark.parametrize("written", [json.dumps, yaml.safe_dump])
def test_a_workflow_may_come_through_standard_input(written: Callable[[object], str]) -> None:
    good = f.workflow({"build": [f.step("one")]}, extends="core")
    broken = f.workflow({"build": [f.step("one", requires_aproval=True)]})

    assert faber("validate", "-", stdin=written(good)).code == 0
    answer = faber("validate", "-", "--json", stdin=written(broken))

    assert answer.code == 2
    assert [error["place"] for error in answer.document["errors"]] == [
        "phases.build.steps[0].requires_aproval"
    ]


@pytest.mark.parametrize("content", ["{", "", "[1, 2", '"text"', "\x00"])
def test_nothing_else_that_comes_through_it_is_a_workflow(content: str) -> None:
    assert faber("validate", "-", stdin=content).code == 2


@pytest.mark.parametrize("content", ["{", "", "[1, 2", '"text"', "\x00"])
def test_a_file_that_is_no_workflow_is_invalid(tmp_path: Path, content: str) -> None:
    answer = faber("validate", put(tmp_path, content), "--json")

    assert answer.code == 2
    assert answer.document["valid"] is False
    assert answer.document["errors"]


def test_validate_warns_of_an_agent_that_is_not_installed(
    tmp_path: Path, settings: Settings
) -> None:
    settings.FABER_AGENT_COMMAND = ("no-such-agent", "-p")
    asking = f.workflow({"build": [{"id": "code", "prompt": "Write it."}]})

    checked = faber("validate", put(tmp_path, asking))

    told = "Agent `no-such-agent` is not installed. Install it or set FABER_AGENT_COMMAND."
    assert (checked.code, checked.out) == (0, f"warning: {told}\nvalid\n")


def test_validate_warns_of_a_misspelt_placeholder(tmp_path: Path) -> None:
    step: f.Json = {"id": "go", "run": ["make", "{wrok_id}"]}

    answer = faber("validate", put(tmp_path, f.workflow({"build": [step]})), "--json")

    assert answer.code == 0
    assert answer.document["warnings"] == [
        {
            "place": "phases.build.steps[0].run",
            "message": "{wrok_id} is not known to a run, did you mean work_id?",
        }
    ]


@pytest.mark.parametrize("workflow", ["claude-code", "core", "default", "demo"])
def test_the_bundled_workflows_are_spelt_right(workflow: str) -> None:
    answer = faber("validate", workflow, "--json")

    assert not [w for w in answer.document["warnings"] if "not known to a run" in w["message"]]


@pytest.mark.parametrize("command", ["validate", "validate-response"])
def test_a_missing_file_is_not_found(tmp_path: Path, command: str) -> None:
    answer = faber(command, str(tmp_path / "nothing.json"))

    assert (answer.code, answer.out) == (6, "")
    assert str(tmp_path / "nothing.json") in answer.err


def test_a_response_from_standard_input_is_handed_back_in_its_canonical_form() -> None:
    answer = faber("validate-response", "-", "--json", stdin='{"success": true, "result": "ok"}')

    assert answer.code == 0
    assert answer.document["valid"] is True
    assert answer.document["response"]["status"] == "success"
    assert {warning["place"] for warning in answer.document["warnings"]} == {"success", "result"}


def test_every_problem_of_a_response_is_told(tmp_path: Path) -> None:
    file = put(tmp_path, {"status": "completed", "message": "m", "more": 1})

    answer = faber("validate-response", file)

    assert answer.code == 2
    assert [line.partition(":")[0] for line in answer.lines] == ["status", "more"]


@pytest.mark.parametrize(
    ("content", "place"),
    [
        (b"{bad", "1:2"),
        (b"", "1:1"),
        (b'{"a": NaN}', ""),
        (b'{"a": "\\ud800"}', ""),
        (b"[" * 100_000, ""),
        (b"\xff", "-"),
    ],
)
def test_bad_json_is_invalid_at_its_place(content: bytes, place: str) -> None:
    answer = faber("validate-response", "-", "--json", stdin=content)

    assert answer.code == 2
    assert [error["place"] for error in answer.document["errors"]] == [place]


def test_render_prints_the_html_the_site_shows() -> None:
    answer = faber("render", stdin="# Hi\n\n<script>alert(1)</script>\n")

    assert answer.code == 0
    assert "<h1" in answer.out
    assert "<script" not in answer.out
    assert faber("render", "--json", stdin="*a*").document["html"].count("<em>a</em>") == 1


def test_a_standard_input_that_was_closed_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "sys", SimpleNamespace(stdin=None))

    answer = faber("render")

    assert (answer.code, answer.err) == (2, "standard input: can't be read\n")


def test_validate_response_prints_the_schema_it_goes_by() -> None:
    for words in (["--schema"], ["--schema", "--json"]):
        answer = faber("validate-response", *words)
        assert answer.code == 0
        assert answer.document == json.loads(json.dumps(published.SCHEMA))
    for words in ([], ["-", "--schema"]):
        with pytest.raises(CommandError):
            faber("validate-response", *words)
