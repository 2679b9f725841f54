"""A fresh store for each measurement, and how much it holds."""

import sqlite3
import tempfile
import uuid
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import psycopg

from bench.peers.contender_table import Contender, Store
from tests import postgres


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where one contender keeps its runs in one round."""

    address: str
    store: Store

    def told(self, contender: Contender) -> str:
        """The address as the contender's library wants it."""
        if self.store is Store.SQLITE:
            return f"{contender.scheme}{self.address}"
        return urlsplit(self.address)._replace(scheme=contender.scheme or "postgresql").geturl()

    def size(self) -> int:
        """Bytes of everything kept, without the gaps."""
        return _file_size(self.address) if self.store is Store.SQLITE else _tables(self.address)


class Stores:
    """One PostgreSQL server for all, with stock settings; a file for each on SQLite."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._server = ""

    def fresh(self, store: Store) -> Place:
        name = f"bench_{uuid.uuid4().hex[:12]}"
        if store is Store.SQLITE:
            return Place(address=str(self._folder / f"{name}.sqlite3"), store=store)
        self._server = self._server or postgres.start()
        with psycopg.connect(self._server, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
        at = urlsplit(self._server)._replace(path=f"/{name}")
        # An address without a host keeps its two slashes only when it is put together by hand.
        return Place(address=f"{at.scheme}://{at.netloc}{at.path}?{at.query}", store=store)

    def drop(self, place: Place) -> None:
        if place.store is Store.SQLITE:
            for file in self._folder.glob(f"{Path(place.address).name}*"):
                file.unlink()
            return
        name = urlsplit(place.address).path.lstrip("/")
        with psycopg.connect(self._server, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


def _file_size(path: str) -> int:
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "compact.sqlite3"
        with closing(sqlite3.connect(path, timeout=30)) as connection:
            connection.execute("VACUUM INTO ?", [str(copy)])
        return copy.stat().st_size


def _tables(address: str) -> int:
    counted = "SELECT sum(pg_total_relation_size(relid)) FROM pg_stat_user_tables"
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("VACUUM FULL")
        row = connection.execute(counted).fetchone()
    return int(row[0]) if row and row[0] else 0
