"""What the page of a batch shows: a row per run, what can be said to many, how far all are."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from zlib import crc32

from django.db.models import Count, Max, Q

from feedback import batch_reading
from feedback.batch_reading import BatchRead, BatchRun
from feedback.batching import Result
from feedback.models import FeedbackRequest, FeedbackResponse
from runs import beats, permissions
from runs.domain.actors import Actor
from runs.domain.batch import Counts, Stop
from runs.domain.questions import Action, FeedbackType, Option
from runs.models import Batch, Run

# A change may become visible a moment after a later one; what is sent twice is shown once.
_OVERLAP = timedelta(seconds=10)
# Rows with fields to fill in: a form may send a thousand of them, and each row has two.
MOST_OPEN = 400
# Who must act first stands first.
_ORDER = (
    Stop.AWAITING_FEEDBACK,
    Stop.ERROR,
    Stop.IN_PROGRESS,
    Stop.CANCELLED,
    Stop.COMPLETED,
)
_WORDS = {
    Stop.COMPLETED: "completed",
    Stop.AWAITING_FEEDBACK: "awaiting feedback",
    Stop.ERROR: "failed",
    Stop.CANCELLED: "cancelled",
    Stop.IN_PROGRESS: "in progress",
}
_GOING = Stop.IN_PROGRESS
_STATUS = {Stop.ERROR: "failed"}  # the word of a run's status, where it is another


@dataclass(frozen=True, slots=True, kw_only=True)
class Entered:
    """What somebody has filled in so far, by the key of a row or a card."""

    choices: Mapping[str, str] = field(default_factory=dict)
    comments: Mapping[str, str] = field(default_factory=dict)
    cards: Mapping[str, str] = field(default_factory=dict)
    ticks: Mapping[str, frozenset[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pick:
    option: Option
    weight: str
    is_chosen: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One run with all that can be said about it and to it; a page reads each of it many times."""

    known: BatchRun
    run: Run
    asked: FeedbackRequest | None
    key: str
    name: str
    branch: str
    stop: Stop
    status: str  # for colours and icons: an answer about to take effect is progress
    is_open: bool
    takes_words: bool
    refusal: str
    picks: Sequence[Pick]
    comment: str
    kind: str
    files: Sequence[str]
    decision: FeedbackResponse | None
    result: Result | None
    is_in_card: bool = False

    @property
    def done(self) -> int:
        if self.stop is Stop.COMPLETED:
            return self.total
        before = self.run.frozen_plan.units[: self.run.position]
        return sum(1 for unit in before if not unit.is_hook)

    @property
    def total(self) -> int:
        return len(self.run.frozen_plan.step_keys)

    @property
    def version(self) -> str:
        """Changes with what the row shows, so that an equal one is left alone while it is used."""
        decided = self.decision.pk if self.decision else 0
        return f"{self.status}-{self.key}-{self.run.position}-{decided}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """Open runs that offer the same options."""

    key: str
    label: str
    count: int
    picks: Sequence[Pick]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    row: Row
    is_on: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """One question that several runs ask."""

    key: str
    prompt: str
    questions: Sequence[str]
    ticks: Sequence[Tick]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A stretch of the bar that shows how far all are."""

    status: str
    label: str
    count: int
    start: float
    width: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    batch: Batch
    rows: Sequence[Row]
    kinds: Sequence[Kind]
    cards: Sequence[Card]
    counts: Counts
    version: str
    lacks_worker: bool
    results: Sequence[Result]
    more: int  # open ones that are shown when these are answered

    @property
    def may_send(self) -> bool:
        return any(row.is_open and not row.refusal for row in self.rows)

    @property
    def seals(self) -> str:
        """What was seen of each request, in one field instead of hundreds."""
        return " ".join(f"{row.key}={row.asked.seal}" for row in self.rows if row.asked)

    @property
    def parts(self) -> list[Part]:
        return _parts(self.counts)

    @property
    def is_over(self) -> bool:
        final = self.counts.by_stop[Stop.COMPLETED] + self.counts.by_stop[Stop.CANCELLED]
        return final == self.counts.total

    @property
    def applied(self) -> int:
        return sum(result.is_applied for result in self.results)

    @property
    def not_applied(self) -> list[Result]:
        return [result for result in self.results if not result.is_applied]


