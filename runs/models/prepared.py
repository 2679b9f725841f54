"""Reads whose SQL is made once a process: making it takes Django longer than executing it."""

from collections.abc import Callable, Iterator, Sequence
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

    def __init__(
        self, build: Callable[[], QuerySet[M, Any]], *, using: str = DEFAULT_DB_ALIAS
    ) -> None:
        self._build = build  # called when it is first needed: apps are loaded by then
        self._using = using
        self._compiled: _Compiled | None = None

    def first(self, *values: object) -> M | None:
        """The first object of a query for objects."""
        compiled = self._made()
        return next((compiled.object_of(row) for row in compiled.rows(values)), None)

    def rows(self, *values: object) -> list[Sequence[Any]]:
        """The rows of a query for values."""
        return list(self._made().rows(values))

    def _made(self) -> "_Compiled":
        if self._compiled is None:
            self._compiled = _Compiled(self._build(), self._using)
        return self._compiled


class _Compiled:
    """The SQL, and how its rows become objects; the same as Django does it, only kept."""

    def __init__(self, queryset: QuerySet[Any, Any], using: str) -> None:
        self._using = using
        self._compiler: Any = queryset.query.get_compiler(using)
        self._sql, self._example = self._compiler.as_sql()
        selected, info = self._compiler.select, self._compiler.klass_info
        self._converters = self._compiler.get_converters([column for column, *_ in selected])
        if info:  # of objects, not of values
            own = info["select_fields"]
            self._model = info["model"]
            self._own = slice(own[0], own[-1] + 1)
            self._names = [column.target.attname for column, *_ in selected[self._own]]
            # The stubs know a later Django, which asks for one argument more.
            self._related = get_related_populators(info, selected, using)  # type: ignore[call-arg]

    def rows(self, values: tuple[object, ...]) -> Iterator[Sequence[Any]]:
        if len(values) != len(self._example):
            raise TypeError(f"{len(self._example)} values are asked for, {len(values)} given")
        fetched = self._fetched(values)
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
        return found

    def _fetched(self, values: tuple[Any, ...]) -> list[tuple[object, ...]]:
        connection = connections[self._using]
        adapt = connection.ops.adapt_datetimefield_value
        with connection.cursor() as cursor:
            cursor.execute(self._sql, [adapt(v) if isinstance(v, datetime) else v for v in values])
            rows: list[tuple[object, ...]] = cursor.fetchall()
        return rows
