"""Brings the database up to date, one process at a time."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

ADVISORY_LOCK = 0xFABE


def bring_up_to_date() -> None:
    with _alone():
        if not is_up_to_date():
            call_command("migrate", interactive=False, verbosity=0)


def is_up_to_date() -> bool:
    """Whether the database has every migration this code knows."""
    executor = MigrationExecutor(connection)
    return not executor.migration_plan(executor.loader.graph.leaf_nodes())


@contextmanager
def _alone() -> Iterator[None]:
    """Whoever starts at the same moment waits here, and then finds the work done."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_lock(%s)", [ADVISORY_LOCK])
        try:
            yield
        finally:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [ADVISORY_LOCK])
    else:
        with (Path(settings.FABER_DATA_DIR) / "upgrade.lock").open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield
