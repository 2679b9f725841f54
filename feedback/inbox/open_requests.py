"""What waits for somebody: the open requests in the order they should be answered."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.core.paginator import Page, Paginator
from django.db.models import Count, Exists, F, Max, OrderBy, OuterRef, Q, QuerySet, Sum, Value
from django.db.models.functions import Coalesce, Lower, NullIf
from django.utils import timezone

from feedback.inbox.filters import Filters, SortOrder
from feedback.models import FeedbackRequest, FeedbackResponse
from runs.accounts import membership, permissions
from runs.accounts.membership import Sight
from runs.domain.responses import usage
from runs.domain.values.actors import Actor
from runs.domain.values.phases import Phase
from runs.domain.values.questions import FeedbackType
from runs.domain.values.status import RequestStatus
from runs.models import Project, Run
from runs.models.run import TITLED_BY

PER_PAGE = 100
OVERDUE = timedelta(hours=24)

# What `permissions` looks at.
_STARTER = (*("started_by", "started_by_user_id", "started_by_account", "on_hold", "project_id"),)
_WHO_MAY = ("reviewers", "delegated", "assignee", *(f"run__{field}" for field in _STARTER))
_PROJECT = ("name", "visibility", "members")
_CHANGES = ("files", "additions", "deletions")
_COUNTED = ("count", "newest", "total")
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
_TITLE = Coalesce(
    *(NullIf(name, _NOTHING) for name in ("own_title", *(f"run__{each}" for each in TITLED_BY)))
)
_BY_DUE = F("due_at").asc(nulls_last=True)
# What stands first; among equals whatever waits longest.
_ORDERS: Mapping[SortOrder, tuple[OrderBy, ...]] = {
    SortOrder.DUE: (_BY_DUE,),
    SortOrder.WAITING: (),
    SortOrder.TITLE: (Lower(_TITLE).asc(),),
    SortOrder.PROJECT: (Lower("run__project__name").asc(),),
    SortOrder.ROUND: (F("round").desc(),),
    SortOrder.ASSIGNEE: (NullIf("assignee", _NOTHING).asc(nulls_last=True),),
    SortOrder.COST: (F("cost_usd").desc(nulls_last=True),),
    SortOrder.CHANGES: (
        (F("snapshot__additions") + F("snapshot__deletions")).desc(nulls_last=True),
    ),
}


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


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeChip:
    """One type of request: how many there are, and the address that shows only those."""

    type: FeedbackType | None  # None for all of them
    count: int
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
    count: int  # of all that are open
    version: str

    phases = tuple(Phase)
    orders = tuple(SortOrder)

    @property
    def found(self) -> int:
        return self.leaf.paginator.count


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """How many requests are open for somebody; the version changes whenever one opens or closes."""

    count: int
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


def inbox(filters: Filters, actor: Actor, sight: Sight, page_number: str = "") -> Inbox:
    everything = _groups(sight)
    others = _found(filters.of_type(""), actor, sight)
    by_type = _by_type(filters, others, everything)
    matching = others.filter(type=filters.type) if filters.type else others
    matching = matching.order_by(*_ORDERS[filters.order], "ranked_at", "id")
    paginator = Paginator(
        matching.select_related("run__project", "snapshot").only(*_LISTED), PER_PAGE
    )
    # The chips have counted already.
    paginator.count = by_type[filters.type] if filters.type else by_type.total()
    leaf = paginator.get_page(page_number)
    return Inbox(
        leaf=leaf,
        rows=_rows(leaf, actor),
        chips=_chips(filters, by_type),
        filters=filters,
        projects=sorted({group.project for group in everything} | {filters.project} - {""}),
        agents=sorted(({group.agent for group in everything} | {filters.agent}) - {""}),
        count=sum(group.count for group in everything),
        version=_version(everything),
    )


def version(sight: Sight) -> str:
    """Changes whenever a request is opened or closed."""
    return _version(_groups(sight))


def waiting(sight: Sight) -> Waiting:
    """Asked by every page that is open, so in one statement."""
    found = _open(sight).order_by()
    counted = found.aggregate(count=Count("pk"), newest=Max("pk"), total=Sum("pk"))
    everything = _TypeGroup("", "", "", *(counted[name] or 0 for name in _COUNTED))
    return Waiting(count=everything.count, version=_version([everything]))


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
    asked: FeedbackRequest, actor: Actor, filters: Filters | None = None
) -> FeedbackRequest | None:
    """The highest-ranked other open request of the list that this person may answer."""
    filters = filters or Filters()
    others = _narrowed(_not_answered_by(actor, membership.sight_of(actor)), filters)
    others = others.exclude(pk=asked.pk).order_by(*_ORDERS[filters.order], "ranked_at", "id")
    for other in (
        others.select_related("run__project", "snapshot").only(*_LISTED).iterator(PER_PAGE)
    ):
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


def _groups(sight: Sight) -> list[_TypeGroup]:
    known = _open(sight).order_by().values_list("type", "run__project__name", "agent")
    counted = known.annotate(count=Count("pk"), newest=Max("pk"), total=Sum("pk"))
    return [_TypeGroup(*row) for row in counted]


def _version(groups: Sequence[_TypeGroup]) -> str:
    count = sum(group.count for group in groups)
    newest = max((group.newest for group in groups), default=0)
    return f"{count}-{newest}-{sum(group.total for group in groups)}"


def _found(filters: Filters, actor: Actor, sight: Sight) -> QuerySet[FeedbackRequest]:
    if filters.mine:
        return _answerable(_narrowed(_not_answered_by(actor, sight), filters), actor)
    return _narrowed(_open(sight), filters)


def _narrowed(found: QuerySet[FeedbackRequest], filters: Filters) -> QuerySet[FeedbackRequest]:
    if filters.project:
        found = found.filter(run__project__name=filters.project)
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
    if text := filters.q.removeprefix("#"):
        found = found.filter(
            Q(prompt__icontains=text)
            | Q(own_title__icontains=text)
            | Q(run__own_title__icontains=text)
            | Q(run__target__icontains=text)
            | Q(run__run_id__icontains=text)
            | Q(run__work_id__icontains=text)
            | Q(run__project__name__icontains=text)
        )
    return found


def _answerable(requests: QuerySet[FeedbackRequest], actor: Actor) -> QuerySet[FeedbackRequest]:
    """`permissions` alone knows who may; it is asked once for all that are alike."""
    may: dict[tuple[object, ...], bool] = {}
    allowed = []
    projects = Project.objects.only(*_PROJECT).in_bulk()
    for pk, reviewers, delegated, assignee, *starter in requests.values_list("pk", *_WHO_MAY):
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
    return requests.filter(pk__in=allowed)


def _is_for(actor: Actor, asked: FeedbackRequest) -> bool:
    """Whether somebody may answer it, and nobody else has been given it."""
    if asked.assignee and not permissions.is_called(actor, asked.assignee):
        return False
    return not permissions.refusal_to_answer(actor, asked.run, asked.deciders)


def _by_type(
    filters: Filters, found: QuerySet[FeedbackRequest], everything: Sequence[_TypeGroup]
) -> Counter[str]:
    if not (filters.q or filters.phase or filters.batch or filters.mine or filters.late):
        counts: Counter[str] = Counter()
        for group in everything:
            if filters.project in ("", group.project) and filters.agent in ("", group.agent):
                counts[group.type] += group.count
        return counts
    return Counter(dict(found.order_by().values_list("type").annotate(Count("pk"))))


def _chips(filters: Filters, by_type: Counter[str]) -> list[TypeChip]:
    shown = [t for t in FeedbackType if by_type[t.value] or t.value == filters.type]
    return [
        TypeChip(
            type=kind,
            count=by_type[kind.value] if kind else by_type.total(),
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
