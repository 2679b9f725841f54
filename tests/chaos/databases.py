"""A database of its own for a site that a test starts, on whichever database the tests are for."""

import os
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import psycopg
from django.db import connection
from psycopg.sql import SQL, Identifier

from tests.sites import seed


def new_postgres() -> str:
    """The address of an empty database on the tests' server."""
    server, name = os.environ["FABER_DATABASE_URL"], f"site_{uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as there:
        there.execute(SQL("CREATE DATABASE {}").format(Identifier(name)))
    return urlsplit(server)._replace(path=f"/{name}").geturl()


def prepared(data: Path, *, is_empty: bool = False) -> dict[str, str]:
    """Make a data directory ready for a site; the settings that it needs."""
    if connection.vendor == "postgresql":
        data.mkdir(mode=0o700, exist_ok=True)
        return {"FABER_DATABASE_URL": new_postgres()}
    if not is_empty:
        seed(data)
    return {}
