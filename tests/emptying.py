"""Empties the tables after a test that committed (most hold nothing by then); drops all at the end.

Django truncates every table and has all that follows a migration made anew, which took longer than
most tests. What follows a migration stays here: nothing that a test writes is in it.
"""

from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.db import connection, transaction
from django.db.backends.base.creation import BaseDatabaseCreation
from django.test import TransactionTestCase

_STAY = {model._meta.db_table for model in (ContentType, Permission)}


def empty_tables(_case: TransactionTestCase) -> None:
    quote = connection.ops.quote_name
    tables = sorted({*connection.introspection.django_table_names(only_existing=True)} - _STAY)
    looks = (f"SELECT '{table}' WHERE EXISTS (SELECT 1 FROM {quote(table)})" for table in tables)  # noqa: S608  names of ours
    # References are checked at the end, so the order does not matter.
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(looks))
        for (table,) in cursor.fetchall():
            cursor.execute(f"DELETE FROM {quote(table)}")  # noqa: S608


def drop_database(creation: BaseDatabaseCreation, name: str, _verbosity: int) -> None:
    """Drop it also from a thread that still waits in it, as one whose renewal of a lease hangs."""
    with creation._nodb_cursor() as cursor:  # type: ignore[attr-defined]
        cursor.execute(f"DROP DATABASE {connection.ops.quote_name(name)} WITH (FORCE)")
