"""Queries whose SQL is made once a process: making it takes Django longer than executing it."""

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any, Generic, TypeVar

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models import Model, QuerySet
from django.db.models.query import get_related_populators

M = TypeVar("M", bound=Model)


class Prepared(Generic[M]):
    """A query of one fixed shape; each call gives the values that its conditions compare with.

    They come in the order in which the SQL names them, as the database knows them: no field looks
    at them any more.
    """

    def __init__(self, build: Callable[[], QuerySet[M]], *, using: str = DEFAULT_DB_ALIAS) -> None:
        self._build = build  # called when it is first needed: apps are loaded by then
        self._using = using
        self._compiled: _Compiled | None = None

    def first(self, *values: object) -> M | None:
        return next(self._found(values), None)

    def _found(self, values: tuple[object, ...]) -> Iterator[M]:
        if self._compiled is None:
            self._compiled = _Compiled(self._build(), self._using)
        yield from self._compiled.objects(values)


class _Compiled:
    """The SQL, and how its rows become objects; the same as Django does it, only kept."""

    def __init__(self, queryset: QuerySet[Any], using: str) -> None:
        self._using = using
        self._compiler: Any = queryset.query.get_compiler(using)
        self._sql, self._example = self._compiler.as_sql()
        selected, info = self._compiler.select, self._compiler.klass_info
        own = info["select_fields"]
        self._model = info["model"]
        self._own = slice(own[0], own[-1] + 1)
        self._names = [column.target.attname for column, *_ in selected[self._own]]
        self._converters = self._compiler.get_converters([column for column, *_ in selected])
        self._related = get_related_populators(info, selected, using)  # type: ignore[call-arg]

    def objects(self, values: tuple[object, ...]) -> Iterator[Any]:
        if len(values) != len(self._example):
            raise TypeError(f"{len(self._example)} values are asked for, {len(values)} given")
        for row in self._compiler.apply_converters(self._fetched(values), self._converters):
            found = self._model.from_db(self._using, self._names, row[self._own])
            for related in self._related:
                related.populate(row, found)
            yield found

    def _fetched(self, values: tuple[Any, ...]) -> list[tuple[object, ...]]:
        connection = connections[self._using]
        adapt = connection.ops.adapt_datetimefield_value
        with connection.cursor() as cursor:
            cursor.execute(self._sql, [adapt(v) if isinstance(v, datetime) else v for v in values])
            rows: list[tuple[object, ...]] = cursor.fetchall()
        return rows