def key_of(known: BatchRun) -> str:
    """By what a row's fields are named: the request that was seen, else the failed run."""
    return known.asked.request_id if known.asked else str(known.run.uuid)


def desk(
    batch: Batch, actor: Actor, entered: Entered | None = None, results: Sequence[Result] = ()
) -> Desk:
    # Before everything else: what changes from here on is news.
    version = version_of(batch)
    read = batch_reading.read(batch)
    return _desk(read, actor, entered or Entered(), results, version)


def news(batch: Batch, actor: Actor, since: str) -> Desk:
    """The counts, and only the rows that changed since a version."""
    version = version_of(batch)
    read = batch_reading.read(batch)
    whole = _desk(read, actor, Entered(), (), version)
    changed = _changed_since(batch, since)
    rows = whole.rows if changed is None else [r for r in whole.rows if r.run.pk in changed]
    return replace(whole, rows=rows)


def version_of(batch: Batch) -> str:
    """Changes when a run of the batch moves, or what it asks is answered or taken back."""
    moved = batch.runs.aggregate(at=Max("updated_at"))["at"]
    asked = FeedbackRequest.objects.filter(run__batch=batch).aggregate(
        at=Max("closed_at"), open=Count("pk", filter=Q(status=FeedbackRequest.Status.PENDING))
    )
    return f"{_micros(moved)}-{_micros(asked['at'])}-{asked['open']}"


def _desk(
    read: BatchRead, actor: Actor, entered: Entered, results: Sequence[Result], version: str
) -> Desk:
    decisions = batch_reading.last_decisions(read.batch)
    files = _files(read.batch)
    by_run = {result.run_id: result for result in results if result.run_id}
    rows = [
        _row(
            known,
            actor,
            entered,
            files=files.get(known.asked.pk, ()) if known.asked else (),
            decision=decisions.get(known.run.pk),
            result=by_run.get(known.run.run_id),
        )
        for known in read.rows
    ]
    cards = _cards(rows, entered)
    told_once = {tick.row.run.pk for card in cards for tick in card.ticks}
    ranked = [replace(row, is_in_card=row.run.pk in told_once) for row in sorted(rows, key=_rank)]
    counts = read.counts
    # Those that need somebody stand first, so the ones too many stand right behind the limit.
    more = max(0, counts.needs_feedback - MOST_OPEN)
    shown = [*ranked[:MOST_OPEN], *ranked[MOST_OPEN + more :]] if more else ranked
    return Desk(
        batch=read.batch,
        rows=shown,
        kinds=_kinds(shown),
        cards=cards,
        counts=counts,
        version=version,
        lacks_worker=not counts.all_stopped and not beats.worker_is_alive(),
        results=results,
        more=more,
    )


def _row(
    known: BatchRun,
    actor: Actor,
    entered: Entered,
    *,
    files: Sequence[str],
    decision: FeedbackResponse | None,
    result: Result | None,
) -> Row:
    key, member, stop = key_of(known), known.member, known.member.stop
    # The answer that is on its way, or the last word about a run that has ended.
    is_told = decision is not None and not member.is_open
    return Row(
        known=known,
        run=known.run,
        asked=known.asked,
        key=key,
        name=member.name,
        branch=member.branch,
        stop=stop,
        status=known.run.status if member.waits_its_turn else _STATUS.get(stop, stop.value),
        is_open=member.is_open,
        takes_words=known.asked is not None and known.asked.type == FeedbackType.CLARIFICATION,
        refusal=_refusal(known, actor),
        picks=_picks(member.options, entered.choices.get(key, "")),
        comment=entered.comments.get(key, ""),
        kind=_kind_key(known),
        files=files,
        decision=decision if is_told else None,
        result=result,
    )


def _refusal(known: BatchRun, actor: Actor) -> str:
    if not known.member.is_open:
        return ""
    if known.asked:
        return permissions.refusal_to_answer(actor, known.run, known.asked.reviewers)
    if permissions.may_steer(actor, known.run):
        return ""
    return "Retrying and aborting is for operators and for whoever started the run."


def _picks(options: Sequence[Option], chosen: str) -> list[Pick]:
    return [
        Pick(
            option=option,
            weight="stop" if option.action is Action.ABORT else "plain",
            is_chosen=option.value == chosen,
        )
        for option in options
    ]


