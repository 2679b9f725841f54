"""Runs over HTTP: started, listed, looked at, steered."""

from pathlib import Path
from typing import Any

import pytest
from pytest_django.fixtures import Settings

from runs.context import store
from runs.domain.values.actors import Role, Scope
from runs.engine import starting
from runs.models import Project, Run
from tests import factories as f
from tests.api_client import Program, account, body_of, error_of, program

pytestmark = pytest.mark.django_db

RUN_JSON = {
    *("run_id", "title", "work_id", "project", "workflow_id", "status"),
    *("current_phase", "current_step"),
    *(
        "resume_point",
        "progress",
        "artifacts",
        "batch_id",
        "started_by",
        "outcome",
        "ended_by",
        "late_results",
        "rerun_of",
        "rerun_from",
        "created_at",
        "started_by_token",
    ),
    *("cost_usd", "input_tokens", "output_tokens", "budget"),
    *("updated_at", "completed_at", "error", "pending_request", "due_at", "url"),
}


@pytest.fixture
def operator() -> Program:
    return program(Scope.OPERATOR, account("olga", Role.OPERATOR))


@pytest.fixture
def reviewer() -> Program:
    return program(Scope.REVIEWER, account("rita", Role.REVIEWER))


@pytest.fixture
def agent() -> Program:
    return program(Scope.AGENT, name="bot")


@pytest.fixture
def run() -> Run:
    return f.started(f.five_steps(), work_id="124")


def test_a_known_workflow_is_started_by_its_id(reviewer: Program) -> None:
    response = reviewer.post(
        "/runs", {"workflow": "core", "work_id": 124, "project": "Acme/App", "inputs": {"n": 3}}
    )

    assert response.status_code == 201
    document = body_of(response)
    assert set(document) == RUN_JSON | {"warnings"}
    assert (document["work_id"], document["project"]) == ("124", "Acme/App")
    assert document["started_by"] == "rita"
    run = Run.objects.get(run_id=document["run_id"])
    assert run.started_by_user is not None
    assert run.inputs == {"n": "3"}


def test_what_may_be_left_out_may_be_null(operator: Program) -> None:
    """As a run's own document has it."""
    first = body_of(operator.post("/runs", {"workflow": "core", "work_id": None, "inputs": None}))
    again = operator.post(f"/runs/{first['run_id']}/rerun", {"autonomy": None, "from": None})

    assert first["work_id"] is None
    assert again.status_code == 201
    refused = operator.post("/runs", {"workflow": None, "wrok_id": None})
    problems = error_of(refused)["details"]["problems"]
    assert {problem["place"] for problem in problems} == {"workflow", "wrok_id"}


def test_a_start_warns_of_an_agent_that_is_not_installed_here(
    operator: Program, settings: Settings
) -> None:
    settings.FABER_AGENT_COMMAND = ("no-such-agent",)
    asking = f.workflow({"build": [{"id": "code", "prompt": "Write it."}]})

    warned = body_of(operator.post("/runs", {"workflow": asking}))
    quiet = body_of(operator.post("/runs", {"workflow": f.five_steps()}))

    assert warned["warnings"] == [
        "Agent `no-such-agent` is not installed. Install it or set FABER_AGENT_COMMAND."
    ]
    assert quiet["warnings"] == []


def test_the_demo_needs_nothing_but_its_name(reviewer: Program) -> None:
    document = body_of(reviewer.post("/runs", {"workflow": "demo"}))

    assert document["project"] == "faber/demo"


def test_a_definition_of_ones_own_needs_an_operators_token(
    reviewer: Program, operator: Program
) -> None:
    body = {"workflow": f.five_steps()}

    assert error_of(reviewer.post("/runs", body))["code"] == "not_allowed"
    assert body_of(operator.post("/runs", body))["workflow_id"] == "small"


def test_a_run_of_ones_own_definition_can_be_run_again(operator: Program) -> None:
    first = body_of(operator.post("/runs", {"workflow": f.five_steps()}))

    again = operator.post(f"/runs/{first['run_id']}/rerun", {"autonomy": "dry-run"})

    assert again.status_code == 201
    assert body_of(again)["run_id"] != first["run_id"]
    assert Run.objects.get(run_id=body_of(again)["run_id"]).autonomy == "dry-run"


