"""Results reach the record, whatever the database and the worker do meanwhile."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.db import InterfaceError, OperationalError, connection
from pytest_django import Settings

from runs import engine
from runs.domain.responses.results import Result, ResultStatus
from runs.domain.values.questions import Action, FeedbackType, Gate, Option, Question
from runs.engine import Claim, Settlement, claims, recovery
from runs.engine.files.artifacts import FoundFile
from runs.executors import Outcome
from runs.models import Run, StepAttempt, StepOutput
from runs.worker import advance, settling, spool
from tests import factories as f

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.database]

DONE = Outcome(
    result=Result(status=ResultStatus.SUCCESS, message="done", details={"a": [1, {"b": None}]}),
    stdout="printed",
    exit_code=0,
    session="s-1",
    usage={"turns": 3},
)


@pytest.fixture(autouse=True)
def data(settings: Settings, tmp_path: Path) -> Path:
    settings.FABER_DATA_DIR = tmp_path
    return tmp_path


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settling, "LONGEST_PAUSE", 0.0)


def claimed(run: Run, worker: str = "worker") -> Claim:
    claim = engine.claim(run.pk, worker)
    assert claim
    return claim


def spooled(data: Path) -> list[str]:
    """The files that hold something; an empty one is its process's for the next result."""
    return sorted(file.name for file in (data / "spool").glob("*") if file.stat().st_size)


class Trouble:
    """A database that fails so many statements of one kind."""

    def __init__(self, error: Exception, *, times: int, of: str = "UPDATE") -> None:
        self.left, self._error, self._of = times, error, of

    def __call__(
        self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any
    ) -> Any:
        if self.left and sql.lstrip().startswith(self._of):
            self.left -= 1
            raise self._error
        return execute(sql, params, many, context)


