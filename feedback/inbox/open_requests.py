"""What waits for somebody: the open requests in the order they should be answered."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache

from django.core.paginator import Page, Paginator
from django.db.models import Exists, F, FloatField, OrderBy, OuterRef, QuerySet, Subquery, Value
from django.db.models.expressions import RawSQL
from django.db.models.functions import Coalesce, NullIf
from django.utils import timezone

from feedback.inbox.filters import ALL_OPEN, Filters, SortOrder
from feedback.models import FeedbackRequest, FeedbackResponse
from feedback.models.requests import of_open
from feedback.search import matching
from runs.accounts import membership, permissions
from runs.accounts.membership import Sight
from runs.domain.responses import usage
from runs.domain.values.actors import Actor
from runs.domain.values.phases import Phase
from runs.domain.values.questions import FeedbackType
from runs.domain.values.status import RequestStatus
from runs.models import DEMO, Project, Run
from runs.models.run import TITLED_BY
from runs.models.statements import Prepared
from runs.pages.lists import listing
from runs.search import counts
from runs.search.counts import Quantity, Statement

PER_PAGE = 50
MOST = 1_000  # so many are counted, and can be paged to; filters find the others
OVERDUE = timedelta(hours=24)

# What `permissions` looks at.
_STARTER = (*("started_by", "started_by_user_id", "started_by_account", "on_hold", "project_id"),)
_WHO_MAY = ("reviewers", "delegated", "assignee", *(f"run__{field}" for field in _STARTER))
_PROJECT = ("name", "visibility", "members")
_CHANGES = ("files", "additions", "deletions")
_LISTED = (
    *_WHO_MAY,
    "request_id",
    "type",
    "prompt",
    "own_title",
    "round",
    "max_rounds",
    "agent",
    "cost_usd",
    "phase",
    "step",
    "steps_behind",
    "requested_at",
    "due_at",
    "on_timeout",
    "closed_at",
    "run__run_id",
    "run__uuid",
    "run__work_id",
    *(f"run__{field}" for field in TITLED_BY),
    *(f"run__project__{field}" for field in _PROJECT),
    *(f"snapshot__{field}" for field in _CHANGES),
)


_NOTHING = Value("")
# Nothing is bound here, so that SQLite knows it as what it has an index of.
_COST = Coalesce("cost_usd", RawSQL("-1.0", (), FloatField()))
_BY_DUE = F("due_at").asc(nulls_last=True)
# What stands first; among equals whatever waits longest.
_ORDERS: Mapping[SortOrder, tuple[OrderBy, ...]] = {
    SortOrder.DUE: (_BY_DUE,),
    SortOrder.WAITING: (),
    SortOrder.TITLE: (F("title_key").asc(),),
    SortOrder.PROJECT: (F("project_key").asc(),),
    SortOrder.ROUND: (F("round").desc(),),
    SortOrder.ASSIGNEE: (NullIf("assignee", _NOTHING).asc(nulls_last=True),),
    SortOrder.COST: (_COST.desc(),),
    SortOrder.CHANGES: (
        (F("snapshot__additions") + F("snapshot__deletions")).desc(nulls_last=True),
    ),
}
# Those whose index holds open requests only.
_OF_OPEN = (SortOrder.TITLE, SortOrder.PROJECT, SortOrder.ROUND, SortOrder.COST)


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxRow:
    asked: FeedbackRequest
    refusal: str  # why the person who looks may not answer it
    is_overdue: bool

    @property
    def cost(self) -> str:
        return usage.spoken({usage.COST: self.asked.cost_usd})

    @property
    def audience(self) -> str:
        return ", ".join(name.removeprefix("group:") for name in self.asked.reviewers)

    @property
    def facts(self) -> str:
        """All that the row is made from: the same facts are the same row."""
        known = (self.asked, self.asked.run, self.asked.run.project, self.asked.snapshot)
        loaded = [
            [(name, value) for name, value in vars(each).items() if name != "_state"]
            for each in known
            if each
        ]
        return repr((loaded, self.refusal, self.is_overdue))


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeChip:
    """One type of request: how many there are, and the address that shows only those."""

    type: FeedbackType | None  # None for all of them
    count: Quantity
    query: str
    is_on: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Inbox:
    leaf: Page[FeedbackRequest]
    rows: Sequence[InboxRow]
    chips: Sequence[TypeChip]
    filters: Filters
    projects: Sequence[str]
    agents: Sequence[str]
    found: Quantity
    waiting: "Waiting"  # all that are open

    phases = tuple(Phase)
    orders = tuple(SortOrder)


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """How many requests are open for somebody; the version changes whenever one opens or closes.

    Where not all are counted, it changes with those that were, and with the newest.
    """

    count: Quantity
    version: str


@dataclass(frozen=True, slots=True)
class _TypeGroup:
    """The open requests of one type in one project, by the agent that worked for them."""

    type: str
    project: str
    agent: str
    count: int
    newest: int
    total: int


@dataclass(frozen=True, slots=True)
class _Open:
    """The requests that are open, in groups; of very many only the first."""

    groups: tuple[_TypeGroup, ...]
    newest: int

    @property
    def count(self) -> Quantity:
        return counts.quantity(sum(group.count for group in self.groups), MOST)

    @property
    def waiting(self) -> Waiting:
        total = sum(group.total for group in self.groups)
        return Waiting(count=self.count, version=f"{self.count.count}-{self.newest}-{total}")


@dataclass(frozen=True, slots=True)
class InboxFacts:
    """All that a page of the inbox is made from, as the database has it."""

    everything: _Open
    rows: tuple[tuple[object, ...], ...]


def inbox(
    filters: Filters,
    actor: Actor,
    sight: Sight,
    page_number: str = "",
    *,
    facts: InboxFacts | None = None,
) -> Inbox:
    everything = facts.everything if facts else _grouped(sight)
    others = _found(filters.of_type(""), actor, sight)
    by_type = _by_type(filters, others, everything)
    matching = others.filter(type=filters.type) if filters.type else others
    paginator = Paginator(_ordered(matching, filters), PER_PAGE)
    found = by_type.get(filters.type, counts.NONE) if filters.type else _sum(by_type)
    paginator.count = min(found.count, MOST)  # the chips have counted already
    leaf = paginator.get_page(page_number)
    if facts:
        leaf.object_list = _page_of(filters, sight, leaf.number).objects(facts.rows)
    return Inbox(
        leaf=leaf,
        rows=_rows(leaf, actor),
        chips=_chips(filters, by_type),
        filters=filters,
        projects=_projects(everything, sight, filters.project),
        agents=sorted(({group.agent for group in everything.groups} | {filters.agent}) - {""}),
        found=found,
        waiting=everything.waiting,
    )


def facts(filters: Filters, sight: Sight, page_number: str) -> InboxFacts | None:
    """None where more has to be asked: of very many, of a search, of what depends on who looks."""
    asks_more = filters.q or filters.phase or filters.batch or filters.mine or filters.late
    number = int(page_number or 1) if (page_number or "1").isdigit() else 0
    everything = _grouped(sight)
    if asks_more or everything.count.is_more or not 0 < number <= MOST // PER_PAGE:
        return None
    rows = tuple(_page_of(filters, sight, number).fetched())
    # Beside an empty inbox and the demo there is a guide, which is about more than these.
    is_guided = any(group.project == DEMO for group in everything.groups)
    return None if is_guided or not rows else InboxFacts(everything, rows)


@lru_cache(maxsize=100)
def _page_of(filters: Filters, sight: Sight, number: int) -> Prepared[FeedbackRequest]:
    first = PER_PAGE * (number - 1)
    found = _ordered(_narrowed(_open(sight), filters), filters)
    return Prepared(lambda: found[first : first + PER_PAGE])


def _ordered(found: QuerySet[FeedbackRequest], filters: Filters) -> QuerySet[FeedbackRequest]:
    """In the order of the list, with all that a row of it shows."""
    found = of_open(found) if filters.order in _OF_OPEN else found
    ordered = found.order_by(*_ORDERS[filters.order], "ranked_at", "id")
    return ordered.select_related("run__project", "snapshot").only(*_LISTED)


def waiting(sight: Sight) -> Waiting:
    """Asked by every page that is open, so in one statement; two where very many are open."""
    return _grouped(sight).waiting


def version(sight: Sight) -> str:
    """Changes whenever a request is opened or closed."""
    return waiting(sight).version


def has_news(seen: str, filters: Filters, sight: Sight) -> bool:
    """Whether a list that was made at a version may have changed.

    The version of very many is of the first in their usual order, which others are not in.
    """
    now = waiting(sight)
    return seen != now.version or (now.count.is_more and bool(filters.query))


@dataclass(frozen=True, slots=True, kw_only=True)
class Newest:
    """What began to wait for somebody."""

    newest: int  # the last request there is, whoever it is for
    requests: Sequence[FeedbackRequest]


def newest(actor: Actor, sight: Sight, after: int | None, most: int = 3) -> Newest:
    """The open requests that this person may answer and that came after one; none without it."""
    every = _open(sight).order_by("-pk")
    last = every.values_list("pk", flat=True).first() or 0
    if after is None or last <= after:
        return Newest(newest=max(last, after or 0), requests=())
    rows = every.filter(pk__gt=after).select_related("run__project").only(*_LISTED)
    mine = [asked for asked in rows[:PER_PAGE] if _is_for(actor, asked)]
    return Newest(newest=last, requests=mine[:most])


def following(
    asked: FeedbackRequest, actor: Actor, filters: Filters = ALL_OPEN
) -> FeedbackRequest | None:
    """The highest-ranked other open request of the list that this person may answer."""
    others = _narrowed(_not_answered_by(actor, membership.sight_of(actor)), filters)
    for other in _ordered(others.exclude(pk=asked.pk), filters).iterator(PER_PAGE):
        if _is_for(actor, other):
            return other
    return None


def _open(sight: Sight) -> QuerySet[FeedbackRequest]:
    pending = FeedbackRequest.objects.filter(status=RequestStatus.PENDING)
    return sight.of(pending, "run__project").order_by(_BY_DUE, "ranked_at", "id")


def _not_answered_by(actor: Actor, sight: Sight) -> QuerySet[FeedbackRequest]:
    given = FeedbackResponse.objects.filter(
        request=OuterRef("pk"), identity=actor.identity, imported=False
    )
    return _open(sight).exclude(Exists(given.exclude(state=FeedbackResponse.State.RETRACTED)))


def _grouped(sight: Sight) -> _Open:
    """One statement, which reads no more than the first `MOST` in the order they are listed."""
    groups = tuple(_TypeGroup(*row) for row in _groups_of(sight, MOST).rows())
    newest = max((group.newest for group in groups), default=0)
    if sum(group.count for group in groups) > MOST:
        newest = _open(sight).order_by("-requested_at").values_list("pk", flat=True)[0]
    return _Open(groups, newest)


@lru_cache(maxsize=100)
def _groups_of(sight: Sight, most: int) -> Statement:
    first = _open(sight).values_list("type", "run__project__name", "agent", "pk")
    return counts.summed(first[: most + 1])


def _projects(everything: _Open, sight: Sight, chosen: str) -> list[str]:
    """Those that wait; all of them where not all that wait are counted."""
    names = {group.project for group in everything.groups} | {chosen}
    if everything.count.is_more:
        names.update(listing.projects(sight))
    return sorted(names - {""})


def _found(filters: Filters, actor: Actor, sight: Sight) -> QuerySet[FeedbackRequest]:
    if filters.mine:
        return _answerable(_narrowed(_not_answered_by(actor, sight), filters), actor)
    return _narrowed(_open(sight), filters)


def _narrowed(found: QuerySet[FeedbackRequest], filters: Filters) -> QuerySet[FeedbackRequest]:
    if filters.project:
        found = _of_project(found, filters.project)
    if filters.type:
        found = found.filter(type=filters.type)
    if filters.phase:
        found = found.filter(phase=filters.phase)
    if filters.agent:
        found = found.filter(agent=filters.agent)
    if filters.late:
        found = found.filter(due_at__lt=timezone.now())
    if filters.batch:
        found = found.filter(run__batch__batch_id=filters.batch)
    return matching.asked(found, filters.q) if filters.q else found


def _of_project(found: QuerySet[FeedbackRequest], name: str) -> QuerySet[FeedbackRequest]:
    own = Project.objects.filter(name=name).values("pk")[:1]
    return of_open(found.filter(project=Subquery(own)))


def _answerable(requests: QuerySet[FeedbackRequest], actor: Actor) -> QuerySet[FeedbackRequest]:
    """`permissions` alone knows who may; it is asked once for all that are alike."""
    may: dict[tuple[object, ...], bool] = {}
    allowed = []
    projects = Project.objects.only(*_PROJECT).in_bulk()
    rows = requests.values_list("pk", *_WHO_MAY).iterator(MOST)
    for pk, reviewers, delegated, assignee, *starter in rows:
        handed = tuple(str(each["to"]) for each in delegated)
        alike = (*reviewers, handed, assignee, *starter)
        if alike not in may:
            run = Run(**dict(zip(_STARTER, starter, strict=True)))
            run.project = projects[run.project_id]
            asked = FeedbackRequest(
                run=run, reviewers=reviewers, delegated=delegated, assignee=assignee
            )
            may[alike] = _is_for(actor, asked)
        if may[alike]:
            allowed.append(pk)
        if len(allowed) > MOST:
            break
    return requests.filter(pk__in=allowed)


def _is_for(actor: Actor, asked: FeedbackRequest) -> bool:
    """Whether somebody may answer it, and nobody else has been given it."""
    if asked.assignee and not permissions.is_called(actor, asked.assignee):
        return False
    return not permissions.refusal_to_answer(actor, asked.run, asked.deciders)


def _by_type(
    filters: Filters, found: QuerySet[FeedbackRequest], everything: _Open
) -> Mapping[str, Quantity]:
    if everything.count.is_more:
        return counts.up_to(MOST, {kind.value: found.filter(type=kind) for kind in FeedbackType})
    if filters.q or filters.phase or filters.batch or filters.mine or filters.late:
        return counts.by("type", found.order_by(), MOST)
    known: Counter[str] = Counter()
    for group in everything.groups:
        if filters.project in ("", group.project) and filters.agent in ("", group.agent):
            known[group.type] += group.count
    return {kind: Quantity(count) for kind, count in known.items()}


def _sum(quantities: Mapping[str, Quantity]) -> Quantity:
    return sum(quantities.values(), counts.NONE)


def _chips(filters: Filters, by_type: Mapping[str, Quantity]) -> list[TypeChip]:
    shown = [t for t in FeedbackType if by_type.get(t.value) or t.value == filters.type]
    return [
        TypeChip(
            type=kind,
            count=by_type.get(kind.value, counts.NONE) if kind else _sum(by_type),
            query=filters.of_type(kind.value if kind else "").query,
            is_on=filters.type == (kind.value if kind else ""),
        )
        for kind in (None, *shown)
    ]


def _rows(leaf: Page[FeedbackRequest], actor: Actor) -> list[InboxRow]:
    since = timezone.now() - OVERDUE
    return [
        InboxRow(
            asked=asked,
            refusal=permissions.refusal_to_answer(actor, asked.run, asked.deciders),
            is_overdue=asked.requested_at < since,
        )
        for asked in leaf
    ]
