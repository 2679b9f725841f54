"""What the page of a batch shows: its rows, what can be said to many, how far all are."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from feedback.batches import aggregate
from feedback.batches.aggregate import BatchRead
from feedback.batches.answering import RowResult
from feedback.batches.group import Group, Links, links_of, within
from feedback.batches.news import changed_since, version_of
from feedback.batches.rows import (
    BatchRow,
    Card,
    Entered,
    RequestKind,
    cards_of,
    kinds_of,
    rank,
    row_of,
    status_of,
)
from feedback.models import FeedbackRequest
from runs.domain.planning.batch import Counts, Stop
from runs.domain.values.actors import Actor
from runs.domain.values.status import RequestStatus
from runs.jobs import heartbeat
from runs.models import Batch

# Rows with fields to fill in: a form may send a thousand of them, and each row has two.
MOST_OPEN = 400
_WORDS = {
    Stop.COMPLETED: "completed",
    Stop.AWAITING_FEEDBACK: "awaiting feedback",
    Stop.ERROR: "failed",
    Stop.CANCELLED: "cancelled",
    Stop.IN_PROGRESS: "in progress",
}
_GOING = Stop.IN_PROGRESS


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A stretch of the bar that shows how far all are."""

    status: str
    label: str
    count: int
    start: float
    width: float


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchDesk:
    batch: Group
    links: Links
    rows: Sequence[BatchRow]
    kinds: Sequence[RequestKind]
    cards: Sequence[Card]
    counts: Counts
    version: str
    why_nothing_runs: str
    results: Sequence[RowResult]
    more: int  # open ones that are shown when these are answered

    @property
    def stored(self) -> Batch | None:
        """The batch, where the runs were started as one."""
        return self.batch if isinstance(self.batch, Batch) else None

    @property
    def name(self) -> str:
        return self.stored.batch_id if self.stored else "Selected runs"

    @property
    def news_link(self) -> str:
        return self.links.with_query(v=self.version)

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
    def not_applied(self) -> list[RowResult]:
        return [result for result in self.results if not result.is_applied]


def desk_of(
    batch: Group, actor: Actor, entered: Entered | None = None, results: Sequence[RowResult] = ()
) -> BatchDesk:
    # Before everything else: what changes from here on is news.
    version = version_of(batch)
    read = aggregate.read(batch)
    return _desk(read, actor, entered or Entered(), results, version)


def news_of(batch: Group, actor: Actor, since: str) -> BatchDesk:
    """The counts, and only the rows that changed since a version."""
    version = version_of(batch)
    read = aggregate.read(batch)
    whole = _desk(read, actor, Entered(), (), version)
    changed = changed_since(batch, since)
    rows = whole.rows if changed is None else [r for r in whole.rows if r.run.pk in changed]
    return replace(whole, rows=rows)


def _desk(
    read: BatchRead, actor: Actor, entered: Entered, results: Sequence[RowResult], version: str
) -> BatchDesk:
    decisions = aggregate.last_decisions(read.batch)
    files = _files(read.batch)
    by_run = {result.run_id: result for result in results if result.run_id}
    rows = [
        row_of(
            known,
            actor,
            entered,
            files=files.get(known.asked.pk, ()) if known.asked else (),
            decision=decisions.get(known.run.pk),
            result=by_run.get(known.run.run_id),
        )
        for known in read.rows
    ]
    cards = cards_of(rows, entered)
    told_once = {tick.row.run.pk for card in cards for tick in card.ticks}
    ranked = [replace(row, is_in_card=row.run.pk in told_once) for row in sorted(rows, key=rank)]
    counts = read.counts
    # Those that need somebody stand first, so the ones too many stand right behind the limit.
    more = max(0, counts.needs_feedback - MOST_OPEN)
    shown = [*ranked[:MOST_OPEN], *ranked[MOST_OPEN + more :]] if more else ranked
    return BatchDesk(
        batch=read.batch,
        links=links_of(read.batch),
        rows=shown,
        kinds=kinds_of(shown),
        cards=cards,
        counts=counts,
        version=version,
        why_nothing_runs="" if counts.all_stopped else heartbeat.why_nothing_runs(),
        results=results,
        more=more,
    )


def _files(batch: Group) -> dict[int, list[str]]:
    """Open request → the paths that are shown with it."""
    shown = FeedbackRequest.artifacts.through.objects.filter(
        within(batch, "feedbackrequest__run"),
        feedbackrequest__status=RequestStatus.PENDING,
    ).values_list("feedbackrequest_id", "artifact__path")
    found: dict[int, list[str]] = {}
    for request_pk, path in shown.order_by("artifact__path"):
        found.setdefault(request_pk, []).append(path)
    return found


def _parts(counts: Counts) -> list[Part]:
    going = counts.by_stop[Stop.IN_PROGRESS] - counts.waiting
    shown = [
        *((status_of(s), _WORDS[s], counts.by_stop[s]) for s in Stop if s is not _GOING),
        (_GOING.value, _WORDS[_GOING], going),
        ("pending", "queued", counts.waiting),
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