@contextmanager
def troubled(trouble: Trouble, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """On every connection that is made meanwhile, as a new one is after each failure."""
    monkeypatch.setattr(connection, "close", lambda: None)
    with connection.execute_wrapper(trouble):
        yield


@pytest.mark.parametrize(
    "error",
    [
        OperationalError("server closed the connection unexpectedly"),
        OperationalError("database is locked"),
        OperationalError("database or disk is full"),
        InterfaceError("connection already closed"),
    ],
    ids=str,
)
def test_a_result_is_settled_when_the_database_is_back(
    error: Exception, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = f.start(f.five_steps())
    claim = claimed(run)

    with troubled(Trouble(error, times=3), monkeypatch):
        following = settling.settle(claim, engine.settlement(claim, DONE))

    assert following
    assert following.unit.key == "architect:two"
    assert [a.status for a in run.attempts.order_by("pk")] == ["finished", "running"]
    assert spooled(data) == []


def test_a_commit_whose_answer_was_lost_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    run = f.start(f.five_steps())
    claim, put_on_record = claimed(run), engine.put_on_record

    def committed_unseen(*args: Any, **named: Any) -> Claim | None:
        put_on_record(*args, **named)
        raise OperationalError("server closed the connection unexpectedly")

    monkeypatch.setattr(engine, "put_on_record", committed_unseen)

    following = settling.settle(claim, engine.settlement(claim, DONE))

    assert following
    assert following.unit.key == "architect:two"
    first = run.attempts.get(step="one")
    assert (first.status, first.late_response) == ("finished", None)
    assert f.told(run).count("step_complete") == 1


def test_a_defect_is_no_outage(monkeypatch: pytest.MonkeyPatch, data: Path) -> None:
    claim = claimed(f.start(f.five_steps()))

    def broken(*_args: Any, **_options: Any) -> None:
        raise ValueError("a defect")

    monkeypatch.setattr(engine, "put_on_record", broken)

    with pytest.raises(ValueError, match="a defect"):
        settling.settle(claim, engine.settlement(claim, DONE))
    assert len(spooled(data)) == 1


def die_holding(claim: Claim, settlement: Settlement) -> None:
    """What is left when a worker is killed between its step's end and the commit."""
    pid = os.fork()
    if pid == 0:
        with spool.kept(claim, settlement):
            os._exit(9)
    os.waitpid(pid, 0)


QUESTION = Question(
    type=FeedbackType.APPROVAL,
    prompt="Go on?",
    gate=Gate.AFTER_STEP,
    options=(
        Option(value="approve", action=Action.CONTINUE),
        Option(value="reject", action=Action.ABORT),
    ),
)


def test_the_result_of_a_worker_that_died_is_found_and_its_step_not_repeated(data: Path) -> None:
    run = f.start(f.five_steps())
    claim = claimed(run, "dead")
    found = (FoundFile(path="notes.md", content=b"# N\xc3\xb6tes\x00"),)
    die_holding(claim, engine.settlement(claim, DONE, found))
    assert len(spooled(data)) == 1

    settling.settle_kept()

    first, second = run.attempts.order_by("pk")
    assert (first.status, first.result, first.session) == ("finished", "success", "s-1")
    assert first.response == {
        "status": "success",
        "message": "done",
        "details": {"a": [1, {"b": None}]},
    }
    assert StepOutput.objects.get(attempt=first).stdout == "printed"
    assert bytes(run.revisions.get().content) == b"# N\xc3\xb6tes\x00"
    assert (second.key, second.status, second.worker) == ("architect:two", "queued", "")
    assert spooled(data) == []
    assert f.work(run).status == "awaiting_feedback"


def test_a_question_that_came_with_the_result_is_asked(data: Path) -> None:
    run = f.start(f.five_steps())
    claim = claimed(run, "dead")
    die_holding(claim, engine.settlement(claim, DONE, asks=QUESTION))

    settling.settle_kept()

    assert f.pending(run).prompt == "Go on?"


def test_the_result_of_a_living_worker_is_left_to_it(data: Path) -> None:
    run = f.start(f.five_steps())
    claim = claimed(run)

    with spool.kept(claim, engine.settlement(claim, DONE)):
        settling.settle_kept()
        assert run.attempts.get().status == "running"
        assert len(spooled(data)) == 1

    assert spooled(data) == []


def test_a_result_found_when_somebody_else_has_the_step_is_kept_as_a_late_one(data: Path) -> None:
    run = f.start(f.five_steps())
    claim = claimed(run, "dead")
    die_holding(claim, engine.settlement(claim, DONE))
    f.lose(run)
    claimed(run, "alive")

    settling.settle_kept()

    lost = run.attempts.get(status="lost")
    assert lost.late_response is not None
    assert lost.late_response["message"] == "done"
    assert StepOutput.objects.get(attempt=lost).stdout == "printed"
    assert run.attempts.get(status="running").worker == "alive"
    assert spooled(data) == []


def test_a_result_that_was_settled_after_all_is_forgotten(data: Path) -> None:
    run = f.start(f.five_steps())
    claim = claimed(run, "dead")
    die_holding(claim, engine.settlement(claim, DONE))
    engine.settle(claim, DONE)

    settling.settle_kept()

    assert run.attempts.order_by("pk")[0].late_response is None
    assert spooled(data) == []


def test_what_cannot_be_read_is_put_aside_and_keeps_nobody_waiting(data: Path) -> None:
    run = f.start(f.five_steps())
    claim = claimed(run, "dead")
    die_holding(claim, engine.settlement(claim, DONE))
    (data / "spool" / "0-0.json").write_text('{"attempt": ')
    (data / "spool" / "1-0.begun").write_text('{"attempt": ')

    settling.settle_kept()

    assert run.attempts.order_by("pk")[0].status == "finished"
    assert spooled(data) == ["0-0.unreadable"]


def test_what_cannot_be_settled_is_put_aside_and_keeps_nobody_waiting(
    data: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    runs = [f.start(f.five_steps()) for _ in range(2)]
    claims = [claimed(run, "dead") for run in runs]
    for claim in claims:
        die_holding(claim, engine.settlement(claim, DONE))
    refused, put = spooled(data)[0], engine.put_on_record
    tried: list[str] = []

    def refuse_the_first(claim: Claim, *args: Any, **named: Any) -> Any:
        tried.append(claim.run.run_id)
        if len(tried) == 1:
            raise ValueError("A string literal cannot contain NUL (0x00) characters.")
        return put(claim, *args, **named)

    monkeypatch.setattr(engine, "put_on_record", refuse_the_first)

    settling.settle_kept()
    settling.settle_kept()

    assert len(tried) == 2
    assert spooled(data) == [f"{Path(refused).stem}.unreadable"]
    assert "cannot be settled" in caplog.text


def test_a_database_that_is_gone_leaves_what_was_kept_where_it_is(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = claimed(f.start(f.five_steps()), "dead")
    die_holding(claim, engine.settlement(claim, DONE))
    kept = spooled(data)
    trouble = Trouble(OperationalError("database is locked"), times=1)

    with troubled(trouble, monkeypatch), pytest.raises(OperationalError):
        settling.settle_kept()

    assert spooled(data) == kept


def test_a_file_that_somebody_looks_into_is_not_used(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = claimed(f.start(f.five_steps()))
    lock, looks = spool._lock, iter([False])
    monkeypatch.setattr(spool, "_lock", lambda file: next(looks, True) and lock(file))

    for count in (0, 1):
        with spool.kept(claim, engine.settlement(claim, DONE)):
            assert len(spooled(data)) == count
    assert len(list((data / "spool").iterdir())) == 1


def test_a_disk_that_is_full_keeps_no_result_from_being_settled(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = f.start(f.five_steps())
    claim = claimed(run)

    def full(*_args: Any, **_named: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "open", full)

    assert settling.settle(claim, engine.settlement(claim, DONE))


def test_a_disk_that_fills_up_meanwhile_leaves_nothing_half_written(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = f.start(f.five_steps())
    claim = claimed(run)
    left: list[str] = []

    def put_on_record(*args: Any, **named: Any) -> Any:
        left.extend(spooled(data))
        return put(*args, **named)

    put, write = engine.put_on_record, os.pwrite
    monkeypatch.setattr(engine, "put_on_record", put_on_record)
    monkeypatch.setattr(os, "pwrite", lambda file, content, at: write(file, content[:9], at))

    following = settling.settle(claim, engine.settlement(claim, DONE))

    assert following
    assert left == []
    monkeypatch.setattr(os, "pwrite", write)
    assert settling.settle(following, engine.settlement(following, DONE)) is None
    assert len(left) == 1


def test_results_of_one_process_are_kept_in_one_file(data: Path) -> None:
    claims = [claimed(f.start(f.five_steps())) for _ in range(2)]
    names = []

    for claim in claims:
        with spool.kept(claim, engine.settlement(claim, DONE)):
            names += spooled(data)
    first, second = (spool.kept(claim, engine.settlement(claim, DONE)) for claim in claims)
    with first, second:
        assert len(spooled(data)) == 2

    assert len(set(names)) == 1
    assert spooled(data) == []


def test_a_spool_that_was_cleared_away_is_made_again(data: Path) -> None:
    claim = claimed(f.start(f.five_steps()))
    with spool.kept(claim, engine.settlement(claim, DONE)):
        pass
    shutil.rmtree(data / "spool")

    with spool.kept(claim, engine.settlement(claim, DONE)):
        assert len(spooled(data)) == 1


def test_a_fork_does_not_hold_the_results_of_its_parent(data: Path) -> None:
    run = f.start(f.five_steps())
    claim = claimed(run, "dead")
    heard, told = os.pipe()
    pid = os.fork()
    if pid == 0:  # the worker, which dies beside a fork of its own
        with spool.kept(claim, engine.settlement(claim, DONE)):
            if os.fork() == 0:
                os.close(told)
                os.read(heard, 1)
            os._exit(9)
    os.waitpid(pid, 0)

    settling.settle_kept()

    assert run.attempts.order_by("pk")[0].status == "finished"
    os.close(told)
    os.close(heard)


def test_half_a_result_of_a_worker_that_died_is_none(data: Path) -> None:
    run = f.start(f.five_steps())
    claim = claimed(run, "dead")
    die_holding(claim, engine.settlement(claim, DONE))
    (file,) = (data / "spool").iterdir()
    file.write_bytes(file.read_bytes()[:-20])

    settling.settle_kept()

    assert run.attempts.get().status == "running"
    assert list((data / "spool").iterdir()) == []


def test_nothing_is_kept_on_disk_that_may_not_be_kept_at_all(data: Path) -> None:
    claim = claimed(f.start(f.five_steps()), "dead")
    secret = "ghp_" + "a1B2" * 9
    said = Outcome(
        result=Result(status=ResultStatus.SUCCESS, message=f"with {secret}"), stdout=secret
    )

    die_holding(claim, engine.settlement(claim, said))

    (file,) = (data / "spool").iterdir()
    assert secret not in file.read_text()
    assert file.stat().st_mode & 0o077 == 0


def test_a_step_that_could_not_be_prepared_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    run = f.start(f.five_steps())
    lost = Trouble(OperationalError("server closed the connection"), times=1, of="INSERT")

    with troubled(lost, monkeypatch):
        advance.advance_run(run.pk)

    given_back = run.attempts.get()
    assert (given_back.status, given_back.reason) == ("running", recovery.CUT_OFF)
    assert f.work(run).status == "awaiting_feedback"
    assert run.attempts.filter(status="lost").count() == 1


def test_a_claim_whose_answer_was_lost_is_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    run = f.start(f.five_steps())
    held_by = claims.held_by

    def unseen(*_args: Any, **_named: Any) -> None:
        monkeypatch.setattr(claims, "held_by", held_by)
        raise OperationalError("server closed the connection unexpectedly")

    monkeypatch.setattr(claims, "held_by", unseen)
    with pytest.raises(OperationalError):
        advance.advance_run(run.pk)

    assert StepAttempt.objects.get().reason == recovery.CUT_OFF
    assert f.work(run).status == "awaiting_feedback"