def test_a_workspace_that_no_project_registered_needs_an_operators_token(
    reviewer: Program, operator: Program, tmp_path: Path
) -> None:
    known, other = tmp_path / "known", tmp_path / "other"
    known.mkdir()
    other.mkdir()
    Project.objects.create(name="Acme/App", workspace=str(known))

    def start(caller: Program, workspace: str) -> int:
        body = {"workflow": "core", "project": "Acme/App", "workspace": workspace}
        return caller.post("/runs", body).status_code

    assert start(reviewer, str(known)) == 201
    assert start(reviewer, str(known / ".." / "other")) == 403
    assert start(operator, str(other)) == 201
    assert start(operator, "other") == 422


def test_a_project_brings_its_own_workspace(reviewer: Program, tmp_path: Path) -> None:
    Project.objects.create(name="Acme/App", workspace=str(tmp_path))

    document = body_of(reviewer.post("/runs", {"workflow": "core", "project": "acme/app"}))

    run = Run.objects.get(run_id=document["run_id"])
    assert (run.project.name, run.workspace) == ("Acme/App", str(tmp_path))


FETCH = f.workflow({"build": [{"id": "fetch", "run": ["git", "fetch", "x", "{target}", "{v}"]}]})


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ({"target": "--upload-pack=touch x", "inputs": {"v": "1"}}, "target"),
        ({"target": "main", "inputs": {"v": "-o"}}, "inputs.v"),
        ({"target": "main", "work_id": "-1"}, "work_id"),
    ],
)
def test_a_value_that_would_be_an_option_starts_nothing(
    operator: Program, given: dict[str, object], place: str
) -> None:
    response = operator.post("/runs", {"workflow": FETCH, "project": "Acme/New", **given})

    assert response.status_code == 422
    assert [problem["place"] for problem in error_of(response)["details"]["problems"]] == [place]
    assert not Run.objects.exists()
    assert not Project.objects.filter(name="Acme/New").exists()


def test_a_run_from_before_with_a_wrong_work_id_is_not_run_again(operator: Program) -> None:
    first = body_of(operator.post("/runs", {"workflow": f.five_steps(), "work_id": "1"}))
    Run.objects.update(work_id="--all")

    again = operator.post(f"/runs/{first['run_id']}/rerun")

    assert again.status_code == 422
    assert "beginning with a letter or digit" in str(error_of(again))
    assert Run.objects.count() == 1


def test_what_else_is_wrong_is_told_beside_an_unknown_workflow(operator: Program) -> None:
    body = {"workflow": "nothing-like-it", "work_id": "a b", "autonomy": "wild", "phases": ["odd"]}

    problems = error_of(operator.post("/runs", body))["details"]["problems"]

    assert [each["place"] for each in problems] == ["workflow", "autonomy", "work_id", "phases"]


def test_every_problem_of_a_definition_is_told(operator: Program) -> None:
    wrong = f.workflow({"build": [f.step("a", nme="x"), f.step("b", requires_aproval=True)]})

    response = operator.post("/runs", {"workflow": wrong})

    assert response.status_code == 422
    problems = error_of(response)["details"]["problems"]
    assert [problem["place"] for problem in problems] == [
        "phases.build.steps[0].nme",
        "phases.build.steps[1].requires_aproval",
    ]
    assert Run.objects.count() == 0


