"""Django's SQLite, whose writers take turns instead of waiting for ever longer.

A commit is on the disk when it returns, as with `synchronous=FULL`. There SQLite waits for the disk
while nobody else may write; here the turn is given first, and the next one writes meanwhile.
"""

import fcntl
import os
import sqlite3
import time
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from itertools import islice
from typing import Any

from django.db.backends.sqlite3 import base

# A writer has the file for about a millisecond. SQLite itself would wait for ever longer, up to a
# tenth of a second: where several processes write, the file lay unused for most of the time.
SHORT_PAUSE, LONG_PAUSE = 0.0002, 0.005
SOON = 0.05  # whoever has it longer than this does something else than a step
_WRITES = ("BEGIN IMMEDIATE", "INSERT", "UPDATE", "DELETE")
_to_disk = getattr(os, "fdatasync", os.fsync)  # which not every system has


class WriteTurn:
    """Held by the one connection that writes, and given up with its process, however that ends.

    In a file of its own: whoever opens and closes the database's file loses SQLite's locks there.
    """

    def __init__(self, database: str, patience: float) -> None:
        self._place = f"{database}-turn"
        self._patience = patience
        self._open()

    def take(self) -> None:
        """Whoever does not get it in time tries without: then SQLite says that it is locked."""
        if self._owner != os.getpid():
            # What a fork locks here would be locked for its parent too, and outlive the fork.
            self.close()
            self._open()
        began = time.monotonic()
        while not self._is_taken():
            waited = time.monotonic() - began
            if waited > self._patience:
                return
            time.sleep(SHORT_PAUSE if waited < SOON else LONG_PAUSE)

    def give(self) -> None:
        if self._owner == os.getpid():
            fcntl.flock(self._file, fcntl.LOCK_UN)

    def close(self) -> None:
        self._closing()

    def _open(self) -> None:
        self._owner = os.getpid()
        self._file = os.open(self._place, os.O_RDWR | os.O_CREAT, 0o600)
        # A thread may end without closing its connection.
        self._closing = weakref.finalize(self, os.close, self._file)

    def _is_taken(self) -> bool:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


class WriteAheadLog:
    """What is committed until SQLite copies it into the database's file.

    It stays the same file while a connection has it open, and SQLite locks nothing in it.
    """

    def __init__(self, database: str) -> None:
        self._place = f"{database}-wal"
        self._file: int | None = None

    def flush(self) -> None:
        """Wait until all that was committed so far is on the disk."""
        try:
            if self._file is None:
                self._file = os.open(self._place, os.O_RDONLY)
                self._closing = weakref.finalize(self, os.close, self._file)
            _to_disk(self._file)
        except OSError as error:
            raise sqlite3.OperationalError(f"not on the disk: {error.strerror}") from error

    def close(self) -> None:
        if self._file is not None:
            self._closing()


class DatabaseWrapper(base.DatabaseWrapper):
    turn: WriteTurn | None = None  # nobody else has a database in memory
    _log: WriteAheadLog | None = None
    _is_in_haste = False

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        connection = super().get_new_connection(conn_params)
        file = os.path.realpath(conn_params["database"])  # beside it SQLite has its own files
        if not self.is_in_memory_db():
            self.turn = WriteTurn(file, conn_params.get("timeout", 5.0))
        if connection.execute("PRAGMA journal_mode").fetchone() == ("wal",):
            self._log = WriteAheadLog(file)
            connection.execute("PRAGMA synchronous=NORMAL")
        return connection

    @contextmanager
    def in_haste(self) -> Iterator[None]:
        """What is committed here is on the disk only with the next commit that waits for it."""
        self._is_in_haste = True
        try:
            yield
        finally:
            self._is_in_haste = False

    def create_cursor(self, name: str | None = None) -> Any:
        cursor = self.connection.cursor(factory=TurnCursor)
        cursor.database = self
        return cursor

    def end_turn(self) -> None:
        if self.turn:
            self.turn.give()
        if self._log and not self._is_in_haste:
            self._log.flush()

    def _commit(self) -> None:
        super()._commit()  # type: ignore[misc]  # which the stubs lack
        with self.wrap_database_errors:
            self.end_turn()

    def _rollback(self) -> None:
        super()._rollback()  # type: ignore[misc]  # which the stubs lack
        if self.turn:
            self.turn.give()

    def _close(self) -> None:
        super()._close()  # type: ignore[misc]  # which the stubs lack
        for file in (self.turn, self._log):
            if file:
                file.close()
        self.turn = self._log = None


class TurnCursor(base.SQLiteCursorWrapper):
    """Takes the turn for a transaction that writes, or for a single statement outside of one."""

    database: DatabaseWrapper
    _returned: Iterator[Any] | None = None

    def execute(self, query: str, params: Any = None) -> Any:
        self._returned = None
        turn = self.database.turn
        if turn is None or self.connection.in_transaction or not query.startswith(_WRITES):
            return super().execute(query, params)
        turn.take()
        try:
            done = super().execute(query, params)
            if self.description and not self.connection.in_transaction:
                # What a statement returns SQLite gives before it commits, at the last of it.
                self._returned = iter(super().fetchall())
        except BaseException:
            turn.give()
            raise
        if not self.connection.in_transaction:
            self.database.end_turn()
        return done

    def __next__(self) -> Any:
        return super().__next__() if self._returned is None else next(self._returned)

    def fetchone(self) -> Any:
        return super().fetchone() if self._returned is None else next(self._returned, None)

    def fetchmany(self, size: int | None = 1) -> list[Any]:
        if self._returned is None:
            return super().fetchmany(size)
        return list(islice(self._returned, size))

    def fetchall(self) -> list[Any]:
        return super().fetchall() if self._returned is None else list(self._returned)

    def convert_query(self, query: str, *, param_names: Iterable[str] | None = None) -> str:
        if param_names is None:
            return _with_question_marks(query)
        return str(super().convert_query(query, param_names=param_names))


@lru_cache(maxsize=512)
def _with_question_marks(query: str) -> str:
    """What Django would make of a statement; it looks through the same few again and again."""
    return str(base.FORMAT_QMARK_REGEX.sub("?", query)).replace("%%", "%")
