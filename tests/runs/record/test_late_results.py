"""What a step handed back when it had been taken from its worker is kept, and shown."""

import pytest
from django.test import Client

from runs import engine
from runs.accounts import users
from runs.domain.responses.results import Result, ResultStatus
from runs.domain.values.actors import Role, Scope
from runs.executors.orders import Outcome
from runs.models import Run
from tests import factories as f
from tests.api_client import body_of, program
from tests.commands import faber

pytestmark = pytest.mark.django_db

SAID = "It took longer than its lease."


@pytest.fixture
def run() -> Run:
    """A run whose first step was taken from its worker, which then finished it."""
    run = f.start(f.five_steps())
    held = engine.claim(run.pk, "host:1:a")
    assert held
    f.lose(run)
    assert engine.claim(run.pk, "host:2:b")
    late = Result(status=ResultStatus.SUCCESS, message=SAID)
    assert engine.settle(held, Outcome(result=late)) is None
    return run


def test_run_json_has_it_on_the_command_line_and_over_http(run: Run) -> None:
    agent = program(Scope.AGENT)
    late = {
        "phase": "frame",
        "step": "one",
        "attempt": 1,
        "reason": "its worker stopped reporting",
        "response": {"status": "success", "message": SAID},
    }

    assert faber("status", run.run_id, "--json").document["late_results"] == [late]
    assert body_of(agent.get(f"/runs/{run.run_id}"))["late_results"] == [late]
    (listed,) = body_of(agent.get("/runs"))["items"]
    assert listed["late_results"] is None


def test_the_terminal_shows_it(run: Run) -> None:
    told = f"  Late result  frame:one attempt 1: success, {SAID}\n"

    assert told in faber("status", run.run_id).out


def test_the_run_page_shows_it_at_its_attempt(client: Client, run: Run) -> None:
    client.force_login(users.create("vic", role=Role.VIEWER))
    first = run.attempts.get(number=1)

    page = client.get(f"/runs/{run.run_id}/").text
    assert f">Late result, not used: success: {SAID}</span>" in page
    assert SAID in client.get(f"/runs/{run.run_id}/attempts/{first.pk}/output").text


def test_a_run_without_one_says_nothing(client: Client) -> None:
    client.force_login(users.create("vic", role=Role.VIEWER))
    run = f.started(f.five_steps())

    assert faber("status", run.run_id, "--json").document["late_results"] == []
    assert "Late result" not in faber("status", run.run_id).out
    assert "Late result" not in client.get(f"/runs/{run.run_id}/").text