@pytest.mark.parametrize(
    ("body", "problems"),
    [
        ({"workflow": 5}, {"workflow": "must be a string or an object"}),
        (
            {"workflow": "core", "work_id": 1.5, "inputs": {"a": [], "b": 1}},
            {
                "work_id": "must be a string or an integer",
                "inputs.a": "must be a string or an integer or a number or true or false",
            },
        ),
        ({"workflow": "core", "phases": ["build", 5]}, {"phases.1": "must be a string"}),
        ([], {"": "must be an object"}),
    ],
)
def test_a_value_of_the_wrong_type_is_named_once_where_it_was_sent(
    operator: Program, body: object, problems: dict[str, str]
) -> None:
    found = error_of(operator.post("/runs", body))["details"]["problems"]

    assert {each["place"]: each["message"] for each in found} == problems
    assert len(found) == len(problems)


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({}, "workflow"),
        ({"workflow": "nothing-like-it"}, "workflow"),
        ({"workflow": "/etc/passwd.yaml"}, "workflow"),
        ({"workflow": "core", "work_id": "a b"}, "work_id"),
        ({"workflow": "core", "project": "noslash"}, "project"),
        ({"workflow": "core", "autonomy": "wild"}, "autonomy"),
        ({"workflow": "core", "worksapce": "/x"}, "worksapce"),
        ({"workflow": "core", "phases": ["nowhere"]}, "phases"),
        ([], ""),
    ],
)
def test_a_wrong_body_is_told_with_its_place(operator: Program, body: object, place: str) -> None:
    response = operator.post("/runs", body)

    assert response.status_code == 422
    assert error_of(response)["details"]["problems"][0]["place"].startswith(place)
    assert Run.objects.count() == 0


@pytest.mark.parametrize(
    "raw",
    ["{", "[" * 100_000, '{"workflow": ' + "9" * 5000 + "}", "\xff"],
    ids=["broken", "deep", "long number", "no text"],
)
def test_a_body_that_is_no_json_is_refused(operator: Program, raw: str) -> None:
    assert operator.post("/runs", raw.encode("latin-1")).status_code == 422


def test_a_call_that_needs_nothing_needs_no_body(operator: Program) -> None:
    agent = program(Scope.AGENT, name="laptop")
    remote = f.workflow({"build": [{"id": "one", "remote": True}]})
    run_id = body_of(operator.post("/runs", {"workflow": remote}))["run_id"]
    asked = body_of(agent.post("/requests", {"type": "approval", "prompt": "Fine?"}))

    assert body_of(agent.post(f"/runs/{run_id}/next", b""))["action"] == "execute"
    assert agent.post(f"/requests/{asked['request_id']}/withdraw", b"").status_code == 200
    assert operator.post(f"/runs/{run_id}/rerun", b"").status_code == 201


def test_a_call_without_the_body_it_needs_says_so(operator: Program) -> None:
    response = operator.post("/runs", b"")

    assert response.status_code == 422
    assert error_of(response)["message"] == "a JSON object is required"


def test_a_body_that_is_too_large_is_refused(operator: Program) -> None:
    response = operator.post("/runs", {"workflow": "x" * 3_000_000})

    assert (response.status_code, error_of(response)["code"]) == (413, "too_large")


