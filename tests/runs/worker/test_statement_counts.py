"""How many statements and commits a start, a step and an answer take."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from feedback.requests.answers import respond
from runs import engine
from runs.context import briefing, store
from runs.domain.responses.results import Result, ResultStatus
from runs.domain.values.actors import Source
from runs.domain.values.plain_json import given
from runs.engine import history, lifecycle, work_events
from runs.engine.work_events import WorkEvent
from runs.executors import Outcome
from runs.models import Run, clock
from runs.worker import advance, settling
from runs.worker.packages import Packages
from tests import factories as f

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.database]

_OF_A_RUN = 'SELECT "faber_runs_run"'
_CONTROL = ("BEGIN", "COMMIT", "SAVEPOINT", "RELEASE")


@dataclass
class Counted:
    statements: list[str] = field(default_factory=list)
    commits: int = 0

    def __sub__(self, other: "Counted") -> tuple[int, int]:
        return len(self.statements) - len(other.statements), self.commits - other.commits


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counted]:
    """Every statement of this connection, and every commit, also of a statement on its own."""
    found = Counted()
    commit = connection._commit  # type: ignore[attr-defined]

    def note(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if not sql.startswith(_CONTROL):
            found.statements.append(sql)
            found.commits += not (connection.in_atomic_block or sql.startswith("SELECT"))
        return execute(sql, params, many, context)

    def committed() -> None:
        found.commits += 1
        commit()

    with monkeypatch.context() as patched, connection.execute_wrapper(note):
        patched.setattr(connection, "_commit", committed)
        yield found


@pytest.fixture(autouse=True)
def _on_a_busy_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long a step takes here, its worker relies on what it knows, and on its clock."""
    monkeypatch.setattr(lifecycle, "KNOWN_SECONDS", 600.0)
    monkeypatch.setattr(clock, "_HOLDS_SECONDS", 600.0)


@pytest.fixture(autouse=True)
def _used_before(_on_a_busy_machine: None) -> None:
    """What is made once a process is made."""
    f.answered(f.started(f.five_steps()), "approve")


def steps(count: int) -> Run:
    return f.start(f.workflow({"build": [f.step(f"step-{n}") for n in range(count)]}))


def worked(run: Run, monkeypatch: pytest.MonkeyPatch) -> Counted:
    with counted(monkeypatch) as found:
        advance.drive(engine.claim(run.pk, "a worker"))
    assert f.fresh(run).status == "completed"
    return found


def test_a_step_that_follows_a_step_takes_four_statements_and_one_commit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    few, more = worked(steps(3), monkeypatch), worked(steps(4), monkeypatch)

    assert more - few == (4, 1), "\n".join(more.statements)


def test_whoever_knows_a_run_asks_and_ends_it_without_reading_it_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = f.start(f.five_steps())
    with counted(monkeypatch) as asking:
        advance.drive(engine.claim(run.pk, "a worker"))
    respond(f.pending(run).request_id, "approve", actor=f.person(source=Source.API))
    with counted(monkeypatch) as ending:
        advance.drive(engine.claim(run.pk, "another worker"))

    assert f.fresh(run).status == "completed"
    for found in (asking, ending):
        assert [sql for sql in found.statements if sql.startswith(_OF_A_RUN)] == []


def test_a_start_takes_six_statements_and_one_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = f.plan_of(f.five_steps())
    project = f.started(f.five_steps()).project
    order = engine.Start(plan=plan, project=project, workspace=Path("/"), actor=f.STARTER)

    with counted(monkeypatch) as found:
        engine.start(order)

    assert found - Counted() == (6, 1), "\n".join(found.statements)


def test_an_answer_takes_nine_statements_and_one_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    request = f.pending(f.started(f.five_steps()))

    with counted(monkeypatch) as found:
        respond(request.request_id, "approve", actor=f.person(source=Source.API))

    assert found - Counted() == (9, 1), "\n".join(found.statements)


def test_a_worker_that_knows_its_run_tells_the_same_as_one_that_reads_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known = f.answered(f.started(f.five_steps()), "approve")
    monkeypatch.setattr(lifecycle, "KNOWN_SECONDS", 0.0)
    read = f.answered(f.started(f.five_steps()), "approve")

    assert f.story(known) == f.story(read)
    assert _attempts(known) == _attempts(read)
    assert _plans_told(known) == _plans_told(read)


DONE = Outcome(result=Result(status=ResultStatus.SUCCESS, message="Done."))


def test_what_somebody_told_while_a_step_was_executed_stays_in_its_place() -> None:
    run = steps(3)
    claim = engine.claim(run.pk, "a worker")
    assert claim
    work_events.add(run.pk, WorkEvent(type="commit", message="Committed."), f.STARTER)

    following = engine.settle(claim, DONE)

    assert following
    assert following.unit.step.id == "step-1"
    run = f.fresh(run)
    told = f.told(run)
    assert told.index("commit_create") < told.index("step_complete")
    assert history.broken_links(run) == []


def test_a_run_that_was_cancelled_meanwhile_is_not_gone_on_with() -> None:
    run = steps(3)
    claim = engine.claim(run.pk, "a worker")
    assert claim
    engine.cancel(run.pk, reason="Not needed.", actor=f.STARTER)

    assert engine.settle(claim, DONE) is None

    run = f.fresh(run)
    assert (run.status, f.told(run)[-1]) == ("cancelled", "workflow_cancelled")
    assert [attempt.status for attempt in run.attempts.all()] == ["cancelled"]


def test_the_next_package_tells_what_others_told() -> None:
    run = steps(3)
    packages = Packages()
    claim = engine.claim(run.pk, "a worker")
    assert claim
    packages.package_of(claim)
    work_events.add(run.pk, WorkEvent(type="commit", message="Committed."), f.STARTER)

    following = settling.settle(claim, engine.settlement(claim, DONE), packages.ahead)

    assert following
    told = [event["type"] for event in given(packages.package_of(following), "events", list)]
    assert told == f.told(run)


def _attempts(run: Run) -> list[tuple[object, ...]]:
    columns = ("phase", "step", "number", "action", "status", "result", "files", "usage")
    return list(run.attempts.values_list(*columns))


def _plans_told(run: Run) -> list[object]:
    """What each step was told to be done before it."""
    packages = [store.load(row) for row in run.packages.order_by("id")]
    return [(briefing.done_in(each), len(given(each, "events", list))) for each in packages]
