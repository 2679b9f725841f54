"""Keeps what open requests are sorted by where an index has it: the titles of runs, of projects.

Triggers keep it, whoever writes a row. They read other tables than their own, and SQLite makes no
table anew that such a trigger names; so they are gone while migrations run.
"""

from typing import Any

from django.apps import AppConfig
from django.apps import apps as global_apps
from django.apps.registry import Apps
from django.db import connections
from django.db.models.signals import post_migrate, pre_migrate

_REQUESTS, _RUNS, _PROJECTS = (
    "faber_feedback_feedbackrequest",
    "faber_runs_run",
    "faber_runs_project",
)
_LONGEST = 500
_KEYS = f"""
SELECT SUBSTR(LOWER(COALESCE(
    NULLIF(NEW.own_title, ''), NULLIF(r.own_title, ''), NULLIF(r.target, ''), r.workflow_id
)), 1, {_LONGEST}), LOWER(p.name)
FROM {_RUNS} r JOIN {_PROJECTS} p ON p.id = r.project_id WHERE r.id = NEW.run_id
"""
# What is written is written again, so that its own trigger looks.
_AGAIN = f"UPDATE {_REQUESTS} SET own_title = own_title WHERE status = 'pending'"
_RENAMED = " OR ".join(f"OLD.{name} <> NEW.{name}" for name in ("own_title", "target"))

# A trigger's name, its table, when it acts, and what it does beside that.
_OWN = (
    ("request_put_in_order", "INSERT"),
    ("request_sorted_again", "UPDATE OF own_title, project_id, status"),
)
_OTHERS = (
    ("run_sorted_again", "UPDATE OF own_title, target", _RUNS, _RENAMED, "run_id = NEW.id"),
    (
        "project_sorted_again",
        "UPDATE OF name",
        _PROJECTS,
        "OLD.name <> NEW.name",
        "project_id = NEW.id",
    ),
)


def listen(sender: AppConfig) -> None:
    for signal, receiver in ((pre_migrate, _drop), (post_migrate, _keep)):
        uid = f"feedback.search.{receiver.__name__}"
        signal.connect(receiver, sender=sender, weak=False, dispatch_uid=uid)


def _drop(*, using: str, plan: object, **_about: Any) -> None:
    if not plan:
        return
    is_sqlite = connections[using].vendor == "sqlite"
    with connections[using].cursor() as cursor:
        tables = set(connections[using].introspection.table_names(cursor))
        for name, table in _tables():
            if table in tables:
                on = "" if is_sqlite else f" ON {table}"
                cursor.execute(f"DROP TRIGGER IF EXISTS {name}{on}")


def _keep(*, using: str, apps: Apps = global_apps, **_about: Any) -> None:
    try:
        known = apps.get_model("faber_feedback", "FeedbackRequest")._meta.fields
    except LookupError:  # migrated back to before there were any
        return
    if "title_key" in {field.name for field in known} and not _are_there(using):
        make(using)


def make(using: str) -> None:
    """Make the triggers, and sort what nobody kept in order meanwhile."""
    is_sqlite = connections[using].vendor == "sqlite"
    with connections[using].cursor() as cursor:
        for statement in _sqlite() if is_sqlite else _postgres():
            cursor.execute(statement)
        cursor.execute(_AGAIN)


def _are_there(using: str) -> bool:
    is_sqlite = connections[using].vendor == "sqlite"
    names = ", ".join(f"'{name}'" for name, _ in _tables())
    known = "name FROM sqlite_master" if is_sqlite else "tgname FROM pg_trigger"
    column = known.partition(" ")[0]
    with connections[using].cursor() as cursor:
        cursor.execute(f"SELECT COUNT(*) FROM (SELECT {known}) t WHERE {column} IN ({names})")
        return bool(cursor.fetchone()[0] == len(_tables()))


def _tables() -> list[tuple[str, str]]:
    own = [(name, _REQUESTS) for name, _ in _OWN]
    return own + [(name, table) for name, _, table, *_ in _OTHERS]


def _sqlite() -> list[str]:
    put = f"UPDATE {_REQUESTS} SET (title_key, project_key) = ({_KEYS}) WHERE id = NEW.id;"
    own = [
        f"CREATE TRIGGER IF NOT EXISTS {name} AFTER {when} ON {_REQUESTS}"
        f" WHEN NEW.status = 'pending' BEGIN {put} END"
        for name, when in _OWN
    ]
    return own + [
        f"CREATE TRIGGER IF NOT EXISTS {name} AFTER {when} ON {table} WHEN {changed}"
        f" BEGIN {_AGAIN} AND {of}; END"
        for name, when, table, changed, of in _OTHERS
    ]


def _postgres() -> list[str]:
    made = [
        f"""CREATE OR REPLACE FUNCTION faber_sort_request() RETURNS trigger
        LANGUAGE plpgsql AS $$ BEGIN
        SELECT keys.* INTO NEW.title_key, NEW.project_key FROM ({_KEYS}) AS keys;
        RETURN NEW; END $$"""
    ]
    for name, when in _OWN:
        made.append(
            f"CREATE OR REPLACE TRIGGER {name} BEFORE {when} ON {_REQUESTS} FOR EACH ROW"
            " WHEN (NEW.status = 'pending') EXECUTE FUNCTION faber_sort_request()"
        )
    for name, when, table, changed, of in _OTHERS:
        made.append(
            f"""CREATE OR REPLACE FUNCTION faber_{name}() RETURNS trigger
            LANGUAGE plpgsql AS $$ BEGIN {_AGAIN} AND {of}; RETURN NULL; END $$"""
        )
        made.append(
            f"CREATE OR REPLACE TRIGGER {name} AFTER {when} ON {table} FOR EACH ROW"
            f" WHEN ({changed}) EXECUTE FUNCTION faber_{name}()"
        )
    return made
