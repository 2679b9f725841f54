"""Which runs a text names: any part of what they are called, looked up in the search index."""

from collections.abc import Iterator, Sequence
from typing import Any

from django.db import connection
from django.db.models import Q
from django.db.models.expressions import RawSQL

from runs.models import Project, Run
from runs.search.index import COLUMNS, SHORTEST, TABLE

MOST = 1_000  # of the newest; whoever looks for older ones says more
RECENT = 1_000  # what is looked at one by one: for a short text, and whether a text is in many
_MANY = 20
_FEW_PROJECTS = 20
_PAGE = 250  # at least so many of each project, more than any page shows

_Sql = tuple[str, Sequence[Any]]

_RUNS = Run._meta.db_table


def named(text: str, *, is_all: bool) -> Q:
    """The runs that have the text in a name of theirs, or with a `#` have it as their work id.

    Only the newest of them unless all are asked for, as something else may narrow them.
    """
    if text.startswith("#") and text != "#":
        return _of_work_id(text[1:])
    if len(text) < SHORTEST:
        return _recent(text) | Q(work_id=text)
    limit = "" if is_all else f" LIMIT {MOST}"
    return _any_of([_indexed(text, limit), *_of_projects(text, is_all)])


def _of_work_id(text: str) -> Q:
    if text.isdigit() or len(text) < SHORTEST:
        return Q(work_id__in=[text, text.lower(), text.upper()])
    return _any_of([_indexed(text, "")]) & Q(work_id__iexact=text)


def _recent(text: str) -> Q:
    newest = Run.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
    said = Q(project__name__icontains=text)
    for column in COLUMNS:
        said |= Q(**{f"{column}__icontains": text})
    return Q(pk__gt=newest - RECENT) & said


def _any_of(looks: Sequence[_Sql]) -> Q:
    # Each in brackets of its own: SQLite takes no limit inside a union.
    sql = " UNION ALL ".join(
        f"SELECT * FROM ({look}) AS look_{n}" for n, (look, _) in enumerate(looks)
    )
    return Q(pk__in=RawSQL(sql, [value for _, values in looks for value in values]))


def _of_projects(text: str, is_all: bool) -> Iterator[_Sql]:
    """Most runs have the project's name in their id; not those of one that was renamed."""
    projects = list(Project.objects.filter(name__icontains=text).values_list("pk", flat=True))
    marks = ", ".join(["%s"] * len(projects))
    if is_all and projects:
        yield f"SELECT id FROM {_RUNS} WHERE project_id IN ({marks})", projects
    elif len(projects) > _FEW_PROJECTS:
        # Then the newest runs are of them: walking back in time is the shortest.
        look = f"SELECT id FROM {_RUNS} WHERE +project_id IN ({marks}) ORDER BY created_at DESC"
        yield f"{look} LIMIT {MOST}", projects
    else:
        look = f"SELECT id FROM {_RUNS} WHERE project_id = %s ORDER BY created_at DESC"
        for pk in projects:
            yield f"{look} LIMIT {max(_PAGE, MOST // len(projects))}", [pk]


def _indexed(text: str, limit: str) -> _Sql:
    look, values = (_in_sqlite if connection.vendor == "sqlite" else _in_postgres)(text)
    return look + limit, values


def _in_sqlite(text: str) -> _Sql:
    phrase = '"' + text.replace('"', '""') + '"'
    return f"SELECT rowid FROM {TABLE} WHERE {TABLE} MATCH %s ORDER BY rowid DESC", [phrase]


def _in_postgres(text: str) -> _Sql:
    like, values = "said LIKE lower(%s)", [f"%{_literal(text)}%"]
    if not _are_many(like, values):
        like = f"faber_trigrams(said) @> faber_trigrams(lower(%s)) AND {like}"
        values = [text, *values]
    return f"SELECT run_id FROM {TABLE} WHERE {like} ORDER BY run_id DESC", values


def _are_many(like: str, values: Sequence[Any]) -> bool:
    """Whether the text is in many of the newest: then walking back from them is the shortest."""
    newest = f"SELECT said FROM {TABLE} ORDER BY run_id DESC LIMIT {RECENT}"
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT COUNT(*) FROM ({newest}) AS recent WHERE {like}", values)
        return int(cursor.fetchone()[0]) >= _MANY


def _literal(text: str) -> str:
    for letter in "\\%_":
        text = text.replace(letter, f"\\{letter}")
    return text
