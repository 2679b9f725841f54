"""The search index: every part of three letters of what a run is called, kept by the database.

Triggers keep it, whoever writes a run. They are made after every migration and not by one, because
SQLite loses the triggers of a table that a later migration makes anew.
"""

from typing import Any

from django.apps import AppConfig
from django.apps import apps as global_apps
from django.apps.registry import Apps
from django.db import connections
from django.db.models.signals import post_migrate

TABLE = "faber_runs_search"
COLUMNS = ("own_title", "run_id", "work_id", "workflow_id")  # what a run is found by
SHORTEST = 3  # letters; what is shorter has no part to look for

_CHANGED = " OR ".join(f"OLD.{name} <> NEW.{name}" for name in COLUMNS)
_NAMES = ", ".join(COLUMNS)
_TAKE_OUT = (
    f"INSERT INTO {TABLE} ({TABLE}, rowid, {_NAMES})"
    f" VALUES ('delete', OLD.id, {', '.join(f'OLD.{name}' for name in COLUMNS)});"
)
_PUT_IN = (
    f"INSERT INTO {TABLE} (rowid, {_NAMES})"
    f" VALUES (NEW.id, {', '.join(f'NEW.{name}' for name in COLUMNS)});"
)
_SQLITE_TABLE = (
    f"CREATE VIRTUAL TABLE {TABLE} USING fts5"
    f"({_NAMES}, content='faber_runs_run', content_rowid='id', tokenize='trigram')",
    f"INSERT INTO {TABLE} ({TABLE}) VALUES ('rebuild')",
)
_SQLITE_TRIGGERS = (
    "CREATE TRIGGER IF NOT EXISTS run_put_into_search AFTER INSERT ON faber_runs_run"
    f" BEGIN {_PUT_IN} END",
    "CREATE TRIGGER IF NOT EXISTS run_taken_from_search AFTER DELETE ON faber_runs_run"
    f" BEGIN {_TAKE_OUT} END",
    f"CREATE TRIGGER IF NOT EXISTS run_renamed_in_search AFTER UPDATE OF {_NAMES}"
    f" ON faber_runs_run WHEN {_CHANGED} BEGIN {_TAKE_OUT} {_PUT_IN} END",
)

# A line for each name, so that nothing is found across two of them.
_SAID = "lower(concat_ws(E'\\n', {0}own_title, {0}run_id, {0}work_id, {0}workflow_id))"
_POSTGRES_TABLE = (
    f"CREATE TABLE {TABLE} (run_id bigint PRIMARY KEY, said text NOT NULL)",
    # Without an extension, which not every account may create and not every server has.
    """CREATE OR REPLACE FUNCTION faber_trigrams(said text) RETURNS text[]
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
    SELECT array_agg(DISTINCT substr(said, n, 3)) FROM generate_series(1, length(said) - 2) AS n
    $$""",
    f"INSERT INTO {TABLE} SELECT id, {_SAID.format('')} FROM faber_runs_run",
    f"CREATE INDEX runs_searched ON {TABLE} USING gin (faber_trigrams(said))",
)
_POSTGRES_TRIGGERS = (
    f"""CREATE OR REPLACE FUNCTION faber_search_keeps_run() RETURNS trigger
    LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO {TABLE} VALUES (NEW.id, {_SAID.format("NEW.")})
    ON CONFLICT (run_id) DO UPDATE SET said = EXCLUDED.said;
    RETURN NULL; END $$""",
    f"""CREATE OR REPLACE FUNCTION faber_search_drops_run() RETURNS trigger
    LANGUAGE plpgsql AS $$ BEGIN
    DELETE FROM {TABLE} WHERE run_id = OLD.id;
    RETURN NULL; END $$""",
    "CREATE OR REPLACE TRIGGER run_put_into_search AFTER INSERT ON faber_runs_run"
    " FOR EACH ROW EXECUTE FUNCTION faber_search_keeps_run()",
    "CREATE OR REPLACE TRIGGER run_taken_from_search AFTER DELETE ON faber_runs_run"
    " FOR EACH ROW EXECUTE FUNCTION faber_search_drops_run()",
    f"CREATE OR REPLACE TRIGGER run_renamed_in_search AFTER UPDATE OF {_NAMES} ON faber_runs_run"
    f" FOR EACH ROW WHEN ({_CHANGED}) EXECUTE FUNCTION faber_search_keeps_run()",
)
_MADE_BY = {
    "sqlite": (_SQLITE_TABLE, _SQLITE_TRIGGERS),
    "postgresql": (_POSTGRES_TABLE, _POSTGRES_TRIGGERS),
}


def listen(sender: AppConfig) -> None:
    post_migrate.connect(_keep, sender=sender, dispatch_uid="runs.search.index")


def _keep(*, using: str, apps: Apps = global_apps, **_about: Any) -> None:
    try:
        known = {field.name for field in apps.get_model("faber_runs", "Run")._meta.fields}
    except LookupError:  # migrated back to before there were runs
        return
    if known.issuperset(COLUMNS):
        make(using)


def make(using: str) -> None:
    """Make what is missing of it."""
    connection = connections[using]
    table, triggers = _MADE_BY[connection.vendor]
    with connection.cursor() as cursor:
        is_there = TABLE in connection.introspection.table_names(cursor)
        for statement in triggers if is_there else (*table, *triggers):
            cursor.execute(statement)
