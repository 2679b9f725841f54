"""Brings the database up to date, one process at a time."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.apps import apps
from django.conf import settings
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.recorder import MigrationRecorder
from django.dispatch import Signal

from runs.domain.values.errors import NewerDatabase

ADVISORY_LOCK = 0xFABE
_OWN = ("faber_runs", "faber_feedback")
# What follows a migration may not have been reached when the last one was made.
nothing_to_migrate = Signal()


def bring_up_to_date() -> None:
    with _alone():
        check_version()
        if is_up_to_date():
            nothing_to_migrate.send(sender=None, using=connection.alias)
        else:
            call_command("migrate", interactive=False, verbosity=0)


def check_version() -> bool:
    """Refuse a database that a newer version has changed; False when there is none yet."""
    applied = MigrationRecorder(connection).applied_migrations()
    if unknown := sorted({key for key in applied if key[0] in _OWN} - _known()):
        raise NewerDatabase(
            f"A newer version of FABER upgraded this database: it has the migration "
            f"{unknown[-1][1]}, which this version does not know. Start the newer version, or "
            "restore the backup from before the upgrade."
        )
    return bool(applied)


def is_there() -> bool:
    """Whether there is a database at all; opening SQLite's file would make it."""
    return connection.vendor != "sqlite" or Path(_name()).exists()


def place() -> str:
    """The database, for people; without its password."""
    return _name() if connection.vendor == "sqlite" else f"the database {_name()}"


def unreachable(error: Exception) -> str:
    """A sentence for whoever can do something about it; the address may hold a password."""
    first, *_ = str(error).splitlines() or [""]
    return (
        f"The database does not answer ({first.strip()}). "
        "Start it, or check FABER_DATABASE_URL and FABER_DATA_DIR."
    )


def _name() -> str:
    return str(connection.settings_dict["NAME"])


def _known() -> set[tuple[str, str]]:
    """By the names of the files: loading them would cost every command a moment."""
    return {
        (label, file.stem)
        for label in _OWN
        for file in Path(apps.get_app_config(label).path, "migrations").glob("[0-9]*.py")
    }


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
