"""Many runs started together: who goes first, who waits, and that nobody is forgotten."""

import json
import re
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from django.db import connection
from django_q.models import OrmQ

from faber_site.runtime.sweep import sweep
from runs import engine
from runs.domain.values.actors import Role
from runs.domain.values.errors import Invalid, NotAllowed, NotFound
from runs.domain.values.status import RunStatus
from runs.engine import batches, history, starting, turns
from runs.engine.batches import BatchWish
from runs.engine.starting import Wish
from runs.jobs.table import Job
from runs.models import Batch, Project, Run
from runs.record import run_json
from tests import factories as f

pytestmark = pytest.mark.django_db

TWELVE = tuple(str(number) for number in range(101, 113))
DOCUMENT = f.five_steps()


@pytest.fixture
def wish(tmp_path: Path) -> Wish:
    file = tmp_path / "small.json"
    file.write_text(json.dumps(DOCUMENT))
    return Wish(workflow=str(file), workspace=tmp_path, project="Acme/App")


def start(wish: Wish, ids: tuple[str, ...] = TWELVE, **more: object) -> Batch:
    wanted = BatchWish(wish=wish, work_ids=ids, **more)  # type: ignore[arg-type]
    return batches.start(wanted, f.STARTER)


def statuses(batch: Batch) -> list[str]:
    return list(batch.runs.order_by("pk").values_list("status", flat=True))


def run_on(batch: Batch, work_id: str) -> Run:
    return Run.objects.get(batch=batch, work_id=work_id)


def turns_asked_for() -> int:
    return sum(row.func() == Job.GIVE_TURNS for row in OrmQ.objects.all())


def test_the_first_ten_begin_and_the_others_wait(wish: Wish) -> None:
    batch = start(wish)

    assert re.fullmatch(r"coord-\d{8}-[0-9a-f]{6}", batch.batch_id)
    assert statuses(batch) == ["in_progress"] * 10 + ["pending"] * 2
    assert [run.work_id for run in batch.runs.order_by("pk")] == list(TWELVE)
    assert batch.concurrency == 10
    assert batch.workflow_id == "small"


def test_a_run_that_waits_has_begun_its_history_and_nothing_else(wish: Wish) -> None:
    waiting = run_on(start(wish, concurrency=1), "102")

    assert f.told(waiting) == ["workflow_start"]
    assert not waiting.attempts.exists()
    assert engine.claim(waiting.pk, "somebody") is None


def test_when_one_stops_the_next_begins(wish: Wish) -> None:
    batch = start(wish, concurrency=2)
    OrmQ.objects.all().delete()

    f.work(run_on(batch, "101"))

    assert turns_asked_for() == 1
    turns.give(batch.project_id)
    assert statuses(batch)[:4] == ["awaiting_feedback", "in_progress", "in_progress", "pending"]
    assert f.work(run_on(batch, "103")).status == "awaiting_feedback"
    assert history.broken_links(run_on(batch, "103")) == []


def test_a_turn_is_given_once_however_often_it_is_offered(wish: Wish) -> None:
    batch = start(wish, concurrency=2)

    assert [turns.give(batch.project_id) for _ in range(3)] == [0, 0, 0]
    f.work(run_on(batch, "101"))
    assert [turns.give(batch.project_id) for _ in range(3)] == [1, 0, 0]


def test_only_a_run_that_waits_begins(wish: Wish) -> None:
    batch = start(wish, ("1", "2", "3"), concurrency=1)
    begun, waiting, cancelled = (run_on(batch, work_id) for work_id in ("1", "2", "3"))
    engine.cancel(cancelled.pk, reason="not needed", actor=f.STARTER)

    assert [engine.begin(run.pk) for run in (begun, waiting, waiting, cancelled)] == [
        False,
        True,
        False,
        False,
    ]
    assert waiting.attempts.count() == 1
    assert not cancelled.attempts.exists()


def test_when_nobody_waits_no_job_is_made(wish: Wish) -> None:
    batch = start(wish, ("1", "2"))

    f.work(run_on(batch, "1"))

    assert turns_asked_for() == 0


def test_a_cancelled_run_makes_room_and_one_that_waits_is_passed_over(wish: Wish) -> None:
    batch = start(wish, ("1", "2", "3"), concurrency=1)

    engine.cancel(run_on(batch, "2").pk, reason="not needed", actor=f.STARTER)
    engine.cancel(run_on(batch, "1").pk, reason="not needed", actor=f.STARTER)
    assert turns_asked_for() == 2
    turns.give(batch.project_id)

    assert statuses(batch) == ["cancelled", "cancelled", "in_progress"]


