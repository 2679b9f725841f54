"""Keeps what open requests are sorted by where an index has it: the titles of runs, of projects.

Triggers keep it, whoever writes a row. They read other tables than their own, and SQLite makes no
table anew that such a trigger names; so there they are gone while migrations run.
"""

from collections.abc import Sequence
from typing import Any

from django.apps import AppConfig
from django.db import connections
from django.db.models.signals import pre_migrate

from feedback.models import FeedbackRequest
from runs.domain.values.status import RequestStatus
from runs.models import Project, Run
from runs.models.run import TITLED_BY
from runs.search.triggers import Triggers

_REQUESTS, _RUNS, _PROJECTS = (each._meta.db_table for each in (FeedbackRequest, Run, Project))
_OPEN = f"status = '{RequestStatus.PENDING.value}'"
_LONGEST = FeedbackRequest._meta.get_field("title_key").max_length
_TITLES = ", ".join(
    f"NULLIF({title}, '')" for title in ("NEW.own_title", *(f"r.{name}" for name in TITLED_BY))
)
_KEYS = f"""
SELECT SUBSTR(LOWER(COALESCE({_TITLES})), 1, {_LONGEST}), LOWER(p.name)
FROM {_RUNS} r JOIN {_PROJECTS} p ON p.id = r.project_id WHERE r.id = NEW.run_id
"""
# What is written is written again, so that its own trigger looks.
_AGAIN = f"UPDATE {_REQUESTS} SET own_title = own_title WHERE {_OPEN}"
_RETITLED = " OR ".join(f"OLD.{name} <> NEW.{name}" for name in TITLED_BY)

# A trigger's name, its table, when it acts, and what it does beside that.
_OWN = (
    ("request_put_in_order", "INSERT"),
    ("request_sorted_again", "UPDATE OF own_title, project_id, status"),
)
_OTHERS = (
    (
        "run_sorted_again",
        f"UPDATE OF {', '.join(TITLED_BY)}",
        _RUNS,
        _RETITLED,
        "run_id = NEW.id",
    ),
    (
        "project_sorted_again",
        "UPDATE OF name",
        _PROJECTS,
        "OLD.name <> NEW.name",
        "project_id = NEW.id",
    ),
)


class SortKeys(Triggers):
    app, model = FeedbackRequest._meta.label.split(".")
    columns = ("title_key", "project_key")

    @property
    def names(self) -> Sequence[str]:
        return [name for name, *_ in (*_OWN, *_OTHERS)]

    def listen(self, sender: AppConfig) -> None:
        super().listen(sender)
        pre_migrate.connect(
            self._drop, sender=sender, weak=False, dispatch_uid="feedback.search.sort_keys"
        )

    def make(self, using: str) -> None:
        were_there = self.are_there(using)
        is_sqlite = connections[using].vendor == "sqlite"
        with connections[using].cursor() as cursor:
            for statement in _sqlite() if is_sqlite else _postgres():
                cursor.execute(statement)
            if not were_there:
                cursor.execute(_AGAIN)

    def _drop(self, *, using: str, plan: object, **_about: Any) -> None:
        if plan and connections[using].vendor == "sqlite":
            with connections[using].cursor() as cursor:
                for name in self.names:
                    cursor.execute(f"DROP TRIGGER IF EXISTS {name}")


def _sqlite() -> list[str]:
    put = f"UPDATE {_REQUESTS} SET (title_key, project_key) = ({_KEYS}) WHERE id = NEW.id;"
    own = [
        f"CREATE TRIGGER IF NOT EXISTS {name} AFTER {when} ON {_REQUESTS}"
        f" WHEN NEW.{_OPEN} BEGIN {put} END"
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
            f" WHEN (NEW.{_OPEN}) EXECUTE FUNCTION faber_sort_request()"
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