def test_what_goes_wrong_unexpectedly_is_told_without_its_inside(
    operator: Program, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def explode(*args: object) -> None:
        raise RuntimeError("password=hunter2")

    monkeypatch.setattr(starting, "start", explode)

    response = operator.post("/runs", {"workflow": "core"})

    assert (response.status_code, error_of(response)["code"]) == (500, "unexpected")
    assert b"hunter2" not in response.content
    assert "hunter2" in caplog.text


def test_runs_are_listed_newest_first_page_by_page(agent: Program) -> None:
    runs = [f.start(f.five_steps(), work_id=str(number)) for number in range(5)]

    seen, cursor = [], ""
    while cursor is not None:
        page = body_of(agent.get("/runs", limit=2, cursor=cursor))
        assert len(page["items"]) <= 2
        seen += [item["run_id"] for item in page["items"]]
        if len(seen) == 2:  # a run that comes meanwhile moves nothing
            f.start(f.five_steps())
        cursor = page["next_cursor"]

    assert seen == [run.run_id for run in reversed(runs)]


def test_runs_of_the_same_moment_are_each_listed_once(agent: Program) -> None:
    runs = [f.start(f.five_steps()) for _ in range(4)]
    Run.objects.update(created_at=runs[0].created_at)

    seen, cursor = [], ""
    while cursor is not None:
        page = body_of(agent.get("/runs", limit=1, cursor=cursor))
        seen += [item["run_id"] for item in page["items"]]
        cursor = page["next_cursor"]

    assert seen == [run.run_id for run in reversed(runs)]


def test_runs_are_found_by_what_they_are(agent: Program, run: Run) -> None:
    other = f.start(f.workflow({"build": [f.step("x")]}), work_id="9")
    Project.objects.create(name="Other/App")

    def found(**query: Any) -> set[str]:
        return {item["run_id"] for item in body_of(agent.get("/runs", **query))["items"]}

    both = {run.run_id, other.run_id}
    assert found(status="awaiting_feedback") == {run.run_id}
    assert found(work_id="9") == {other.run_id}
    assert found(project="acme/app") == both
    assert found(project="Other/App") == set()
    assert found(q=run.short_id) == {run.run_id}
    assert found(q="no\0thing") == set()


@pytest.mark.parametrize("query", [{"status": "odd"}, {"limit": "0"}, {"cursor": "!!"}])
def test_a_wrong_question_names_what_is_wrong(agent: Program, query: dict[str, Any]) -> None:
    response = agent.get("/runs", **query)

    assert response.status_code == 422
    assert [p["place"] for p in error_of(response)["details"]["problems"]] == list(query)


def test_a_run_is_got_by_its_id_with_slashes_or_by_its_uuid(agent: Program, run: Run) -> None:
    document = body_of(agent.get(f"/runs/{run.run_id}"))

    assert document["pending_request"] == f.pending(run).request_id
    assert document["progress"] == {"done": 1, "total": 5}
    assert body_of(agent.get(f"/runs/{run.uuid}")) == document
    assert agent.get("/runs/acme/app/0b8f3a52-5f0c-4a3e-9a44-2f1c8f0b6f11").status_code == 404


def test_a_run_that_did_not_change_is_not_sent_again(agent: Program, run: Run) -> None:
    first = agent.get(f"/runs/{run.run_id}")

    again = agent.get(f"/runs/{run.run_id}", headers={"If-None-Match": first["ETag"]})
    f.answered(run, "approve")
    changed = agent.get(f"/runs/{run.run_id}", headers={"If-None-Match": first["ETag"]})

    assert (again.status_code, again.content) == (304, b"")
    assert body_of(changed)["status"] == "completed"


def test_the_state_is_the_seeds(agent: Program, run: Run) -> None:
    state = body_of(agent.get(f"/runs/{run.run_id}/state"))

    assert state["phases"]["frame"]["steps"][0]["status"] == "completed"
    assert state["phases"]["evaluate"]["retry_count"] == 0
    assert state["feedback_request"]["request_id"] == f.pending(run).request_id


@pytest.mark.parametrize("name", ["after", "cursor"])
def test_events_come_in_order_page_by_page(agent: Program, run: Run, name: str) -> None:
    whole = body_of(agent.get(f"/runs/{run.run_id}/events"))
    first = body_of(agent.get(f"/runs/{run.run_id}/events", limit=3))
    rest = body_of(agent.get(f"/runs/{run.run_id}/events", **{name: first["next_cursor"]}))

    assert [event["type"] for event in whole["items"]] == f.told(run)
    assert whole["next_cursor"] is None
    assert first["items"] + rest["items"] == whole["items"]


def test_the_context_and_the_verification_can_be_read(agent: Program, run: Run) -> None:
    context = body_of(agent.get(f"/runs/{run.run_id}/context"))
    verdict = body_of(agent.get(f"/runs/{run.run_id}/verification"))

    assert context["state"]["run_id"] == run.run_id
    assert verdict == {
        "conforms": True,
        "matched": ["frame:one"],
        "missing": [],
        "extra": [],
        "reordered": [],
        "fabricated": [],
        "divergences": [],
    }


def test_an_operator_cancels_with_a_reason(operator: Program, run: Run) -> None:
    response = operator.post(f"/runs/{run.run_id}/cancel", {"reason": " not needed "})

    assert (response.status_code, body_of(response)["status"]) == (200, "cancelled")
    assert f.fresh(run).error == "not needed"
    again = operator.post(f"/runs/{run.run_id}/cancel", {"reason": "again"})
    assert again.status_code == 409
    assert operator.post(f"/runs/{run.run_id}/cancel", {"reason": "  "}).status_code == 422
    assert operator.post(f"/runs/{run.run_id}/cancel").status_code == 422


def test_a_failed_run_is_resumed_and_one_that_asks_is_not(operator: Program, run: Run) -> None:
    assert operator.post(f"/runs/{run.run_id}/resume").status_code == 409
    stopped = f.start(f.five_steps())
    stopped.attempts.update(status="lost")
    Run.objects.filter(pk=stopped.pk).update(status="failed", error="gone")

    response = operator.post(f"/runs/{stopped.run_id}/resume")

    assert (response.status_code, body_of(response)["status"]) == (200, "in_progress")


def test_a_run_is_run_again(operator: Program) -> None:
    first = body_of(operator.post("/runs", {"workflow": "core", "work_id": "7"}))

    again = operator.post(f"/runs/{first['run_id']}/rerun")

    assert again.status_code == 201
    assert body_of(again)["work_id"] == "7"
    assert operator.post(f"/runs/{first['run_id']}/rerun", {"phases": ["no"]}).status_code == 422


def test_the_context_is_the_newest_package_or_the_one_asked_for(agent: Program, run: Run) -> None:
    first, *_, last = [store.load(row) for row in run.packages.order_by("id")]

    newest = body_of(agent.get(f"/runs/{run.run_id}/context"))
    asked = body_of(agent.get(f"/runs/{run.run_id}/context?package=1"))

    assert (asked, newest) == (first, last)
    assert first != last


def test_before_the_first_step_the_context_is_what_it_would_be_told(agent: Program) -> None:
    run = f.start(f.five_steps())

    context = body_of(agent.get(f"/runs/{run.run_id}/context"))

    assert context["state"]["run_id"] == run.run_id
    assert not run.packages.exists()


@pytest.mark.parametrize(("number", "status"), [("99", 404), ("0", 422), ("x", 422)])
def test_a_package_nobody_has_is_refused(
    agent: Program, run: Run, number: str, status: int
) -> None:
    assert agent.get(f"/runs/{run.run_id}/context?package={number}").status_code == status


# Events of work

WORK = {"type": "commit", "message": "Adds the export", "metadata": {"sha": "a1b2c3"}}


def test_an_agent_tells_of_its_work(agent: Program, run: Run) -> None:
    answer = agent.post(f"/runs/{run.run_id}/events", WORK)

    assert answer.status_code == 201
    event = body_of(answer)
    assert (event["type"], event["user"], event["source"]) == ("commit_create", "bot", "api")
    assert event["metadata"]["sha"] == "a1b2c3"
    assert body_of(agent.get(f"/runs/{run.run_id}/events"))["items"][-1] == event


def test_the_same_key_tells_of_it_once(agent: Program, run: Run) -> None:
    path, key = f"/runs/{run.run_id}/events", {"Idempotency-Key": "once"}

    first, second = (agent.post(path, WORK, key) for _ in range(2))

    assert body_of(first) == body_of(second)
    assert run.events.filter(type="commit_create").count() == 1


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"type": "step_complete"}, "type"),
        ({"type": "party"}, "type"),
        ({"message": ""}, "message"),
        ({"metadata": {"all": "x" * 20_001}}, "metadata"),
        ({"metadata": []}, "metadata"),
        ({"artifacts": []}, "artifacts"),
    ],
)
def test_an_event_that_cannot_be_told_is_refused_with_its_place(
    agent: Program, run: Run, change: dict[str, Any], place: str
) -> None:
    answer = agent.post(f"/runs/{run.run_id}/events", {**WORK, **change})

    assert answer.status_code == 422
    assert place in error_of(answer)["details"]["problems"][0]["place"]


def test_a_run_that_has_ended_takes_no_event(agent: Program, run: Run) -> None:
    f.answered(run, "reject")

    assert agent.post(f"/runs/{run.run_id}/events", WORK).status_code == 409
