"""A commit is on the disk when it returns, and nobody waited for that but who committed."""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from django.db import OperationalError

from faber_site.sqlite import base
from tests.faber_site.sqlite.test_turns import connected, has_turn

pytestmark = pytest.mark.django_db  # files of its own, beside the one of the tests

Flushed = list[tuple[str, bool]]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "some.sqlite3"


@pytest.fixture
def flushed(file: Path, monkeypatch: pytest.MonkeyPatch) -> Flushed:
    """The files that were waited for, and whether the turn was taken meanwhile."""
    found: Flushed = []

    def note(descriptor: int) -> None:
        names = {path.stat().st_ino: path.name for path in file.parent.iterdir()}
        found.append((names[os.fstat(descriptor).st_ino], has_turn(file)))

    monkeypatch.setattr(base, "_to_disk", note)
    return found


def transaction(database: base.DatabaseWrapper, end: Callable[[], None]) -> None:
    database.ensure_connection()
    database.set_autocommit(False, force_begin_transaction_with_broken_autocommit=True)
    write(database)
    end()
    database.set_autocommit(True)


def write(database: base.DatabaseWrapper) -> None:
    with database.cursor() as cursor:
        cursor.execute("INSERT INTO words VALUES ('one')")


@pytest.fixture
def database(file: Path, flushed: Flushed) -> base.DatabaseWrapper:
    database = connected(file)
    with database.cursor() as cursor:
        cursor.execute("CREATE TABLE words (word TEXT)")
    assert flushed == []
    return database


def test_a_commit_waits_for_the_disk_after_its_turn(
    database: base.DatabaseWrapper, flushed: Flushed
) -> None:
    transaction(database, database.commit)
    assert flushed == [("some.sqlite3-wal", False)]

    write(database)
    assert flushed == [("some.sqlite3-wal", False)] * 2
    database.close()


def test_what_a_statement_returns_is_on_the_disk(
    file: Path, database: base.DatabaseWrapper, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = Path(f"{file}-wal")
    flushed: list[int] = []
    monkeypatch.setattr(base, "_to_disk", lambda each: flushed.append(os.fstat(each).st_size))
    empty = log.stat().st_size
    words = "INSERT INTO words VALUES ('one'), ('two'), ('three') RETURNING word"

    with database.cursor() as cursor:
        cursor.execute(words)
        found = [cursor.fetchone(), *cursor.fetchmany(1), *cursor.fetchall(), cursor.fetchone()]
        assert list(cursor.execute(words)) == [("one",), ("two",), ("three",)]
        cursor.execute("SELECT count(*) FROM words")
        assert cursor.fetchall() == [(6,)]

    assert found == [("one",), ("two",), ("three",), None]
    assert empty < flushed[0] < flushed[1] == log.stat().st_size
    database.close()


def test_a_file_behind_a_link_is_on_the_disk_too(
    file: Path, database: base.DatabaseWrapper, flushed: Flushed, tmp_path: Path
) -> None:
    link = tmp_path / "elsewhere" / "linked.sqlite3"
    link.parent.mkdir()
    link.symlink_to(file)
    linked = connected(link)

    write(linked)

    assert flushed == [("some.sqlite3-wal", False)]
    assert sorted(link.parent.iterdir()) == [link]
    linked.close()
    database.close()


def test_what_commits_nothing_waits_for_no_disk(
    database: base.DatabaseWrapper, flushed: Flushed
) -> None:
    transaction(database, database.rollback)
    with database.cursor() as cursor:
        cursor.execute("SELECT * FROM words")
    with database.in_haste():
        write(database)

    assert flushed == []
    database.close()


def test_a_database_without_such_a_log_waits_as_sqlite_does(file: Path, flushed: Flushed) -> None:
    database = connected(file, init_command="PRAGMA journal_mode=DELETE; PRAGMA synchronous=FULL;")
    with database.cursor() as cursor:
        cursor.execute("CREATE TABLE words (word TEXT)")
        write(database)
        found = cursor.execute("PRAGMA synchronous").fetchone()

    assert found == (2,)
    assert flushed == []
    database.close()


def test_a_disk_that_fails_fails_the_commit(
    database: base.DatabaseWrapper, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_descriptor: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(base, "_to_disk", fail)

    for end in (partial(write, database), partial(transaction, database, database.commit)):
        with pytest.raises(OperationalError, match="Input/output error"):
            end()
    database.close()
