"""Looks into search indexes, as parts of a statement."""

from collections.abc import Sequence
from typing import Any

from django.db import connection
from django.db.models import Q
from django.db.models.expressions import RawSQL

from runs.search.index import TextIndex

RECENT = 1_000  # what is looked at one by one: for a short text, and whether a text is in many
_MANY = 20

Sql = tuple[str, Sequence[Any]]


def any_of(looks: Sequence[Sql]) -> Q:
    """The rows whose keys one of these finds."""
    return Q(pk__in=RawSQL(*united(looks)))


def united(looks: Sequence[Sql]) -> Sql:
    # Each in brackets of its own: SQLite takes no limit inside a union.
    sql = " UNION ALL ".join(
        f"SELECT * FROM ({look}) AS look_{n}" for n, (look, _) in enumerate(looks)
    )
    return sql, [value for _, values in looks for value in values]


def indexed(index: TextIndex, text: str, limit: str = "") -> Sql:
    """The keys of the rows that have the text, the newest first."""
    look, values = (_in_sqlite if connection.vendor == "sqlite" else _in_postgres)(index, text)
    return look + limit, values


def _in_sqlite(index: TextIndex, text: str) -> Sql:
    phrase = '"' + text.replace('"', '""') + '"'
    look = f"SELECT rowid FROM {index.table} WHERE {index.table} MATCH %s ORDER BY rowid DESC"
    return look, [phrase]


def _in_postgres(index: TextIndex, text: str) -> Sql:
    like, values = "said LIKE lower(%s)", [f"%{_literal(text)}%"]
    if not _are_many(index, like, values):
        like = f"faber_trigrams(said) @> faber_trigrams(lower(%s)) AND {like}"
        values = [text, *values]
    return f"SELECT {index.key} FROM {index.table} WHERE {like} ORDER BY {index.key} DESC", values


def _are_many(index: TextIndex, like: str, values: Sequence[Any]) -> bool:
    """Whether the text is in many of the newest: then walking back from them is the shortest."""
    newest = f"SELECT said FROM {index.table} ORDER BY {index.key} DESC LIMIT {RECENT}"
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT COUNT(*) FROM ({newest}) AS recent WHERE {like}", values)
        return int(cursor.fetchone()[0]) >= _MANY


def _literal(text: str) -> str:
    for letter in "\\%_":
        text = text.replace(letter, f"\\{letter}")
    return text
