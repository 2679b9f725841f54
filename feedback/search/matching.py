"""Which requests and decisions a text names: by their own words, or by what their run is called."""

from collections.abc import Collection
from typing import Any

from django.db.models import Q, QuerySet
from django.db.models.expressions import RawSQL

from feedback.models import FeedbackRequest, FeedbackResponse
from feedback.search.index import ANSWERS, QUESTIONS
from runs.domain.values.status import RequestStatus
from runs.models import Run
from runs.search.counts import Statement
from runs.search.index import RUNS, SHORTEST, TextIndex
from runs.search.looks import RECENT, Sql, any_of, indexed
from runs.search.matching import every_key, is_work_id, named

# Of the first rows of a list; from here on it is shorter to walk along the list than to look up
# all that have the text.
MANY = 70
MOST = 20_000  # requests; nobody pages to so many


def asked(rows: QuerySet[FeedbackRequest], text: str) -> QuerySet[FeedbackRequest]:
    """Of open requests, in the order of a list."""
    said = _says(text, "run__", **{"": QUESTIONS})
    if not is_work_id(text):  # of the first also by what no index holds
        said |= Q(run__target__icontains=text)
    if len(text) < SHORTEST:
        return _of_the_first(rows, said)
    near = _near(rows, said)
    if len(near) >= MANY:
        return rows.filter(said)
    # Looked up once, as a page counts each type of them; by their keys, which are few.
    keys = {*near, *_open(every_key(text), "run_id")}
    if not is_work_id(text):
        keys.update(_open(indexed(QUESTIONS, text), "id"))
    return rows.filter(_with(keys))


def decided(rows: QuerySet[FeedbackResponse], text: str) -> QuerySet[FeedbackResponse]:
    """Of decisions, in the order of a list."""
    said = _says(text, "request__run__", **{"": ANSWERS, "request__": QUESTIONS})
    if len(text) < SHORTEST:
        return _of_the_first(rows, said)
    every = FeedbackResponse.objects
    looks = [_sql(every.filter(request__run__in=_runs(text)))]
    if not is_work_id(text):
        questions = FeedbackRequest.objects.filter(any_of([indexed(QUESTIONS, text)]))
        looks += [indexed(ANSWERS, text), _sql(every.filter(request__in=questions.order_by()))]
    return _found(rows, said, looks)


def _open(look: Sql, column: str) -> list[int]:
    """The open requests among those that a look names by this column.

    From what it finds to the requests: SQLite would go through all that are open.
    """
    statement = Statement(
        f"WITH named(key) AS (SELECT * FROM ({look[0]}) AS look)"
        f" SELECT q.id FROM named CROSS JOIN {FeedbackRequest._meta.db_table} q"
        f" WHERE q.{column} = named.key AND q.status = '{RequestStatus.PENDING.value}'"
        f" LIMIT {MOST}",
        look[1],
    )
    return [key for (key,) in statement.rows()]


def _with(keys: Collection[int]) -> Q:
    """Written into the statement: so many that are bound take longer than to find the rows."""
    written = ", ".join(map(str, sorted(keys)))
    return Q(pk__in=RawSQL(written, ())) if keys else Q(pk__in=())


def _of_the_first(rows: QuerySet[Any], said: Q) -> QuerySet[Any]:
    return rows.filter(pk__in=_near(rows, said))


def _near(rows: QuerySet[Any], said: Q) -> list[int]:
    """The keys of those among the first; looked up, not walked to."""
    keys = list(rows.values_list("pk", flat=True)[:RECENT])
    every = rows.model._default_manager.filter(pk__in=keys).filter(said).order_by()
    return list(every.values_list("pk", flat=True))


def _found(rows: QuerySet[Any], said: Q, looks: list[Sql]) -> QuerySet[Any]:
    """A text that is in many of the first is in many: then these are soon enough found."""
    is_in_many = len(_near(rows, said)) >= MANY
    return rows.filter(said if is_in_many else any_of(looks))


def _runs(text: str) -> QuerySet[Run]:
    return Run.objects.filter(named(text, is_all=True)).order_by()


def _sql(rows: QuerySet[Any]) -> Sql:
    return rows.order_by().values("pk").query.sql_with_params()


def _says(text: str, run: str, **own: TextIndex) -> Q:
    """The same as the indexes find, read from each row."""
    if is_work_id(text):
        return Q(**{f"{run}work_id__iexact": text[1:]})
    said = Q(**{f"{run}project__name__icontains": text})
    for way, index in {**own, run: RUNS}.items():
        for column in index.columns:
            said |= Q(**{f"{way}{column}__icontains": text})
    return said
