"""Finds decisions on record, for the audit page, its CSV and the command line alike."""

from dataclasses import dataclass
from datetime import datetime

from django.core.paginator import Page, Paginator
from django.db.models import Q, QuerySet

from feedback.models import FeedbackResponse
from feedback.search import matching
from runs.accounts.membership import EVERYTHING, Sight
from runs.domain.values.text import visible
from runs.models import Project, Run
from runs.models.run import TITLED_BY
from runs.search import counts
from runs.search.counts import Quantity

FETCHED = 500  # rows at a time, when all of them are wanted
# So many are counted, and can be paged to; filters find what is older.
COUNTED = 10_000
COUNTED_OF_SEARCH = 1_000

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


def decided(wanted: DecisionFilter) -> QuerySet[FeedbackResponse]:
    """The decisions, oldest first."""
    exact = {
        "request__run": wanted.run,
        "request__type": wanted.type,
        "provided_by__source": wanted.source,
        "received_at__gte": wanted.since,
        "received_at__lt": wanted.until,
    }
    rows = FeedbackResponse.objects.filter(**{key: value for key, value in exact.items() if value})
    rows = wanted.sight.of(rows, "request__run__project")
    if wanted.project:
        projects = Project.objects.filter(name__iexact=wanted.project)
        rows = rows.filter(request__run__project__in=projects)
    if wanted.user:
        rows = rows.filter(_by(wanted.user))
    rows = rows.order_by("received_at", "pk")
    return matching.decided(rows.reverse(), wanted.text).reverse() if wanted.text else rows


def leaf_of(
    wanted: DecisionFilter, number: str, size: int
) -> tuple[Page[FeedbackResponse], Quantity]:
    """One page of them, newest first, and how many there are."""
    found = decided(wanted).reverse()
    paginator = Paginator(found, size)
    most = COUNTED_OF_SEARCH if wanted.text else COUNTED
    total = counts.up_to(most, {"": found})[""]
    paginator.count = total.count
    leaf = paginator.get_page(number)
    # First the keys, then only these rows: what is skipped is not joined with anything.
    first = size * (leaf.number - 1)
    last = min(first + size, leaf.paginator.count)
    keys = list(found.values_list("pk", flat=True)[first:last])
    rows = FeedbackResponse.objects.filter(pk__in=keys).order_by("-received_at", "-pk")
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


def _by(name: str) -> Q:
    return (
        Q(provided_by__user__iexact=name)
        | Q(provided_by__account__iexact=name)
        | Q(user__username__iexact=name)
    )
