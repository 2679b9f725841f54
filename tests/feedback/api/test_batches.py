"""Batches over HTTP: started, looked at, answered line by line."""

from typing import Any

import pytest

from feedback.models import FeedbackResponse
from runs.domain.values.actors import Role, Scope
from runs.models import Batch, Run
from tests import factories as f
from tests.api_client import Program, account, body_of, error_of, program
from tests.jobs import work_off

pytestmark = pytest.mark.django_db

WORKFLOW = f.five_steps()


@pytest.fixture
def operator() -> Program:
    return program(Scope.OPERATOR, account("olga", Role.OPERATOR))


@pytest.fixture
def agent() -> Program:
    return program(Scope.AGENT, name="bot")


def start(caller: Program, *work_ids: str) -> Any:
    return caller.post("/batches", {"workflow": WORKFLOW, "work_ids": list(work_ids)})


def test_a_work_id_that_would_be_an_option_starts_no_batch(operator: Program) -> None:
    response = start(operator, "124", "-125")

    assert response.status_code == 422
    assert "beginning with a letter or digit" in str(error_of(response))
    assert not Run.objects.exists()


def test_every_problem_of_a_batch_is_told(operator: Program) -> None:
    several = operator.post("/batches", {"workflow": WORKFLOW, "work_ids": ["1", "-2", "b c"]})
    unknown = operator.post(
        "/batches", {"workflow": "nothing-like-it", "work_ids": ["1"], "autonomy": "wild"}
    )
    one = operator.post("/batches", {"workflow": WORKFLOW, "work_ids": ["1"], "work_id": "2"})

    places = [
        [problem["place"] for problem in error_of(response)["details"]["problems"]]
        for response in (several, unknown)
    ]
    assert places == [["work_ids", "work_ids"], ["workflow", "autonomy"]]
    assert error_of(one)["message"] == "send work_ids, not work_id"
    assert not Run.objects.exists()


def test_a_batch_is_started_and_tells_how_it_stands(operator: Program) -> None:
    response = start(operator, "124", "125")

    assert response.status_code == 201
    document = body_of(response)
    assert document["total_runs"] == 2
    assert document["batch_id"] == Batch.objects.get().batch_id
    work_off()
    now = body_of(operator.get(f"/batches/{document['batch_id']}"))
    assert (now["awaiting_feedback"], now["all_stopped"]) == (2, True)
    assert {run["feedback_type"] for run in now["runs"]} == {"review"}


def test_a_repeated_work_id_is_refused(operator: Program) -> None:
    response = start(operator, "124", "124")

    assert response.status_code == 422
    assert not Run.objects.exists()


def test_the_prompt_is_markdown(operator: Program) -> None:
    batch_id = body_of(start(operator, "124"))["batch_id"]
    work_off()

    response = operator.get(f"/batches/{batch_id}/prompt")

    assert response["Content-Type"].startswith("text/markdown")
    assert "Run #124" in response.content.decode()


@pytest.mark.parametrize(
    "sent",
    [
        {"text": "#124: approve\n#999: approve\n#125: maybe"},
        {
            "answers": {
                "124": {"response": "approve"},
                "999": {"response": "approve"},
                "125": {"response": "maybe"},
            }
        },
    ],
)
def test_every_line_has_its_own_result(operator: Program, sent: dict[str, Any]) -> None:
    batch_id = body_of(start(operator, "124", "125"))["batch_id"]
    work_off()

    results = body_of(operator.post(f"/batches/{batch_id}/answers", sent))["results"]

    assert [result["result"] for result in results] == [
        "applied",
        "unknown_run",
        "invalid_response",
    ]
    given = FeedbackResponse.objects.get()
    assert (given.request.run.work_id, given.source) == ("124", "parallel_coordination")


@pytest.mark.parametrize("sent", [{}, {"text": "a", "answers": {}}, {"text": 3}])
def test_an_answer_must_be_one_of_two_things(operator: Program, sent: dict[str, Any]) -> None:
    batch_id = body_of(start(operator, "124"))["batch_id"]

    assert operator.post(f"/batches/{batch_id}/answers", sent).status_code == 422


def test_an_agent_neither_starts_nor_answers(operator: Program, agent: Program) -> None:
    batch_id = body_of(start(operator, "124"))["batch_id"]
    work_off()

    assert start(agent, "7").status_code == 403
    refused = agent.post(f"/batches/{batch_id}/answers", {"text": "all: approve"})
    assert refused.status_code == 403
    assert error_of(refused)["message"] == "Agents can ask and wait, but can't answer."
    assert agent.get(f"/batches/{batch_id}").status_code == 200
    assert not FeedbackResponse.objects.exists()


def test_an_unknown_batch_is_not_there(operator: Program) -> None:
    for address in ("/batches/coord-20260101-ffffff", "/batches/coord-20260101-ffffff/prompt"):
        response = operator.get(address)
        assert response.status_code == 404
        assert error_of(response)["code"] == "not_found"


# Runs that were not started together


@pytest.fixture
def two() -> list[Run]:
    return [f.started(f.five_steps(), work_id=work_id) for work_id in ("124", "125")]


def test_any_runs_are_aggregated(agent: Program, two: list[Run]) -> None:
    report = body_of(agent.get("/batches", runs=",".join(run.run_id for run in two)))

    assert (report["batch_id"], report["total_runs"], report["awaiting_feedback"]) == (None, 2, 2)
    prompt = agent.get("/batches/prompt", runs=",".join(str(run.uuid) for run in two))
    assert prompt["Content-Type"].startswith("text/markdown")
    assert "Run #125" in prompt.content.decode()


def test_any_runs_are_answered(operator: Program, two: list[Run]) -> None:
    runs = [run.run_id for run in two]

    answered = operator.post("/batches/answers", {"runs": runs, "text": "#124: approve\n#9: skip"})
    named = {"runs": runs, "answers": {"125": {"response": "reject", "comment": "no"}}}

    assert [each["result"] for each in body_of(answered)["results"]] == ["applied", "unknown_run"]
    assert body_of(operator.post("/batches/answers", named))["results"][0]["result"] == "applied"
    assert {each.source for each in FeedbackResponse.objects.all()} == {"parallel_coordination"}


def test_an_agent_answers_no_runs(agent: Program, two: list[Run]) -> None:
    body = {"runs": [run.run_id for run in two], "text": "all: approve"}

    assert agent.post("/batches/answers", body).status_code == 403
    assert not FeedbackResponse.objects.exists()


@pytest.mark.parametrize(("runs", "status"), [("", 422), ("00000000", 404), (None, 422)])
def test_runs_must_be_named(agent: Program, runs: str | None, status: int) -> None:
    query = "" if runs is None else f"?runs={runs}"

    assert agent.get(f"/batches{query}").status_code == status
