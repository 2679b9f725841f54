"""Executors tell of their work in the run's history, and never for the engine."""

import pytest

from runs import engine
from runs.domain.responses.results import read_response
from runs.domain.values.actors import Source
from runs.domain.values.errors import Invalid, NotAllowed, Refused
from runs.domain.values.events import WORK, EventType
from runs.engine import conformance, history, work_events
from runs.engine.work_events import WorkEvent
from runs.executors import Outcome
from runs.models import Event, Run
from tests import factories as f

pytestmark = [pytest.mark.django_db, pytest.mark.database]

BOT = f.person("bot", source=Source.API, method="token", is_agent=True, token="bot")


@pytest.fixture
def run() -> Run:
    return f.started(f.five_steps())


def add(run: Run, kind: str = "test_run", message: str = "42 passed", **metadata: object) -> f.Json:
    return work_events.add(run.pk, WorkEvent(type=kind, message=message, metadata=metadata), BOT)


@pytest.mark.parametrize("kind", WORK)
def test_every_type_of_work_is_told_with_who_told_it(run: Run, kind: EventType) -> None:
    before = f.fresh(run).last_event_id

    event = add(run, kind, "Done.", sha="a1b2c3")

    assert event == Event.objects.get(run=run, number=before + 1).document
    assert (event["type"], event["message"]) == (kind, "Done.")
    assert (event["user"], event["source"]) == ("bot", "api")
    assert event["metadata"] == {"sha": "a1b2c3", "emitted_by": BOT.describe()}
    assert (event["phase"], event["step"]) == (run.unit.phase, run.unit.step.id)  # type: ignore[union-attr]
    assert history.broken_links(f.fresh(run)) == []


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("artifact", "artifact_create"),
        ("commit", "commit_create"),
        ("branch", "branch_create"),
        ("pull_request", "pr_create"),
        ("pull-request", "pr_create"),
        ("Pull Request", "pr_create"),
        ("test", "test_run"),
        ("documentation", "docs_update"),
        ("TEST_RUN", "test_run"),
    ],
)
def test_a_short_name_means_its_type(run: Run, name: str, kind: str) -> None:
    assert add(run, name)["type"] == kind


@pytest.mark.parametrize("kind", sorted(set(EventType) - set(WORK)))
def test_what_the_engine_tells_is_told_by_nobody_else(run: Run, kind: EventType) -> None:
    before = f.told(run)

    with pytest.raises(Invalid, match=f"type: {kind} is recorded by FABER only. Use one of"):
        add(run, kind)

    assert f.told(run) == before


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"kind": "tset_run"}, "type: .* did you mean test_run"),
        ({"kind": "party"}, "type: .* use one of artifact_create"),
        ({"message": "  "}, "message: is empty"),
        ({"message": "x" * 2_001}, "message: has more than 2,000 characters"),
        ({"data": "x" * 20_000}, "metadata: has more than 20,000 characters"),
    ],
)
def test_what_cannot_be_told_is_refused_with_its_place(
    run: Run, fields: dict[str, str], problem: str
) -> None:
    with pytest.raises(Invalid, match=problem):
        add(run, **fields)


def test_a_run_that_has_ended_takes_no_more(run: Run) -> None:
    ended = f.answered(run, "reject")

    with pytest.raises(Refused, match=r"The run is cancelled\. No more events"):
        add(ended)


def test_a_run_takes_so_many_and_no_more(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work_events, "MOST", 3)
    for _ in range(3):
        add(run)

    with pytest.raises(Refused, match="The run has 3 work events, the maximum"):
        add(run)


def test_secrets_are_taken_out_before_an_event_is_kept(run: Run) -> None:
    token = "ghp_" + "a1B2" * 9

    event = add(run, message=f"Pushed with {token}", password="hunter2-hunter2", url=token)

    kept = str(event)
    assert token not in kept
    assert "hunter2" not in kept


def test_a_viewers_token_adds_nothing(run: Run) -> None:
    viewer = f.person("vera", source=Source.API, user_id=7, groups=frozenset({"viewer"}))

    with pytest.raises(NotAllowed):
        work_events.add(run.pk, WorkEvent(type="test", message="x"), viewer)


def test_a_step_that_tells_of_its_work_while_it_runs_is_settled_as_ever() -> None:
    run = f.start(f.workflow({"build": [f.step("make")]}))
    claim = engine.claim(run.pk, "a worker")
    assert claim is not None
    add(run, "commit")

    result = read_response({"status": "success", "message": "Made."}, step="build:make")
    engine.settle(claim, Outcome(result=result))

    run = f.fresh(run)
    assert run.status == "completed"
    told = f.told(run)
    assert told.index("step_start") < told.index("commit_create") < told.index("step_complete")
    assert conformance.verdict_of(run).conforms
    assert history.broken_links(run) == []
