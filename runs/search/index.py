"""Search indexes: every part of three letters of what rows are found by, kept by the database."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import connections

from runs.search.triggers import Triggers

SHORTEST = 3  # letters; what is shorter has no part to look for
_PUT, _TAKEN, _RENAMED = "put_into_search", "taken_from_search", "renamed_in_search"


@dataclass(frozen=True, slots=True, kw_only=True)
class TextIndex(Triggers):
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

    @property
    def names(self) -> Sequence[str]:
        return [f"{self.noun}_{end}" for end in (_PUT, _TAKEN, _RENAMED)]

    def make(self, using: str) -> None:
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
            f"CREATE TRIGGER IF NOT EXISTS {noun}_{_PUT} AFTER INSERT ON {source}"
            f" BEGIN {put_in} END",
            f"CREATE TRIGGER IF NOT EXISTS {noun}_{_TAKEN} AFTER DELETE ON {source}"
            f" BEGIN {take_out} END",
            f"CREATE TRIGGER IF NOT EXISTS {noun}_{_RENAMED} AFTER UPDATE OF {self._names}"
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
            f"CREATE OR REPLACE TRIGGER {noun}_{_PUT} AFTER INSERT ON {source}"
            f" FOR EACH ROW EXECUTE FUNCTION {keeps}",
            f"CREATE OR REPLACE TRIGGER {noun}_{_TAKEN} AFTER DELETE ON {source}"
            f" FOR EACH ROW EXECUTE FUNCTION {drops}",
            f"CREATE OR REPLACE TRIGGER {noun}_{_RENAMED} AFTER UPDATE OF {self._names}"
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
