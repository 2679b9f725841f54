"""Who may start what: gates that are left out, folders of others, reviewers nobody knows."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from runs.domain.values.actors import Role, Scope
from runs.engine import starting
from runs.models import Project, Run
from tests import factories as f
from tests.api_client import Program, account, body_of, error_of, program
from tests.commands import faber

pytestmark = pytest.mark.django_db


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a project with a workflow of its own, which asks twice."""
    workflows = tmp_path / ".fractary" / "faber" / "workflows"
    workflows.mkdir(parents=True)
    document = f.workflow(
        {
            "architect": [f.step("spec", requires_approval=True)],
            "build": [f.step("make")],
            "release": {"steps": [f.step("ship")], "require_approval": True},
        }
    )
    (workflows / "small.json").write_text(json.dumps(document))
    Project.objects.create(name="Acme/App", workspace=str(tmp_path))
    return tmp_path


@pytest.fixture
def reviewer() -> Program:
    return program(Scope.REVIEWER, account("rita", Role.REVIEWER))


@pytest.fixture
def operator() -> Program:
    return program(Scope.OPERATOR, account("olga", Role.OPERATOR))


SMALL = {"workflow": "small", "project": "Acme/App"}


@pytest.mark.parametrize(
    ("chosen", "told", "gates"),
    [
        ({"phases": ["release"]}, "skips the gates architect:spec", ["architect:spec"]),
        (
            {"phases": ["build"]},
            "skips the gates architect:spec, release",
            ["architect:spec", "release"],
        ),
        (
            {"autonomy": "autonomous"},
            "asks for more autonomy (autonomous) than the workflow allows"
            " for its gates architect:spec, release",
            ["architect:spec", "release"],
        ),
    ],
)
def test_a_start_behind_a_gate_is_for_operators(
    folder: Path, reviewer: Program, chosen: f.Json, told: str, gates: list[str]
) -> None:
    response = reviewer.post("/runs", {**SMALL, **chosen})

    assert response.status_code == 403
    assert error_of(response)["message"] == f"This start {told}. Only operators can do that."
    assert error_of(response)["details"] == {"gates": gates}
    assert not Run.objects.exists()


def test_what_an_operator_left_out_is_on_record(folder: Path, operator: Program) -> None:
    started = body_of(operator.post("/runs", {**SMALL, "phases": ["release"]}))

    assert left_out_of(started["run_id"]) == ["architect:spec"]


def left_out_of(run_id: str) -> object:
    start = Run.objects.get(run_id=run_id).events.get(type="workflow_start").document
    return start["metadata"].get("gates_left_out")


def test_what_a_batch_of_an_operator_left_out_is_on_record(folder: Path, operator: Program) -> None:
    operator.post("/batches", {**SMALL, "work_ids": ["1", "2"], "phases": ["build"]})

    started = [left_out_of(run.run_id) for run in Run.objects.all()]
    assert started == [["architect:spec", "release"]] * 2


def test_a_whole_start_has_nothing_left_out_on_record(folder: Path, reviewer: Program) -> None:
    started = body_of(reviewer.post("/runs", SMALL))

    run = Run.objects.get(run_id=started["run_id"])
    assert "gates_left_out" not in run.events.get(type="workflow_start").document["metadata"]


def test_a_batch_behind_a_gate_is_for_operators(folder: Path, reviewer: Program) -> None:
    response = reviewer.post("/batches", {**SMALL, "work_ids": ["1", "2"], "phases": ["build"]})

    assert response.status_code == 403
    assert "architect:spec" in error_of(response)["message"]


def test_a_rerun_behind_a_gate_is_for_operators(
    folder: Path, reviewer: Program, operator: Program
) -> None:
    first = body_of(reviewer.post("/runs", SMALL))["run_id"]

    refused = reviewer.post(f"/runs/{first}/rerun", {"phases": ["release"]})

    assert refused.status_code == 403
    again = body_of(operator.post(f"/runs/{first}/rerun", {"phases": ["release"]}))
    assert left_out_of(again["run_id"]) == ["architect:spec"]


def test_a_bigger_budget_than_the_workflow_s_is_for_operators(
    folder: Path, reviewer: Program, operator: Program
) -> None:
    file = folder / ".fractary/faber/workflows/small.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "budget": {"usd": 5}}))

    refused = reviewer.post("/runs", {**SMALL, "budget": {"usd": 6}})
    less = body_of(reviewer.post("/runs", {**SMALL, "budget": {"usd": 2}}))
    more = body_of(operator.post("/runs", {**SMALL, "budget": {"usd": 6}}))

    assert refused.status_code == 403
    assert "asks for more than the workflow's budget of $5.00" in error_of(refused)["message"]
    assert (less["budget"]["usd"], more["budget"]["usd"]) == (2, 6)
    start = Run.objects.get(run_id=more["run_id"]).events.get(type="workflow_start").document
    assert start["metadata"]["budget"] == {"usd": 6}


@pytest.mark.parametrize("budget", [{}, {"usd": 0}, {"dollars": 5}, 5])
def test_a_start_with_a_budget_of_nothing_is_refused(
    folder: Path, reviewer: Program, budget: object
) -> None:
    response = reviewer.post("/runs", {**SMALL, "budget": budget})

    assert response.status_code == 422
    assert error_of(response)["details"]["problems"][0]["place"].startswith("budget")
    assert not Run.objects.exists()


def test_the_terminal_sets_a_budget_for_one_run(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)

    started = faber("run", "small", "--detach", "--budget", "2.50", "--json")
    refused = faber("run", "small", "--detach", "--budget", "a lot", "--json")

    assert started.document["budget"] == {"usd": 2.5, "tokens": None}
    assert refused.code == 2


