"""Which runs a text names: any part of what they are called, looked up in the search index."""

from collections.abc import Iterator

from django.db.models import Q

from runs.models import Project, Run
from runs.search.index import RUNS, SHORTEST
from runs.search.looks import RECENT, Sql, any_of, indexed, united

MOST = 1_000  # of the newest; whoever looks for older ones says more
_FEW_PROJECTS = 20
_PAGE = 250  # at least so many of each project, more than any page shows

_RUNS = Run._meta.db_table


def named(text: str, *, is_all: bool) -> Q:
    """The runs that have the text in a name of theirs, or with a `#` have it as their work id.

    Only the newest of them unless all are asked for, as something else may narrow them.
    """
    if is_work_id(text):
        return _of_work_id(text[1:])
    if len(text) < SHORTEST:
        return _recent(text) | Q(work_id=text)
    return any_of(_looks(text, is_all))


def every_key(text: str) -> Sql:
    """The keys of all runs that have the text in a name of theirs, or as their work id."""
    if is_work_id(text):
        found = Run.objects.filter(_of_work_id(text[1:])).order_by()
        return found.values("pk").query.sql_with_params()
    return united(_looks(text, is_all=True))


def _looks(text: str, is_all: bool) -> list[Sql]:
    limit = "" if is_all else f" LIMIT {MOST}"
    return [indexed(RUNS, text, limit), *_of_projects(text, is_all)]


def is_work_id(text: str) -> bool:
    """Whether it asks for exactly one work id."""
    return text.startswith("#") and text != "#"


def _of_work_id(text: str) -> Q:
    if text.isdigit() or len(text) < SHORTEST:
        return Q(work_id__in=[text, text.lower(), text.upper()])
    return any_of([indexed(RUNS, text)]) & Q(work_id__iexact=text)


def _recent(text: str) -> Q:
    newest = Run.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
    said = Q(project__name__icontains=text)
    for column in RUNS.columns:
        said |= Q(**{f"{column}__icontains": text})
    return Q(pk__gt=newest - RECENT) & said


def _of_projects(text: str, is_all: bool) -> Iterator[Sql]:
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
