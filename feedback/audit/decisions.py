"""Finds decisions on record, for the audit page, its CSV and the command line alike."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from operator import or_

from django.contrib.auth.models import User
from django.core.paginator import Page, Paginator
from django.db.models import Q, QuerySet, Subquery
from django.db.models.lookups import Exact

from feedback.models import FeedbackResponse
from feedback.models.requests import Provider
from feedback.search import matching
from runs.accounts.membership import EVERYTHING, Sight
from runs.domain.values.text import visible
from runs.models import Project, Run
from runs.models.run import TITLED_BY
from runs.search import counts
from runs.search.counts import Quantity
from runs.search.looks import any_of

FETCHED = 500  # rows at a time, when all of them are wanted
# So many are counted, and can be paged to; filters find what is older.
COUNTED = 10_000
COUNTED_OF_SEARCH = 1_000

_NEWEST = ("-received_at", "-pk")

_FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")  # wide ones as well


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionFilter:
    """Which decisions somebody wants to see; what is empty does not narrow."""

    user: str = ""
    run: Run | None = None
    project: str = ""
    source: str = ""
    type: str = ""
    text: str = ""
    kind: str = ""  # of the lines of the record
    since: datetime | None = None
    until: datetime | None = None
    sight: Sight = EVERYTHING  # of whoever looks

    def __bool__(self) -> bool:
        return self != DecisionFilter(sight=self.sight, kind=self.kind)


def leaf_of(
    wanted: DecisionFilter, number: str, size: int
) -> tuple[Page[FeedbackResponse], Quantity]:
    """One page of them, newest first, and how many there are."""
    ways = _ways(wanted)
    most = COUNTED_OF_SEARCH if wanted.text else COUNTED
    total = counts.of_any(ways, most)
    paginator = Paginator(ways[0], size)
    paginator.count = total.count
    leaf = paginator.get_page(number)
    # First the keys, then only these rows: what is skipped is not joined with anything.
    first = size * (leaf.number - 1)
    keys = _keys(ways, first, min(first + size, total.count))
    rows = FeedbackResponse.objects.filter(pk__in=keys).order_by(*_NEWEST)
    leaf.object_list = whole(rows)
    return leaf, total


def whole(rows: QuerySet[FeedbackResponse]) -> QuerySet[FeedbackResponse]:
    """The same with what a line of the audit tells, and without what only a run needs."""
    return rows.select_related("request__run__project").only(
        "response",
        "action",
        "comment",
        "items",
        "edits",
        "decides",
        "state",
        "held_until",
        "imported",
        "override",
        "provided_by",
        "seal",
        "received_at",
        "request__request_id",
        "request__type",
        "request__own_title",
        "request__phase",
        "request__step",
        "request__run__run_id",
        "request__run__uuid",
        "request__run__work_id",
        *(f"request__run__{field}" for field in TITLED_BY),
        "request__run__project__name",
    )


def harmless(value: object) -> str:
    """A cell without what steers a terminal; what a spreadsheet would calculate is made a text."""
    text = visible(str(value)).replace("\t", " ")
    begins_blank = str(value).startswith(("\t", "\r"))
    return f"'{text}" if begins_blank or text.lstrip().startswith(_FORMULA) else text


class Echo:
    """A file that hands back what is written to it."""

    def write(self, text: str) -> str:
        return text


def _ways(wanted: DecisionFilter) -> list[QuerySet[FeedbackResponse]]:
    """What finds them, newest first: once for each name somebody has, as each has its own index."""
    rows, names = _narrowed(wanted).order_by(*_NEWEST), _names(wanted.user)
    if wanted.text:
        return [matching.decided(rows.filter(reduce(or_, names, Q())), wanted.text)]
    return [rows.filter(name) for name in names] or [rows]


def _narrowed(wanted: DecisionFilter) -> QuerySet[FeedbackResponse]:
    exact = {
        "request__run": wanted.run,
        "request__type": wanted.type,
        "provided_by__source": wanted.source,
        "received_at__gte": wanted.since,
        "received_at__lt": wanted.until,
    }
    rows = FeedbackResponse.objects.filter(**{key: value for key, value in exact.items() if value})
    if wanted.project:
        own = Project.objects.filter(name__iexact=wanted.project).values("pk")[:1]
        rows = rows.filter(project=Subquery(own))
    return wanted.sight.of(rows, "request__run__project")


def _names(user: str) -> list[Q]:
    """As they are on record, and by the account that gave the answer, however it is called now."""
    if not user:
        return []
    said = [Q(Exact(Provider(key), Provider.of(user))) for key in ("user", "account")]
    accounts = User.objects.filter(username__iexact=user).values_list("pk", flat=True)
    return [*said, *(Q(user=pk) for pk in accounts)]


def _keys(ways: Sequence[QuerySet[FeedbackResponse]], first: int, last: int) -> list[int]:
    found = ways[0]
    if last and len(ways) > 1:
        looks = [counts.statement(way.values("pk")[:last]) for way in ways]
        found = FeedbackResponse.objects.filter(
            any_of([(look.sql, look.values) for look in looks if look.sql])
        ).order_by(*_NEWEST)
    return list(found.values_list("pk", flat=True)[first:last])
