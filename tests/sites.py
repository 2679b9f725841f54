"""Sites on data directories of their own, without waiting for the migrations each time."""

import gzip
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import psycopg
from django.conf import settings
from psycopg.sql import SQL, Identifier

from tests.commands import CHECKOUT, environment

BEFORE = CHECKOUT / "tests" / "chaos" / "before"


def seed(data: Path) -> Path:
    """Put an empty, up-to-date database into a data directory; the directory again."""
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    shutil.copy(_migrated(), data)
    return data


def fill_as_released(data: Path) -> dict[str, str]:
    """Bring back a database that the first release filled; the settings that lead to it."""
    if "postgres" in str(settings.DATABASES["default"]["ENGINE"]):
        return {"FABER_DATABASE_URL": _restored_to_postgres()}
    with closing(sqlite3.connect(data / "faber.sqlite3")) as database:
        database.executescript(_dump("sqlite"))
    return {}


def _restored_to_postgres() -> str:
    """The address of a new database on the tests' server."""
    server, name = os.environ["FABER_DATABASE_URL"], f"before_{uuid4().hex}"
    place = urlsplit(server)._replace(path=f"/{name}").geturl()
    # What begins with a backslash is for psql.
    statements = "\n".join(line for line in _dump("postgres").splitlines() if line[:1] != "\\")
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(SQL("CREATE DATABASE {}").format(Identifier(name)))
    with psycopg.connect(place) as connection:
        connection.execute(SQL(statements))
    return place


def _dump(name: str) -> str:
    return gzip.decompress((BEFORE / f"{name}.sql.gz").read_bytes()).decode()


@cache
def _migrated() -> Path:
    """A database that this process has made once."""
    folder = Path(tempfile.mkdtemp(prefix="faber-site-"))
    subprocess.run(
        [sys.executable, CHECKOUT / "manage.py", "migrate", "--verbosity", "0"],
        env=environment(folder),
        check=True,
    )
    return folder / "data" / "faber.sqlite3"
