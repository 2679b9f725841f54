"""A new database is made by one migration an app; one that is there takes the single ones."""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from tests.commands import CHECKOUT, environment
from tests.sites import fill_as_released

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

LABELS = ("faber_runs", "faber_feedback")
AT_MOST = 10  # before a first start is slow again: then they are put into one
# How far the first release's database was upgraded before this version came; in what order the same
# migrations come is nothing that depends on the database.
REACHED: dict[str, list[str]] = {
    "half of both": ["faber_runs 0020_labels", "faber_feedback 0013_webhooks"],
    "all of one": ["faber_runs 0033_outputs_compressed"],
    "all of the other": ["faber_feedback 0026_inbox_by_due"],
}


@pytest.mark.parametrize(
    "reached",
    [
        pytest.param([], id="the first release", marks=pytest.mark.database),
        *(pytest.param(each, id=name) for name, each in REACHED.items()),
    ],
)
def test_an_upgraded_database_is_what_a_new_one_is(reached: list[str], tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    told = {**environment(tmp_path), **fill_as_released(data)}
    for words in [*map(str.split, reached), []]:
        command = [sys.executable, str(CHECKOUT / "manage.py"), "migrate", "--verbosity", "0"]
        subprocess.run([*command, *words], env=told, check=True)

    with opened(told.get("FABER_DATABASE_URL", ""), data) as other:
        assert schema(other) == schema(connection)
        assert own_migrations(other) == own_migrations(connection)


@pytest.mark.database
def test_a_new_database_takes_none_of_the_single_ones() -> None:
    planned = [label for label, _ in MigrationLoader(None).graph.nodes]

    assert all(1 <= planned.count(label) <= AT_MOST for label in LABELS)


@contextmanager
def opened(address: str, data: Path) -> Iterator[BaseDatabaseWrapper]:
    other = connection.copy()
    name = urlsplit(address).path.strip("/")
    other.settings_dict["NAME"] = name or str(data / "faber.sqlite3")
    with closing(other):
        yield other


def own_migrations(database: BaseDatabaseWrapper) -> set[tuple[str, str]]:
    return {key for key in MigrationRecorder(database).applied_migrations() if key[0] in LABELS}


def schema(database: BaseDatabaseWrapper) -> dict[str, Any]:
    """Columns in any order; what SQLite calls a nameless constraint says nothing."""
    look = database.introspection
    with database.cursor() as cursor:
        own = [name for name in look.table_names(cursor) if name.startswith(LABELS)]
        return {
            name: (
                sorted(map(str, look.get_table_description(cursor, name))),
                sorted(map(constraint, look.get_constraints(cursor, name).items())),
            )
            for name in own
        }


def constraint(named: tuple[str, Mapping[str, Any]]) -> tuple[str, str]:
    name, told = named
    is_nameless = name.startswith(("fk_", "__unnamed"))
    return ("" if is_nameless else name), str(sorted(told.items()))