def _rank(row: Row) -> tuple[int, str, int]:
    return _ORDER.index(row.stop), row.kind, row.run.pk


def _kind_key(known: BatchRun) -> str:
    if not known.member.is_open:
        return ""
    kind = known.member.asks.kind if known.member.asks else ("failed",)
    return f"{kind[0]}-{crc32(repr(kind).encode()):08x}"


def _kinds(rows: Iterable[Row]) -> list[Kind]:
    """What several runs can be told alike; words are told by a card instead."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        if row.is_open and not row.refusal and row.picks and not row.takes_words:
            groups.setdefault(row.kind, []).append(row)
    return [
        Kind(
            key=key,
            label=group[0].asked.feedback_type.label if group[0].asked else "Failed",
            count=len(group),
            picks=_picks([pick.option for pick in group[0].picks], ""),
        )
        for key, group in groups.items()
        if len(group) > 1
    ]


def _cards(rows: Iterable[Row], entered: Entered) -> list[Card]:
    groups: dict[str, list[Row]] = {}
    for row in rows:
        asks = row.known.member.asks
        if row.takes_words and asks and not row.refusal:
            groups.setdefault(asks.sameness, []).append(row)
    return [
        _card(card_key(sameness), group, entered)
        for sameness, group in groups.items()
        if len(group) > 1
    ]


def card_key(sameness: str) -> str:
    return f"{crc32(sameness.encode()):08x}"


def _card(key: str, rows: Sequence[Row], entered: Entered) -> Card:
    asks = rows[0].known.member.asks
    ticked = entered.ticks.get(key)
    return Card(
        key=key,
        prompt=asks.prompt if asks else "",
        questions=[q for q in asks.questions if q != asks.prompt] if asks else (),
        ticks=[Tick(row=row, is_on=ticked is None or row.key in ticked) for row in rows],
        text=entered.cards.get(key, ""),
    )


def _files(batch: Batch) -> dict[int, list[str]]:
    """Open request → the paths that are shown with it."""
    shown = FeedbackRequest.artifacts.through.objects.filter(
        feedbackrequest__run__batch=batch,
        feedbackrequest__status=FeedbackRequest.Status.PENDING,
    ).values_list("feedbackrequest_id", "artifact__path")
    found: dict[int, list[str]] = {}
    for request_pk, path in shown.order_by("artifact__path"):
        found.setdefault(request_pk, []).append(path)
    return found


def _parts(counts: Counts) -> list[Part]:
    going = counts.by_stop[Stop.IN_PROGRESS] - counts.waiting
    shown = [
        *((_STATUS.get(s, s.value), _WORDS[s], counts.by_stop[s]) for s in Stop if s is not _GOING),
        (_GOING.value, _WORDS[_GOING], going),
        ("pending", "waiting for their turn", counts.waiting),
    ]
    parts: list[Part] = []
    start = 0.0
    for status, label, number in shown:
        if number:
            width = 1000 * number / counts.total
            parts.append(
                Part(status=status, label=label, count=number, start=round(start, 1), width=width)
            )
            start += width
    return parts


def _changed_since(batch: Batch, version: str) -> set[int] | None:
    """The runs that changed after a version; None when that cannot be told."""
    moved, closed, still_open = (*version.split("-"), "", "", "")[:3]
    if not (moved.isdecimal() and closed.isdecimal()):
        return None
    runs = batch.runs.filter(updated_at__gt=_moment(moved) - _OVERLAP)
    requests = FeedbackRequest.objects.filter(
        run__batch=batch, closed_at__gt=_moment(closed) - _OVERLAP
    )
    changed = {*runs.values_list("pk", flat=True), *requests.values_list("run_id", flat=True)}
    # An answer that was taken back leaves no trace in either moment.
    return changed if changed or not still_open else None


def _micros(moment: datetime | None) -> int:
    return int(moment.timestamp() * 1_000_000) if moment else 0


def _moment(micros: str) -> datetime:
    try:
        return datetime.fromtimestamp(int(micros) / 1_000_000, tz=UTC)
    except (OverflowError, ValueError, OSError):
        return datetime.fromtimestamp(0, tz=UTC)
