"""A run that was rejected is told from one that was cancelled, wherever runs are shown."""

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from feedback.channels.trackers import replies
from runs import engine
from runs.accounts import users
from runs.domain.values.actors import Role, Scope
from runs.domain.values.status import RunStatus
from runs.models import Event, Run
from runs.record import run_json
from runs.record.endings import Ending, RunOutcome, ending_of, endings
from tests import factories as f
from tests.api_client import body_of, program
from tests.commands import faber

pytestmark = pytest.mark.django_db


@pytest.fixture
def rejected() -> Run:
    run = f.started(f.five_steps(), work_id="1")
    f.answer(run, "reject", "Not like this.")
    return f.fresh(run)


@pytest.fixture
def cancelled() -> Run:
    run = f.started(f.five_steps(), work_id="2")
    return engine.cancel(run.pk, reason="Not needed.", actor=f.STARTER)


def test_an_answer_rejects_and_a_command_cancels(rejected: Run, cancelled: Run) -> None:
    assert (rejected.status, cancelled.status) == ("cancelled", "cancelled")
    assert ending_of(rejected) == Ending(outcome=RunOutcome.REJECTED, by="Rita")
    assert ending_of(cancelled) == Ending(outcome=RunOutcome.CANCELLED, by="Otto")


def test_the_event_names_the_decision(rejected: Run) -> None:
    document = rejected.events.get(type="workflow_cancelled").document

    assert (document["user"], document["source"]) == ("Rita", "web")
    assert document["metadata"] == {
        "decision": "reject",
        "request_id": rejected.requests.get().request_id,
    }


@pytest.mark.parametrize(
    ("python", "said"), [("tests.steps:fail", "abort"), ("tests.steps:succeed", "cancel")]
)
def test_whatever_answer_ends_a_run_rejects_it(python: str, said: str) -> None:
    run = f.started(f.workflow({"build": [f.step("one", python, confirm=said == "cancel")]}))

    f.answer(run, said)

    assert str(ending_of(f.fresh(run))) == "rejected by Rita"


def test_a_run_that_goes_on_has_no_ending_and_others_end_by_themselves() -> None:
    waiting = f.started(f.five_steps())
    done = f.started(f.workflow({"build": [f.step("one")]}))
    failed = f.start(f.five_steps())
    Run.objects.filter(pk=failed.pk).update(status=RunStatus.FAILED)

    assert ending_of(waiting) is None
    assert str(ending_of(done)) == "completed"
    assert str(ending_of(f.fresh(failed))) == "failed"


def test_a_history_of_before_tells_a_decision_by_naming_nobody(rejected: Run) -> None:
    event = rejected.events.get(type="workflow_cancelled")
    old = {key: event.document[key] for key in ("type", "status", "message")}
    Event.objects.filter(pk=event.pk).update(document={**old, "source": "faber"})

    assert str(ending_of(rejected)) == "rejected"


def test_a_history_from_elsewhere_that_says_nothing_is_cancelled(rejected: Run) -> None:
    Event.objects.filter(type="workflow_cancelled").update(document={"type": "workflow_cancelled"})

    assert str(ending_of(rejected)) == "cancelled"


def test_a_list_costs_one_query_and_only_with_cancelled_runs(
    rejected: Run, cancelled: Run, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    waiting = f.started(f.five_steps())

    with django_assert_num_queries(1):
        assert len(endings([rejected, cancelled, waiting])) == 2
    with django_assert_num_queries(0):
        assert endings([waiting]) == {}


def test_run_json_has_it_on_the_command_line_and_over_http(rejected: Run, cancelled: Run) -> None:
    agent = program(Scope.AGENT)
    for run, outcome, by in ((rejected, "rejected", "Rita"), (cancelled, "cancelled", "Otto")):
        for shape in (
            run_json.run_shape(run),
            faber("status", run.run_id, "--json").document,
            body_of(agent.get(f"/runs/{run.run_id}")),
        ):
            assert (shape["outcome"], shape["ended_by"]) == (outcome, by)


def test_the_terminal_says_it(rejected: Run, cancelled: Run) -> None:
    assert "  Outcome     rejected by Rita\n" in faber("status", rejected.run_id).out
    assert "  Outcome     cancelled by Otto\n" in faber("status", cancelled.run_id).out
    newest = faber("status").out
    assert newest.count("rejected") == newest.count("cancelled") == 1


def test_pages_say_it(client: Client, rejected: Run, cancelled: Run) -> None:
    client.force_login(users.create("vic", role=Role.VIEWER))

    assert "<span>rejected by Rita</span>" in client.get(f"/runs/{rejected.run_id}/").text
    assert "<span>cancelled by Otto</span>" in client.get(f"/runs/{cancelled.run_id}/").text
    rows = client.get("/runs/").text
    assert "<span>rejected by Rita</span>" in rows
    assert "<span>cancelled by Otto</span>" in rows


def test_the_status_on_an_issue_says_it(rejected: Run) -> None:
    assert "**Outcome**: rejected by Rita" in replies.status([rejected])
