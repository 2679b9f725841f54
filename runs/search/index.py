"""Search indexes: every part of three letters of what rows are found by, kept by the database.

Triggers keep them, whoever writes a row. They are made after every migration and not by one,
because SQLite loses the triggers of a table that a later migration makes anew.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.apps import AppConfig
from django.apps import apps as global_apps
from django.apps.registry import Apps
from django.db import connections
from django.db.models.signals import post_migrate

SHORTEST = 3  # letters; what is shorter has no part to look for


@dataclass(frozen=True, slots=True, kw_only=True)
class TextIndex:
    """What the rows of one model are found by."""

    table: str
    app: str
    model: str
    noun: str  # in the names of triggers
    key: str  # the column that names the row, on PostgreSQL
    columns: tuple[str, ...]

    @property
    def source(self) -> str:
        return f"{self.app}_{self.model}".lower()

    def listen(self, sender: AppConfig) -> None:
        post_migrate.connect(
            self._keep, sender=sender, weak=False, dispatch_uid=f"runs.search.{self.table}"
        )

    def _keep(self, *, using: str, apps: Apps = global_apps, **_about: Any) -> None:
        try:
            known = {field.name for field in apps.get_model(self.app, self.model)._meta.fields}
        except LookupError:  # migrated back to before there were any
            return
        if known.issuperset(self.columns):
            self.make(using)

    def make(self, using: str) -> None:
        """Make what is missing of it."""
        connection = connections[using]
        is_sqlite = connection.vendor == "sqlite"
        table = self._sqlite_table() if is_sqlite else self._postgres_table()
        triggers = self._sqlite_triggers() if is_sqlite else self._postgres_triggers()
        with connection.cursor() as cursor:
            is_there = self.table in connection.introspection.table_names(cursor)
            for statement in triggers if is_there else (*table, *triggers):
                cursor.execute(statement)

    @property
    def _names(self) -> str:
        return ", ".join(self.columns)

    @property
    def _changed(self) -> str:
        return " OR ".join(f"OLD.{name} <> NEW.{name}" for name in self.columns)

    def _sqlite_table(self) -> Sequence[str]:
        return (
            f"CREATE VIRTUAL TABLE {self.table} USING fts5"
            f"({self._names}, content='{self.source}', content_rowid='id', tokenize='trigram')",
            f"INSERT INTO {self.table} ({self.table}) VALUES ('rebuild')",
        )

    def _sqlite_triggers(self) -> Sequence[str]:
        table, noun, source = self.table, self.noun, self.source
        old, new = (", ".join(f"{row}.{name}" for name in self.columns) for row in ("OLD", "NEW"))
        take_out = (
            f"INSERT INTO {table} ({table}, rowid, {self._names}) VALUES ('delete', OLD.id, {old});"
        )
        put_in = f"INSERT INTO {table} (rowid, {self._names}) VALUES (NEW.id, {new});"
        return (
            f"CREATE TRIGGER IF NOT EXISTS {noun}_put_into_search AFTER INSERT ON {source}"
            f" BEGIN {put_in} END",
            f"CREATE TRIGGER IF NOT EXISTS {noun}_taken_from_search AFTER DELETE ON {source}"
            f" BEGIN {take_out} END",
            f"CREATE TRIGGER IF NOT EXISTS {noun}_renamed_in_search AFTER UPDATE OF {self._names}"
            f" ON {source} WHEN {self._changed} BEGIN {take_out} {put_in} END",
        )

    def _said(self, row: str = "") -> str:
        """A line for each name, so that nothing is found across two of them."""
        names = ", ".join(f"{row}{name}" for name in self.columns)
        return f"lower(concat_ws(E'\\n', {names}))"

    def _postgres_table(self) -> Sequence[str]:
        return (
            f"CREATE TABLE {self.table} ({self.key} bigint PRIMARY KEY, said text NOT NULL)",
            # Without an extension, which not every account may create and not every server has.
            """CREATE OR REPLACE FUNCTION faber_trigrams(said text) RETURNS text[]
            LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
            SELECT array_agg(DISTINCT substr(said, n, 3))
            FROM generate_series(1, length(said) - 2) AS n
            $$""",
            f"INSERT INTO {self.table} SELECT id, {self._said()} FROM {self.source}",
            f"CREATE INDEX {self.noun}s_searched ON {self.table} USING gin (faber_trigrams(said))",
        )

    def _postgres_triggers(self) -> Sequence[str]:
        noun, source = self.noun, self.source
        keeps, drops = f"faber_search_keeps_{noun}()", f"faber_search_drops_{noun}()"
        return (
            f"""CREATE OR REPLACE FUNCTION {keeps} RETURNS trigger
            LANGUAGE plpgsql AS $$ BEGIN
            INSERT INTO {self.table} VALUES (NEW.id, {self._said("NEW.")})
            ON CONFLICT ({self.key}) DO UPDATE SET said = EXCLUDED.said;
            RETURN NULL; END $$""",
            f"""CREATE OR REPLACE FUNCTION {drops} RETURNS trigger
            LANGUAGE plpgsql AS $$ BEGIN
            DELETE FROM {self.table} WHERE {self.key} = OLD.id;
            RETURN NULL; END $$""",
            f"CREATE OR REPLACE TRIGGER {noun}_put_into_search AFTER INSERT ON {source}"
            f" FOR EACH ROW EXECUTE FUNCTION {keeps}",
            f"CREATE OR REPLACE TRIGGER {noun}_taken_from_search AFTER DELETE ON {source}"
            f" FOR EACH ROW EXECUTE FUNCTION {drops}",
            f"CREATE OR REPLACE TRIGGER {noun}_renamed_in_search AFTER UPDATE OF {self._names}"
            f" ON {source} FOR EACH ROW WHEN ({self._changed}) EXECUTE FUNCTION {keeps}",
        )


RUNS = TextIndex(
    table="faber_runs_search",
    app="faber_runs",
    model="Run",
    noun="run",
    key="run_id",
    columns=("own_title", "run_id", "work_id", "workflow_id"),
)
