"""Writes whose SQL is made once a process, as in `prepared`; no signals, nobody here listens."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Model

# SQLite refuses a statement with too many values.
_ROWS_AT_ONCE = 50


def insert(new: Model) -> None:
    """Write a new object as `save` does."""
    model = type(new)
    with _database().cursor() as cursor:
        cursor.execute(f"{_insertion(model, 1)} RETURNING {_name(model._meta.pk)}", _row(new))
        new.pk = cursor.fetchone()[0]
    new._state.adding, new._state.db = False, DEFAULT_DB_ALIAS


def insert_all(model: type[Model], new: Sequence[Model]) -> None:
    """Write new objects whose keys nobody asks for."""
    for start in range(0, len(new), _ROWS_AT_ONCE):
        some = new[start : start + _ROWS_AT_ONCE]
        with _database().cursor() as cursor:
            cursor.execute(
                _insertion(model, len(some)), [value for each in some for value in _row(each)]
            )


def update(
    model: type[Model],
    where: Mapping[str, object],
    values: Mapping[str, object],
    *,
    using: str = DEFAULT_DB_ALIAS,
) -> int:
    """Change the rows whose columns equal `where`; how many there were."""
    with connections[using].cursor() as cursor:
        cursor.execute(
            _change(model, tuple(where), tuple(values)),
            [*_stored(model, values), *_stored(model, where)],
        )
        changed: int = cursor.rowcount
    return changed


@cache
def _insertion(model: type[Model], rows: int) -> str:
    fields = _fields(model)
    row = f"({', '.join(['%s'] * len(fields))})"
    names, values = ", ".join(map(_name, fields)), ", ".join([row] * rows)
    return f"INSERT INTO {_table(model)} ({names}) VALUES {values}"  # noqa: S608  names of ours


@cache
def _change(model: type[Model], where: tuple[str, ...], names: tuple[str, ...]) -> str:
    def equal(name: str) -> str:
        return f"{_name(model._meta.get_field(name))} = %s"

    conditions, values = " AND ".join(map(equal, where)), ", ".join(map(equal, names))
    return f"UPDATE {_table(model)} SET {values} WHERE {conditions}"  # noqa: S608  names of ours


@cache
def _fields(model: type[Model]) -> list[Any]:
    """All columns but the key, which the database gives."""
    return [field for field in model._meta.concrete_fields if not field.primary_key]


def _row(new: Model) -> list[Any]:
    database = _database()
    return [
        field.get_db_prep_save(field.pre_save(new, True), database) for field in _fields(type(new))
    ]


def _stored(model: type[Model], values: Mapping[str, object]) -> list[Any]:
    database = _database()
    field: Any = model._meta.get_field  # of a column of its own, never of a relation to it
    return [field(name).get_db_prep_save(value, database) for name, value in values.items()]


def _database() -> BaseDatabaseWrapper:
    """This thread's connection itself: every look through Django's stand-in for it takes time."""
    return connections[DEFAULT_DB_ALIAS]


def _table(model: type[Model]) -> str:
    return _database().ops.quote_name(model._meta.db_table)


def _name(field: Any) -> str:
    return _database().ops.quote_name(field.column)