def test_the_page_refuses_a_start_with_more_freedom(folder: Path, client: Client) -> None:
    client.force_login(account("rosa", Role.REVIEWER))

    response = client.post(
        "/start/", {"project": "Acme/App", "workflow": "small", "autonomy": "autonomous"}
    )

    assert response.status_code == 403
    assert b"Only operators can do that" in response.content
    assert not Run.objects.exists()


def test_the_terminal_is_an_operators(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)

    answer = faber("run", "small", "--phase", "build", "--json")

    assert answer.code == 0
    run = Run.objects.get(run_id=answer.document["run_id"])
    start = run.events.get(type="workflow_start").document
    assert start["metadata"]["gates_left_out"] == ["architect:spec", "release"]


def test_another_name_for_a_projects_folder_needs_an_operator(
    folder: Path, reviewer: Program, operator: Program
) -> None:
    other = {"workflow": "small", "project": "Acme/Other", "workspace": str(folder)}

    response = reviewer.post("/runs", other)

    assert response.status_code == 403
    assert "belongs to Acme/App" in error_of(response)["message"]
    assert not Project.objects.filter(name="Acme/Other").exists()
    assert body_of(operator.post("/runs", other))["project"] == "Acme/Other"


def test_a_link_to_a_projects_folder_is_that_folder(
    folder: Path, reviewer: Program, tmp_path_factory: pytest.TempPathFactory
) -> None:
    link = tmp_path_factory.mktemp("links") / "elsewhere"
    link.symlink_to(folder)
    other = {"workflow": "small", "project": "Acme/Other", "workspace": str(link)}

    assert reviewer.post("/runs", other).status_code == 403


def test_a_folder_without_a_name_goes_by_its_owners(folder: Path) -> None:
    run, _ = starting.start(starting.Wish(workflow="small", workspace=folder), f.STARTER)

    assert run.project.name == "Acme/App"


def named(reviewers: list[str]) -> f.Json:
    return f.workflow({"build": [f.step("make", requires_approval=True, reviewers=reviewers)]})


def test_reviewers_nobody_knows_are_refused_at_the_start(operator: Program) -> None:
    response = operator.post("/runs", {"workflow": named(["olgo"])})

    assert response.status_code == 422
    assert error_of(response)["details"]["problems"] == [
        {
            "place": "phases.build.steps[0].reviewers[0]",
            "message": "there is no account olgo, did you mean olga?",
        }
    ]
    assert not Run.objects.exists()


def test_an_empty_list_of_reviewers_is_refused_at_the_start(operator: Program) -> None:
    assert operator.post("/runs", {"workflow": named([])}).status_code == 422


def test_reviewers_of_a_project_that_are_gone_are_refused_at_the_start(
    folder: Path, reviewer: Program
) -> None:
    Project.objects.update(reviewers=["gone"])

    response = reviewer.post("/runs", SMALL)

    assert response.status_code == 422
    assert error_of(response)["details"]["problems"][0]["place"] == "project.reviewers[0]"


def test_the_terminal_refuses_unknown_reviewers_with_2(tmp_path: Path) -> None:
    file = tmp_path / "w.json"
    file.write_text(json.dumps(named(["nobody"])))

    answer = faber("run", str(file), "--workspace", str(tmp_path))

    assert answer.code == 2
    assert "phases.build.steps[0].reviewers[0]: there is no account nobody" in answer.err


def test_validate_warns_of_unknown_reviewers(tmp_path: Path) -> None:
    file = tmp_path / "w.json"
    file.write_text(json.dumps(named(["nobody"])))

    answer = faber("validate", str(file), "--json")

    assert answer.code == 0
    assert [warning["place"] for warning in answer.document["warnings"]] == [
        "phases.build.steps[0].reviewers[0]"
    ]


def test_the_demo_is_not_started_in_a_project_of_others(reviewer: Program) -> None:
    Project.objects.create(name="faber/demo", visibility="members")

    response = reviewer.post("/runs", {"workflow": "demo"})

    assert response.status_code == 404
    assert not Run.objects.exists()


def problems_of(response: Any) -> set[str]:
    assert response.status_code == 422
    return {each["place"] for each in error_of(response)["details"]["problems"]}


def test_a_start_is_told_all_that_is_wrong_with_it(folder: Path, operator: Program) -> None:
    definition = f.workflow({"build": [f.step("make", reviewers=[])]}, colour="red")
    wrong = {"phases": ["biuld"], "autonomy": "wild", "work_id": "-x", "project": "Acme/App"}

    inline = operator.post("/runs", {"workflow": definition, **wrong})
    named = operator.post("/runs", {"workflow": "small", **wrong})

    assert problems_of(inline) == {"colour", "phases", "autonomy", "work_id"}
    assert problems_of(named) == {"phases", "autonomy", "work_id"}


def test_unknown_reviewers_are_told_beside_what_breaks_a_rule(
    folder: Path, operator: Program
) -> None:
    odd = {"value": "reject", "action": "continue"}
    steps = [
        f.step("one", requires_approval=True, options=["approve", odd], reviewers=["nobody"]),
        f.step("two", requires_approval=True, reviewers=[]),
    ]

    refused = operator.post("/runs", {"workflow": f.workflow({"build": steps})})

    place = "phases.build.steps"
    options = f"{place}[0].options[1]"
    assert problems_of(refused) == {options, f"{place}[0].reviewers[0]", f"{place}[1].reviewers"}
