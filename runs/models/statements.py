"""The hot statements: SQL that is made once a process, because making it takes longer than running.

What they read and write is what Django would; no signals are sent, nobody here listens.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from types import NoneType
from typing import Any, Generic, TypeVar

from django.db import DEFAULT_DB_ALIAS, InterfaceError, OperationalError, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import (
    BooleanField,
    CharField,
    FloatField,
    ForeignKey,
    IntegerField,
    Model,
    QuerySet,
    TextField,
)
from django.db.models.query import get_related_populators

# What a database says that is restarted, locked, full or out of reach.
OUT_OF_REACH = (InterfaceError, OperationalError)
# SQLite refuses a statement with too many values.
_ROWS_AT_ONCE = 50

M = TypeVar("M", bound=Model)


class Prepared(Generic[M]):
    """A query of one fixed shape, made with examples; each call gives other values in their place.

    They are handed over as the database knows them: no field looks at them any more.
    """

    def __init__(
        self,
        build: Callable[..., QuerySet[M, Any]],
        *examples: object,
        using: str = DEFAULT_DB_ALIAS,
    ) -> None:
        self._build = build  # called when it is first needed: apps are loaded by then
        self._examples = examples
        self._using = using
        self._compiled: _Compiled | None = None

    def first(self, *values: object) -> M | None:
        """The first object of a query for objects."""
        compiled = self._made()
        return next((compiled.object_of(row) for row in compiled.rows(values)), None)

    def rows(self, *values: object) -> list[Sequence[Any]]:
        """The rows of a query for values."""
        return list(self._made().rows(values))

    def fetched(self, *values: object) -> list[tuple[object, ...]]:
        """The rows as the database has them, which can be compared; see `objects`."""
        return self._made().fetched(values)

    def objects(self, fetched: Iterable[Sequence[object]]) -> list[M]:
        """What `first` would give of each of these rows."""
        compiled = self._made()
        return [compiled.object_of(row) for row in compiled.converted(fetched)]

    def _made(self) -> "_Compiled":
        if self._compiled is None:
            self._compiled = _Compiled(self._build(*self._examples), self._examples, self._using)
        return self._compiled


class _Compiled:
    """The SQL, and how its rows become objects; the same as Django does it, only kept."""

    def __init__(
        self, queryset: QuerySet[Any, Any], examples: Sequence[object], using: str
    ) -> None:
        self._using = using
        self._compiler: Any = queryset.query.get_compiler(using)
        self._sql, parameters = self._compiler.as_sql()
        # By what they are and not by their order: what else is a parameter is Django's business.
        self._parameters = list(parameters)
        self._places = [self._place_of(self._adapted(example)) for example in examples]
        selected, info = self._compiler.select, self._compiler.klass_info
        self._converters = self._compiler.get_converters([column for column, *_ in selected])
        if info:  # of objects, not of values
            own = info["select_fields"]
            self._model = info["model"]
            self._own = slice(own[0], own[-1] + 1)
            self._names = [column.target.attname for column, *_ in selected[self._own]]
            # From Django 6.1 on a query also says how what it left out is fetched later.
            mode = [queryset._fetch_mode] if hasattr(queryset, "_fetch_mode") else []
            self._related: list[Any] = get_related_populators(info, selected, using, *mode)
            self._annotated: dict[str, int] = dict(self._compiler.annotation_col_map or {})

    def rows(self, values: tuple[object, ...]) -> Iterator[Sequence[Any]]:
        return self.converted(self.fetched(values))

    def converted(self, fetched: Iterable[Sequence[object]]) -> Iterator[Sequence[Any]]:
        if not self._converters:
            return iter(fetched)
        converted: Iterator[Sequence[Any]] = self._compiler.apply_converters(
            fetched, self._converters
        )
        return converted

    def object_of(self, row: Sequence[Any]) -> Any:
        found = self._model.from_db(self._using, self._names, row[self._own])
        for related in self._related:
            related.populate(row, found)
        for name, column in self._annotated.items():
            setattr(found, name, row[column])
        return found

    def _place_of(self, example: object) -> int:
        if self._parameters.count(example) != 1:
            raise ValueError(f"{example!r} is no example: {self._parameters} hold it not just once")
        return self._parameters.index(example)

    def fetched(self, values: tuple[Any, ...]) -> list[tuple[object, ...]]:
        if len(values) != len(self._places):
            raise TypeError(f"{len(self._places)} values are asked for, {len(values)} given")
        parameters = list(self._parameters)
        for place, value in zip(self._places, values, strict=True):
            parameters[place] = self._adapted(value)
        with connections[self._using].cursor() as cursor:
            cursor.execute(self._sql, parameters)
            rows: list[tuple[object, ...]] = cursor.fetchall()
        return rows

    def _adapted(self, value: object) -> object:
        if not isinstance(value, datetime):
            return value
        adapted: object = connections[self._using].ops.adapt_datetimefield_value(value)
        return adapted


def insert(new: Model) -> None:
    """Write a new object as `save` does."""
    model = type(new)
    with _database().cursor() as cursor:
        cursor.execute(
            f"{_insertion(model, 1)} RETURNING {_name(model._meta.pk)}", _row(model, new)
        )
        new.pk = cursor.fetchone()[0]
    new._state.adding, new._state.db = False, DEFAULT_DB_ALIAS


def insert_all(model: type[Model], new: Sequence[object]) -> int:
    """Write new rows whose keys nobody asks for; how many there was room for.

    They have an attribute for each column, and need not be objects of the model.

    One whose place is taken is left out: an error would end the transaction with all it holds.
    """
    written = 0
    for start in range(0, len(new), _ROWS_AT_ONCE):
        some = new[start : start + _ROWS_AT_ONCE]
        with _database().cursor() as cursor:
            cursor.execute(
                f"{_insertion(model, len(some))} ON CONFLICT DO NOTHING",
                [value for each in some for value in _row(model, each)],
            )
            written += cursor.rowcount
    return written


def succeed(done: M, following: M, *, held: Mapping[str, object], changed: tuple[str, ...]) -> bool:
    """Change some columns of a row and add the row that takes its place, in one statement.

    False when the first was not as `held` says: then the caller takes the second back too.
    """
    model, database = type(done), _database()
    with database.cursor() as cursor:
        cursor.execute(
            _succession(model, tuple(held), changed, database.vendor),
            [done.pk, *_row(model, done), *_row(model, following), *_stored(model, held)],
        )
        keys = [key for (key,) in cursor.fetchall()]
    if len(keys) != len((done, following)):
        return False
    following.pk = keys[1]
    following._state.adding, following._state.db = False, DEFAULT_DB_ALIAS
    return True


def update(
    model: type[Model],
    where: Mapping[str, object],
    values: Mapping[str, object],
    *,
    using: str = DEFAULT_DB_ALIAS,
    waits: bool = True,
) -> int:
    """Change the rows whose columns equal `where`; how many there were.

    Who does not wait for the disk may find it undone after a power cut, but not behind anything
    that waited later.
    """
    sql = _change(model, tuple(where), tuple(values))
    parameters = [*_stored(model, values), *_stored(model, where)]
    return _executed(using, sql, parameters, waits=waits)


def delete(
    model: type[Model],
    where: Mapping[str, object],
    *,
    using: str = DEFAULT_DB_ALIAS,
    waits: bool = True,
) -> int:
    """Remove the rows whose columns equal `where`, and nothing that refers to them."""
    return _executed(using, _removal(model, tuple(where)), _stored(model, where), waits=waits)


def _executed(using: str, sql: str, parameters: Sequence[Any], *, waits: bool) -> int:
    database: Any = connections[using]
    with database.cursor() as cursor:
        if waits or database.in_atomic_block:  # then it is the block that waits
            cursor.execute(sql, parameters)
        elif database.vendor == "postgresql":
            at_once = "RETURNING set_config('synchronous_commit', 'off', true)"
            cursor.execute(f"{sql} {at_once}", parameters)
        else:
            with database.in_haste():
                cursor.execute(sql, parameters)
        changed: int = cursor.rowcount
    return changed


@cache
def _insertion(model: type[Model], rows: int) -> str:
    fields = _fields(model)
    row = f"({', '.join(['%s'] * len(fields))})"
    names, values = ", ".join(map(_name, fields)), ", ".join([row] * rows)
    return f"INSERT INTO {_table(model)} ({names}) VALUES {values}"  # noqa: S608  names of ours


@cache
def _removal(model: type[Model], where: tuple[str, ...]) -> str:
    return f"DELETE FROM {_table(model)} WHERE {' AND '.join(_equal(model, where))}"  # noqa: S608


@cache
def _change(model: type[Model], where: tuple[str, ...], names: tuple[str, ...]) -> str:
    conditions, values = " AND ".join(_equal(model, where)), ", ".join(_equal(model, names))
    return f"UPDATE {_table(model)} SET {values} WHERE {conditions}"  # noqa: S608  names of ours


def _equal(model: type[Model], names: Iterable[str]) -> list[str]:
    return [f"{_name(model._meta.get_field(name))} = %s" for name in names]


@cache
def _succession(
    model: type[Model], held: tuple[str, ...], changed: tuple[str, ...], vendor: str
) -> str:
    """The first row is there, so that it is changed; where it is not held any more it stays."""
    field, key = model._meta.get_field, _name(model._meta.pk)
    names = ", ".join(map(_name, _fields(model)))
    row = ", ".join(["%s"] * len(_fields(model)))
    fresh = "NULL" if vendor == "sqlite" else "DEFAULT"
    values = ", ".join(f"{_name(field(each))} = excluded.{_name(field(each))}" for each in changed)
    still = " AND ".join(f"{_table(model)}.{_name(field(each))} = %s" for each in held)
    return (
        f"INSERT INTO {_table(model)} ({key}, {names}) "  # noqa: S608  names of ours
        f"VALUES (%s, {row}), ({fresh}, {row}) "
        f"ON CONFLICT ({key}) DO UPDATE SET {values} WHERE {still} RETURNING {key}"
    )


@cache
def _fields(model: type[Model]) -> list[Any]:
    """All columns but the key, which the database gives."""
    return [field for field in model._meta.concrete_fields if not field.primary_key]


def _row(model: type[Model], new: object) -> list[Any]:
    values = [getattr(new, name) for name in _columns(model)]
    database = _database()
    return [
        value if type(value) in plain else field.get_db_prep_save(value, database)
        for value, (field, plain) in zip(values, _preparation(model), strict=True)
    ]


@cache
def _columns(model: type[Model]) -> tuple[str, ...]:
    return tuple(field.attname for field in _fields(model))


_PLAIN: tuple[tuple[type[Any], frozenset[type]], ...] = (
    (CharField, frozenset({str, NoneType})),
    (TextField, frozenset({str, NoneType})),
    (BooleanField, frozenset({bool, NoneType})),
    (FloatField, frozenset({float, NoneType})),
    (IntegerField, frozenset({int, NoneType})),
    (ForeignKey, frozenset({int, NoneType})),
)


@cache
def _preparation(model: type[Model]) -> tuple[tuple[Any, frozenset[type]], ...]:
    """Each field, with the types of values that it would hand on to the database as they are."""
    return tuple((field, _plain_for(field)) for field in _fields(model))


def _plain_for(field: Any) -> frozenset[type]:
    return next((types for kind, types in _PLAIN if isinstance(field, kind)), frozenset())


def _stored(model: type[Model], values: Mapping[str, object]) -> list[Any]:
    database = _database()
    field: Any = model._meta.get_field  # of a column of its own, never of a relation to it
    return [
        value
        if type(value) in _plain_at(model, name)
        else field(name).get_db_prep_save(value, database)
        for name, value in values.items()
    ]


@cache
def _plain_at(model: type[Model], name: str) -> frozenset[type]:
    return _plain_for(model._meta.get_field(name))


def _database() -> BaseDatabaseWrapper:
    """This thread's connection itself: every look through Django's stand-in for it takes time."""
    return connections[DEFAULT_DB_ALIAS]


def _table(model: type[Model]) -> str:
    return _database().ops.quote_name(model._meta.db_table)


def _name(field: Any) -> str:
    return _database().ops.quote_name(field.column)
