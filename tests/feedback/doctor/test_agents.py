"""The doctor tells of agents that are not installed: broken only where a run will need one."""

import pytest
from pytest_django.fixtures import Settings

from feedback.doctor import diagnosis
from runs.isolation import ways
from tests import factories as f
from tests import workers
from tests.commands import faber

pytestmark = pytest.mark.django_db

AGENT_STEP: f.Json = {"id": "code", "prompt": "Write it."}


@pytest.fixture(autouse=True)
def healthy(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    workers.report()
    monkeypatch.setattr(ways, "why_not", lambda hidden: "")
    settings.FABER_AGENT_COMMAND = ("no-such-agent",)


def test_an_agent_that_no_run_needs_is_only_mentioned() -> None:
    f.start(f.five_steps())

    told = faber("doctor")

    assert told.code == 0
    assert told.lines[-1] == (
        "Agent `no-such-agent` is not installed. Install it or set FABER_AGENT_COMMAND."
    )
    assert faber("doctor", "--json").document["agent_installed"] is False


def test_an_agent_that_a_run_will_need_is_a_finding() -> None:
    first = f.step("plan", requires_approval=True)
    run = f.started(f.workflow({"build": [first, AGENT_STEP]}))

    (found,) = diagnosis.findings()

    assert found.what == "Agent `no-such-agent` is not installed"
    assert found.cause == f"1 unfinished run will need it, such as {run.run_id}"
    assert found.repair == "Install it or set FABER_AGENT_COMMAND."
    assert faber("doctor").out.count("no-such-agent") == 1


def test_a_step_that_is_done_needs_no_agent_any_more(settings: Settings) -> None:
    settings.FABER_AGENT_COMMAND = ("true",)
    last = f.step("plan", requires_approval=True)
    f.started(f.workflow({"build": [{**AGENT_STEP, "agent": "true"}, last]}))

    settings.FABER_AGENT_COMMAND = ("no-such-agent",)

    assert [found.what for found in diagnosis.findings()] == []
