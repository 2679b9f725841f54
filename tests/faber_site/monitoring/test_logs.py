"""What reaches a log is without secrets, whoever wrote the line."""

import json
import logging
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from django.conf import settings
from django.db import OperationalError

from faber_site.monitoring.logs import AsJson, Calm, SecretFree
from faber_site.runtime import processes
from runs.jobs import log_context
from runs.worker.advance import advance_run
from tests import factories as f


@pytest.fixture(autouse=True)
def nothing_under_way() -> Iterator[None]:
    with log_context.busy_with_run():
        yield


def written(message: str, *args: object, error: BaseException | None = None) -> str:
    trace = (type(error), error, error.__traceback__) if error else None
    record = logging.LogRecord("django.request", logging.ERROR, "x.py", 1, message, args, trace)
    return SecretFree("%(levelname)s %(name)s: %(message)s").format(record)


def test_a_sign_in_link_is_not_written() -> None:
    line = written("Internal Server Error: %s", "/login/link/WzEsImV5SWNLYXdNaEZtZmVU:1xTD7Q:AnLr/")

    assert line.startswith("ERROR django.request: Internal Server Error: /login/link/")
    assert "WzEsImV5SWNLYXdNaEZtZmVU" not in line


def test_the_sites_own_secrets_are_not_written() -> None:
    assert settings.SECRET_KEY not in written("The key is %s.", settings.SECRET_KEY)


def test_a_traceback_is_not_left_out_of_that() -> None:
    token = "faber_" + secrets.token_urlsafe(32)
    try:
        raise ValueError(token)  # noqa: TRY301
    except ValueError as error:
        told = written("It failed.", error=error)

    assert "Traceback" in told
    assert token not in told


def refused(file: Path, statement: str) -> Exception:
    """What SQLite says, as Django passes it on."""
    error = OperationalError()
    with closing(sqlite3.connect(file, timeout=0)) as opened:
        try:
            opened.execute(statement)
        except sqlite3.OperationalError as cause:
            error = OperationalError(str(cause))
            error.__cause__ = cause
    return error


def test_an_outage_of_the_database_is_told_without_a_stack(tmp_path: Path) -> None:
    """Every process that asks tells of it, again and again, and it is no fault of theirs."""
    file = tmp_path / "site.sqlite3"
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        error = refused(file, "CREATE TABLE runs (id)")

    told = written("It failed.", error=error)

    assert told == "ERROR django.request: It failed.\ndatabase is locked"


def test_a_server_that_is_gone_is_told_in_one_line() -> None:
    gone = OperationalError("connection refused\n\tIs the server running?")
    gone.__cause__ = psycopg.OperationalError("connection refused")

    assert written("It failed.", error=gone).endswith("It failed.\nconnection refused")


def test_a_wrong_statement_is_told_with_its_stack(tmp_path: Path) -> None:
    error = refused(tmp_path / "site.sqlite3", "SELECT 1 FROM nowhere")

    assert "Traceback" in written("It failed.", error=error)


def test_an_ordinary_line_stays_as_it_is() -> None:
    assert written("Sweeping %d runs.", 3) == "ERROR django.request: Sweeping 3 runs."


def as_json(message: str, **context: str) -> dict[str, object]:
    record = logging.LogRecord("runs.worker", logging.INFO, "x.py", 1, message, (), None)
    tokens = [(getattr(log_context, name), value) for name, value in context.items()]
    resets = [(variable, variable.set(value)) for variable, value in tokens]
    try:
        line: dict[str, object] = json.loads(AsJson().format(record))
    finally:
        for variable, token in resets:
            variable.reset(token)
    return line


def test_a_line_of_json_names_the_request_and_the_run() -> None:
    line = as_json("Step done.", request_id="r-1", run_id="acme/app/1")

    assert line.pop("time")
    assert line == {
        "level": "INFO",
        "logger": "runs.worker",
        "message": "Step done.",
        "request_id": "r-1",
        "run_id": "acme/app/1",
    }


def test_a_line_of_json_has_no_secrets() -> None:
    assert settings.SECRET_KEY not in str(as_json(f"The key is {settings.SECRET_KEY}."))


def test_the_same_trouble_is_told_once_in_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr("faber_site.monitoring.logs.time.monotonic", lambda: now)
    calm = Calm()

    def let_through(message: str, level: int = logging.WARNING) -> str:
        record = logging.LogRecord("runs", level, "x.py", 1, message, (), None)
        return record.getMessage() if calm.filter(record) else ""

    assert let_through("The database is gone.") == "The database is gone."
    assert [let_through("The database is gone.") for _ in range(7)] == [""] * 7
    assert let_through("Something else.") == "Something else."
    assert let_through("A step began.", logging.INFO) == "A step began."
    assert let_through("A step began.", logging.INFO) == "A step began."

    now += 31
    told = let_through("The database is gone.")
    assert told == "The database is gone. (7 more like this since the last.)"


def test_a_workers_line_names_the_run_of_its_job_and_of_no_other(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(processes, "PROC", tmp_path)
    processes.be_busy(is_busy=True)
    log_context.note_run("acme/app/1")
    during = written("Delivered.")
    processes.be_busy(is_busy=False)

    assert during == "ERROR django.request: Delivered. (run acme/app/1)"
    assert written("Waiting.") == "ERROR django.request: Waiting."


@pytest.mark.django_db
def test_what_a_worker_says_of_a_run_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    run = f.start(f.five_steps())
    lines: list[str] = []
    monkeypatch.setattr(
        "runs.worker.advance.context.reconstitute", lambda *_, **__: lines.append(written("Now."))
    )

    with pytest.raises(AttributeError):  # nothing comes back
        advance_run(run.pk)

    assert lines == [f"ERROR django.request: Now. (run {run.run_id})"]
