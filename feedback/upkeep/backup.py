"""Writes the whole site into one file, as it was in one moment, while it goes on working."""

from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path

from django.apps import apps
from django.conf import settings
from django.db import connections, transaction
from django.db.migrations.recorder import MigrationRecorder
from django.utils import timezone

from feedback.upkeep import backup_file, rows
from feedback.upkeep.backup_file import FORM, Manifest, Table, Writer
from runs.chain import entries
from runs.domain.values.actors import Actor
from runs.domain.values.errors import Refused
from runs.domain.values.events import timestamp
from runs.github import kept_app
from runs.models import migrate

_ALIAS = "backup"


def write(target: Path, actor: Actor) -> Manifest:
    """Everything but what is of the moment; see `rows.PASSING`."""
    backup_file.check_free(target)
    if not migrate.is_up_to_date():
        raise Refused("This site is not up to date with this version. Start it once, then back up.")
    entries.rule(actor, "took a backup of the site")
    made: list[Manifest] = []
    with _one_moment() as alias:

        def fill(writer: Writer) -> None:
            for model in rows.tables(apps):
                names = [field.attname for field in rows.columns(model)]
                writer.table(model._meta.label, names, rows.lines(model, alias))
            if (app := kept_app.packed()) is not None:
                writer.file(kept_app.NAME, app)

        def manifest(writer: Writer) -> Manifest:
            made.append(_manifest(alias, writer.tables))
            return made[0]

        backup_file.write(target, fill, manifest)
    return made[0]


def _manifest(alias: str, tables: dict[str, Table]) -> Manifest:
    applied = MigrationRecorder(connections[alias]).applied_migrations()
    return Manifest(
        form=FORM,
        made_at=timestamp(timezone.now()),
        keys={"secret_key": settings.SECRET_KEY, "audit_key": settings.FABER_AUDIT_KEY},
        migrations=sorted(applied),
        tables=tables,
    )


@contextmanager
def _one_moment() -> Iterator[str]:
    """A connection that sees nothing that is written from now on, and keeps nobody from writing."""
    config = deepcopy(connections.databases["default"])
    if connections["default"].vendor == "postgresql":
        from psycopg import IsolationLevel  # noqa: PLC0415  only there when it is needed

        config["OPTIONS"]["isolation_level"] = IsolationLevel.REPEATABLE_READ
    else:
        # Reading begins no transaction that writes; the log of writers is kept until its end.
        config["OPTIONS"]["transaction_mode"] = "DEFERRED"
    connections.databases[_ALIAS] = config
    try:
        with transaction.atomic(using=_ALIAS):
            yield _ALIAS
    finally:
        connections[_ALIAS].close()
        del connections[_ALIAS]
        del connections.databases[_ALIAS]
