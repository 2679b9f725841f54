"""What triggers of the database keep beside the rows, whoever writes them.

They are made after every migration and not by one, because SQLite loses the triggers of a table
that a later migration makes anew. A process may die in between, so every start looks for them.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from django.apps import AppConfig
from django.apps import apps as global_apps
from django.apps.registry import Apps
from django.db import connections, transaction
from django.db.models.signals import post_migrate

from runs.models import migrate


class Triggers(ABC):
    app: str
    model: str
    columns: tuple[str, ...]  # what they need; an older version's table may lack it

    @property
    @abstractmethod
    def names(self) -> Sequence[str]: ...

    @abstractmethod
    def make(self, using: str) -> None:
        """Make what is missing, and keep what was written meanwhile; in one transaction."""

    def listen(self, sender: AppConfig) -> None:
        uid = f"{type(self).__name__} {self.names[0]}"
        post_migrate.connect(self._keep, sender=sender, weak=False, dispatch_uid=uid)
        migrate.nothing_to_migrate.connect(self._complete, weak=False, dispatch_uid=uid)

    def are_there(self, using: str) -> bool:
        is_sqlite = connections[using].vendor == "sqlite"
        column, table = ("name", "sqlite_master") if is_sqlite else ("tgname", "pg_trigger")
        marks = ", ".join(["%s"] * len(self.names))
        with connections[using].cursor() as cursor:
            look = f"SELECT COUNT(DISTINCT {column}) FROM {table} WHERE {column} IN ({marks})"
            cursor.execute(look, list(self.names))
            return bool(cursor.fetchone()[0] == len(self.names))

    def _complete(self, *, using: str, **_about: Any) -> None:
        if not self.are_there(using):
            self._keep(using=using)

    def _keep(self, *, using: str, apps: Apps = global_apps, **_about: Any) -> None:
        try:
            known = {field.name for field in apps.get_model(self.app, self.model)._meta.fields}
        except LookupError:  # migrated back to before there were any
            return
        if known.issuperset(self.columns):
            with transaction.atomic(using):
                self.make(using)
