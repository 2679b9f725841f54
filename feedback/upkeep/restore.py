"""Makes a site from a backup, where there is none yet."""

import os
import tempfile
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path

from django.apps.registry import Apps
from django.conf import settings
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.core.management.color import no_style
from django.db import connection, transaction
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.graph import MigrationGraph
from django.db.migrations.loader import MigrationLoader
from django.db.models import Model

from feedback.upkeep import rows
from feedback.upkeep.backup_file import Manifest, Reader, Table
from runs.domain.values.errors import Invalid, Problem, Refused
from runs.github import kept_app
from runs.models import AuditEntry, Run, migrate

_Key = tuple[str, str]  # of a migration: its app and its name

_AT_ONCE = 200
_KEYS = {"secret_key": "SECRET_KEY", "audit_key": "FABER_AUDIT_KEY"}


def restore(source: Path) -> Manifest:
    """All of it or nothing, but for the keys, which no site has yet."""
    with Reader(source) as backup:
        known = _schema(backup.manifest)
        _check_keys(backup.manifest.keys)
        _check_empty()
        known.migrate()
        _write_keys(backup.manifest.keys)
        with transaction.atomic():
            _load(backup, known.models)
        if (app := backup.file(kept_app.NAME)) is not None:
            kept_app.unpack(app)
    call_command("migrate", interactive=False, verbosity=0)
    return backup.manifest


class _Schema:
    """The tables as they were when the backup was made."""

    def __init__(self, had: set[_Key]) -> None:
        self._executor = MigrationExecutor(connection)
        many = self._executor.loader.replacements
        if not many.keys() <= had:  # in the middle of what one migration does in one go
            self._executor.loader = MigrationLoader(connection, replace_migrations=False)
            had = had - many.keys()
        graph = self._executor.loader.graph
        self._targets = [key for key in had & graph.nodes.keys() if not _later(graph, key) & had]

    @property
    def models(self) -> Apps:
        return self._executor.loader.project_state(self._targets).apps

    def migrate(self) -> None:
        self._executor.migrate(self._targets)


def _schema(manifest: Manifest) -> _Schema:
    loader = MigrationLoader(connection)
    had = set(manifest.migrations)
    had |= {key for key, many in loader.replacements.items() if had.issuperset(many.replaces)}
    known = loader.disk_migrations
    here = {app for app, _ in known}
    if newer := sorted(key for key in had if key[0] in here and key not in known):
        raise _wrong(
            "the backup was made by a newer version of FABER: it has the migration "
            f"{newer[-1][1]}, which this version does not know. Install that version"
        )
    if beyond := set(loader.applied_migrations) - had:
        app, name = min(beyond)
        raise Refused(
            f"The database here is newer than the backup: it has {app} {name}. Restore into a "
            "database that nothing was made in yet."
        )
    return _Schema(had)


def _later(graph: MigrationGraph, key: _Key) -> set[_Key]:
    children = graph.node_map[key].children
    return {child.key for child in children if child.key[0] == key[0]}


def _check_empty() -> None:
    if not (migrate.is_there() and migrate.check_version()):
        return
    filled = (Run, AuditEntry, get_user_model())
    if any(model._default_manager.exists() for model in filled):
        raise Refused(
            f"There is a site in {migrate.place()} already. Restore into an empty data directory "
            "and database."
        )


def _check_keys(kept: Mapping[str, str]) -> None:
    """A key that the environment gives goes before any file."""
    for name in _KEYS:
        variable = f"FABER_{name.upper()}"
        given = os.environ.get(variable, "")
        if given and given != kept[name]:
            raise _wrong(
                f"{variable} is not the key that the backup was made with. Unset it, or set it to "
                "the key of that site"
            )


def _write_keys(kept: Mapping[str, str]) -> None:
    """The new site's own from here on, also in this process."""
    for name, setting in _KEYS.items():
        with tempfile.NamedTemporaryFile(
            "w", dir=settings.FABER_DATA_DIR, delete=False
        ) as file:  # made by this account alone
            file.write(kept[name])
        Path(file.name).replace(settings.FABER_DATA_DIR / name)
        setattr(settings, setting, kept[name])


def _load(backup: Reader, known: Apps) -> None:
    models = {model._meta.label: model for model in rows.tables(known)}
    for model in models.values():
        model._base_manager.all().delete()  # what the migrations made
    for name, table in backup.manifest.tables.items():
        if name in models:
            _load_table(backup, models[name], name, table)
        elif table.rows:
            raise _wrong(
                f"the backup has rows of {name}, which is not part of this site. Set the same "
                "FABER_GITHUB_CLIENT_ID or FABER_OIDC_ISSUER as there"
            )
    _reset_sequences(list(models.values()))


def _load_table(backup: Reader, model: type[Model], name: str, table: Table) -> None:
    count = 0
    read = _read(backup, model, name, table)
    while some := list(islice(read, _AT_ONCE)):
        model._base_manager.bulk_create(some)
        count += len(some)
    if count != table.rows:
        raise backup.unreadable(ValueError(f"{name} has {count} rows, not {table.rows}"))


def _read(backup: Reader, model: type[Model], name: str, table: Table) -> Iterator[Model]:
    for line in backup.lines(name):
        try:
            yield rows.read(model, table.columns, line)
        except (ValueError, KeyError) as error:
            raise backup.unreadable(error) from error


def _reset_sequences(models: list[type[Model]]) -> None:
    """PostgreSQL counts by itself, and knows nothing of the numbers that were written."""
    with connection.cursor() as cursor:
        for statement in connection.ops.sequence_reset_sql(no_style(), models):
            cursor.execute(statement)


def _wrong(sentence: str) -> Invalid:
    return Invalid([Problem("", f"{sentence[0].upper()}{sentence[1:]}.")])