def test_a_failing_run_does_not_hold_up_the_others(wish: Wish) -> None:
    batch = start(wish, ("1", "2"), concurrency=1)
    Run.objects.filter(batch=batch, work_id="1").update(status=RunStatus.FAILED)

    sweep()

    assert statuses(batch) == ["failed", "in_progress"]


def test_the_sweep_gives_turns_whose_job_died(wish: Wish) -> None:
    batch = start(wish, ("1", "2", "3"), concurrency=1)
    f.work(run_on(batch, "1"))
    OrmQ.objects.all().delete()

    sweep()

    assert statuses(batch) == ["awaiting_feedback", "in_progress", "pending"]


def test_a_whole_batch_goes_through_in_turn(wish: Wish) -> None:
    batch = start(wish, concurrency=3)

    most = 0
    while going := list(batch.runs.filter(status=RunStatus.IN_PROGRESS).order_by("pk")):
        most = max(most, len(going))
        f.work(going[0])
        turns.give(batch.project_id)

    assert most == 3
    assert set(statuses(batch)) == {"awaiting_feedback"}


def test_a_repeated_work_id_is_refused_and_nothing_is_started(wish: Wish) -> None:
    with pytest.raises(Invalid, match="2 is listed 2 times"):
        start(wish, ("1", "2", "2"))

    assert not Batch.objects.exists()
    assert not Run.objects.exists()


@pytest.mark.parametrize("ids", [(), ("1", "not/this")])
def test_work_ids_that_are_none_are_refused(wish: Wish, ids: tuple[str, ...]) -> None:
    with pytest.raises(Invalid, match="work_id"):
        start(wish, ids)


def test_all_of_it_is_started_or_nothing(wish: Wish, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = iter([engine.start, engine.start])

    def start_or_break(*args: object, **more: object) -> object:
        return next(begun)(*args, **more)  # type: ignore[arg-type]

    monkeypatch.setattr("runs.engine.turns.engine.start", start_or_break)

    with pytest.raises((StopIteration, RuntimeError)):
        start(wish, ("1", "2", "3"))

    assert not Batch.objects.exists()
    assert not Run.objects.exists()


def test_whoever_may_not_start_runs_may_not_start_many(wish: Wish) -> None:
    viewer = f.person(groups=frozenset({Role.VIEWER.value}))

    with pytest.raises(NotAllowed):
        batches.start(BatchWish(wish=wish, work_ids=("1", "2")), viewer)


def test_targets_make_a_batch_without_work_ids(wish: Wish) -> None:
    batch = batches.start(BatchWish(wish=wish, targets=("api", "web")), f.STARTER)

    assert list(batch.runs.order_by("pk").values_list("target", flat=True)) == ["api", "web"]


def test_one_target_goes_to_every_work_id(wish: Wish) -> None:
    batch = start(replace(wish, target="api"), ("1", "2"))

    assert set(batch.runs.values_list("work_id", "target")) == {("1", "api"), ("2", "api")}
    with pytest.raises(Invalid, match="not both"):
        start(wish, ("1", "2"), targets=("a", "b"))


def test_a_workflow_with_a_workspace_of_its_own_gets_one_for_each_run(tmp_path: Path) -> None:
    batch = start(Wish(workflow="demo", workspace=tmp_path), ("1", "2"), concurrency=1)

    assert batch.runs.values_list("workspace", flat=True).distinct().count() == 2
    assert batch.project == Project.objects.get(name="faber/demo")


def test_a_run_tells_its_batch(wish: Wish) -> None:
    batch = start(wish, ("1", "2"))

    assert run_json.run_shape(run_on(batch, "1"))["batch_id"] == batch.batch_id
    alone, _ = starting.start(wish, f.STARTER)
    assert run_json.run_shape(alone)["batch_id"] is None


def test_a_batch_that_is_not_there() -> None:
    with pytest.raises(NotFound, match="no batch 'coord-1'"):
        batches.find("coord-1", seen_by=None)


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
def test_turns_given_at_the_same_time_keep_to_the_limit(wish: Wish) -> None:
    batch = start(wish, concurrency=4)
    for work_id in TWELVE[:4]:
        f.work(run_on(batch, work_id))

    def give() -> None:
        turns.give(batch.project_id)
        connection.close()

    threads = [threading.Thread(target=give) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert statuses(batch) == ["awaiting_feedback"] * 4 + ["in_progress"] * 4 + ["pending"] * 4
