"""Politeness: a question is taken back by whoever asked it, and a refusal is not forgotten."""

import pytest

from feedback.audit import integrity
from feedback.models import FeedbackRequest
from runs.domain.values.actors import Scope
from runs.domain.values.questions import refuses
from runs.models import Run
from tests import factories as f
from tests.api_client import Program, body_of, error_of, program

pytestmark = [pytest.mark.django_db, pytest.mark.database]

AWAY: f.Json = {"id": "away", "remote": True}


@pytest.fixture
def run() -> Run:
    return f.start(f.workflow({"build": [AWAY]}))


@pytest.fixture
def agent() -> Program:
    return program(Scope.AGENT, name="agent one")


def ask(agent: Program, run: Run, prompt: str = "Drop it?", **more: object) -> f.Json:
    sent = {"type": "selection", "prompt": prompt, "options": ["yes", "no"], **more}
    return body_of(agent.post(f"/runs/{run.run_id}/requests", sent))


def test_a_withdrawn_question_gives_the_step_back(agent: Program, run: Run) -> None:
    asked = ask(agent, run)

    withdrawn = body_of(agent.post(f"/requests/{asked['request_id']}/withdraw", {}))

    assert withdrawn["status"] == "cancelled"
    assert f.fresh(run).status == "in_progress"
    handed = body_of(agent.post(f"/runs/{run.run_id}/next", {}))
    assert handed["action"] == "execute"
    assert handed["briefing"]["feedback"]["withdrawn"] is True
    assert integrity.faults() == []


def test_a_run_that_was_made_for_the_question_ends(agent: Program) -> None:
    asked = body_of(agent.post("/requests", {"type": "confirmation", "prompt": "Sure?"}))

    withdrawn = body_of(agent.post(f"/requests/{asked['request_id']}/withdraw", {}))

    assert withdrawn["status"] == "cancelled"
    assert Run.objects.get().status == "cancelled"


def test_nobody_withdraws_what_another_asked(agent: Program, run: Run) -> None:
    asked = ask(agent, run)
    for other in (program(Scope.AGENT, name="agent two"), program(Scope.OPERATOR, name="boss")):
        refused = other.post(f"/requests/{asked['request_id']}/withdraw", {})

        assert refused.status_code == 403
        assert "Only the token that asked" in str(error_of(refused)["message"])
    assert f.fresh(run).status == "awaiting_feedback"


def test_what_the_workflow_asks_cannot_be_withdrawn(agent: Program) -> None:
    request = f.pending(f.started(f.five_steps()))

    refused = agent.post(f"/requests/{request.request_id}/withdraw", {})

    assert refused.status_code == 409
    assert f.fresh(request.run).status == "awaiting_feedback"


def test_what_is_answered_cannot_be_withdrawn(agent: Program, run: Run) -> None:
    asked = ask(agent, run)
    f.answer(run, "yes")

    refused = agent.post(f"/requests/{asked['request_id']}/withdraw", {})

    assert error_of(refused)["code"] == "already_answered"


# Asked again


def test_the_same_question_after_a_no_is_marked(agent: Program, run: Run) -> None:
    first = ask(agent, run)
    assert first["asked_again"] is False
    f.answer(run, "no")

    second = ask(agent, run)

    assert second["asked_again"] is True
    assert FeedbackRequest.objects.get(status="pending").repeats == first["request_id"]
    assert integrity.faults() == []


@pytest.mark.parametrize(("answer", "prompt"), [("yes", "Drop it?"), ("no", "Keep it?")])
def test_another_question_or_a_yes_is_not(
    agent: Program, run: Run, answer: str, prompt: str
) -> None:
    ask(agent, run)
    f.answer(run, answer)

    assert ask(agent, run, prompt)["asked_again"] is False


def test_another_run_knows_nothing_of_it(agent: Program, run: Run) -> None:
    ask(agent, run)
    f.answer(run, "no")

    assert ask(agent, f.start(f.workflow({"build": [AWAY]})))["asked_again"] is False


@pytest.mark.parametrize("name", ["reject", "no", "Deny", "declined", "cancel", "abort", "stop"])
def test_a_no_is_a_no(name: str) -> None:
    assert refuses(name)


@pytest.mark.parametrize("name", ["approve", "yes", "request_changes", "skip", "nothing"])
def test_anything_else_is_none(name: str) -> None:
    assert not refuses(name)
