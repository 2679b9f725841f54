"""Writers of one SQLite file take turns: nobody waits longer than another writes."""

import fcntl
import gc
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError
from django.db.backends.base.base import BaseDatabaseWrapper

from faber_site.configuration import databases
from faber_site.sqlite import base

pytestmark = pytest.mark.django_db  # files of its own, beside the one of the tests

WRITERS, WRITES = 4, 25


def connected(file: Path, **options: object) -> base.DatabaseWrapper:
    settings: dict[str, Any] = databases.settings_for("", file)
    settings["OPTIONS"] |= options
    made = {"AUTOCOMMIT": True, "ATOMIC_REQUESTS": False, "CONN_HEALTH_CHECKS": False}
    return base.DatabaseWrapper({**made, "TIME_ZONE": None, **settings}, "turns")


@pytest.fixture
def file(tmp_path: Path) -> Iterator[Path]:
    file = tmp_path / "some.sqlite3"
    database = connected(file)
    with database.cursor() as cursor:
        cursor.execute("CREATE TABLE words (word TEXT)")
    yield file
    database.close()


def written(database: BaseDatabaseWrapper) -> int:
    with database.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM words")
        number: int = cursor.fetchone()[0]
    return number


def has_turn(file: Path) -> bool:
    """Whether some connection writes."""
    with Path(f"{file}-turn").open() as other:
        try:
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def test_all_that_many_write_at_once_is_there(file: Path) -> None:
    def write(_number: int) -> None:
        database = connected(file)
        for _ in range(WRITES):
            with database.cursor() as cursor:
                cursor.execute("INSERT INTO words VALUES ('one')")
            database.set_autocommit(False, force_begin_transaction_with_broken_autocommit=True)
            with database.cursor() as cursor:
                cursor.execute("INSERT INTO words VALUES ('another')")
            database.commit()
            database.set_autocommit(True)
        database.close()

    with ThreadPoolExecutor(WRITERS) as pool:
        list(pool.map(write, range(WRITERS)))

    database = connected(file)
    assert written(database) == WRITERS * WRITES * 2
    database.close()
    assert not has_turn(file)


@pytest.mark.parametrize("end", ["commit", "rollback", "close"])
def test_a_transaction_has_the_turn_until_it_ends(file: Path, end: str) -> None:
    database = connected(file)
    database.ensure_connection()
    database.set_autocommit(False, force_begin_transaction_with_broken_autocommit=True)
    assert has_turn(file)

    getattr(database, end)()

    assert not has_turn(file)
    database.close()


def test_a_statement_that_fails_gives_the_turn_back(file: Path) -> None:
    database = connected(file)

    with pytest.raises(OperationalError), database.cursor() as cursor:
        cursor.execute("INSERT INTO nowhere VALUES (1)")

    assert not has_turn(file)
    database.close()


def test_who_only_reads_waits_for_nobody(file: Path) -> None:
    writer, reader = connected(file), connected(file, timeout=0)
    writer.ensure_connection()
    writer.set_autocommit(False, force_begin_transaction_with_broken_autocommit=True)

    assert written(reader) == 0
    writer.close()
    reader.close()


def test_a_writer_that_holds_on_is_told_as_a_locked_database(file: Path) -> None:
    holding, waiting = connected(file), connected(file, timeout=0.1)
    holding.ensure_connection()
    holding.set_autocommit(False, force_begin_transaction_with_broken_autocommit=True)

    with pytest.raises(OperationalError, match="database is locked"), waiting.cursor() as cursor:
        cursor.execute("INSERT INTO words VALUES ('late')")

    holding.close()
    waiting.close()


def test_a_writer_that_dies_keeps_nobody_waiting(file: Path) -> None:
    holding = "import fcntl, sys, time; fcntl.flock(open(sys.argv[1]), 2); print(1, flush=True)"
    process = subprocess.Popen(
        [sys.executable, "-c", f"{holding}; time.sleep(60)", f"{file}-turn"], stdout=subprocess.PIPE
    )
    assert process.stdout
    process.stdout.readline()
    threading.Timer(0.1, process.kill).start()
    database = connected(file)

    with database.cursor() as cursor:
        cursor.execute("INSERT INTO words VALUES ('next')")

    assert written(database) == 1
    database.close()
    process.communicate()


def test_a_fork_that_dies_in_its_turn_keeps_nobody_waiting(file: Path) -> None:
    database = connected(file)
    database.ensure_connection()
    if not (child := os.fork()):
        database.set_autocommit(False, force_begin_transaction_with_broken_autocommit=True)
        os._exit(0)
    os.waitpid(child, 0)

    assert not has_turn(file)
    database.close()


def test_a_fork_that_ends_leaves_its_parent_the_turn(file: Path) -> None:
    database = connected(file)
    database.ensure_connection()
    database.set_autocommit(False, force_begin_transaction_with_broken_autocommit=True)
    if not (child := os.fork()):
        database.end_turn()
        os._exit(0)
    os.waitpid(child, 0)

    assert has_turn(file)
    database.close()


@pytest.mark.filterwarnings("ignore:unclosed database:ResourceWarning")  # that is what it is about
def test_a_thread_that_ends_in_its_turn_keeps_nobody_waiting(file: Path) -> None:
    def begin() -> None:
        database = connected(file)
        database.ensure_connection()
        database.set_autocommit(False, force_begin_transaction_with_broken_autocommit=True)
        assert has_turn(file)

    thread = threading.Thread(target=begin)
    thread.start()
    thread.join()
    gc.collect()

    assert not has_turn(file)


def test_the_file_of_turns_is_for_its_owner_only(file: Path) -> None:
    assert Path(f"{file}-turn").stat().st_mode & 0o777 == 0o600
