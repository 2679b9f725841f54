"""The rows of a batch's page: one per run, with all that can be said about it and to it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from zlib import crc32

from feedback.batches.aggregate import BatchRun
from feedback.batches.answering import RowResult
from feedback.models import FeedbackRequest, FeedbackResponse
from runs.accounts import permissions
from runs.domain.planning.batch import Stop
from runs.domain.values.actors import Actor
from runs.domain.values.background import Background, BackgroundSection
from runs.domain.values.printed.first_error import MOST_LINES, first_error
from runs.domain.values.printed.terminal_codes import bare
from runs.domain.values.questions import Option
from runs.models import Run

SHOWN_ERRORS = 2
SHOWN_LINES = 3

# Who must act first stands first.
_ORDER = (
    Stop.AWAITING_FEEDBACK,
    Stop.ERROR,
    Stop.IN_PROGRESS,
    Stop.CANCELLED,
    Stop.COMPLETED,
)


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
class BatchRow:
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
    result: RowResult | None
    is_in_card: bool = False

    @property
    def title(self) -> str:
        return self.asked.title if self.asked else self.run.title

    @property
    def told(self) -> Sequence[BackgroundSection]:
        asks = self.known.member.asks
        return asks.told if asks else ()

    @property
    def error(self) -> str:
        """What went wrong: as the step tells it, else as its output does."""
        asks = self.known.member.asks
        if asks is None:
            return ""
        background = Background.read(asks.context)
        printed = bare(background.output_tail)
        if background.errors:
            errors = background.errors[:SHOWN_ERRORS]
            return "\n".join(
                _brief(bare(error), printed if background.is_output(error) else "")
                for error in errors
            )
        found = first_error(printed)
        return found.text if found else ""

    @property
    def peeks(self) -> Sequence[str]:
        """What can be opened below the row: the rest of what the run tells, and its files."""
        rest = (part.title for part in self.told if part.name not in ("questions", "unshown"))
        return [*rest, *self.files]

    @property
    def version(self) -> str:
        """Changes with what the row shows, so that an equal one is left alone while it is used."""
        decided = self.decision.pk if self.decision else 0
        return f"{self.status}-{self.key}-{self.run.position}-{decided}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestKind:
    """Open runs that offer the same options."""

    key: str
    label: str
    count: int
    picks: Sequence[Pick]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    row: BatchRow
    is_on: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """One question that several runs ask."""

    key: str
    prompt: str
    questions: Sequence[str]
    ticks: Sequence[Tick]
    text: str


def key_of(known: BatchRun) -> str:
    """By what a row's fields are named: the request that was seen, else the failed run."""
    return known.asked.request_id if known.asked else str(known.run.uuid)


def status_of(stop: Stop) -> str:
    """The word of a run's status, for colours and icons."""
    return "failed" if stop is Stop.ERROR else stop.value


def _brief(error: str, printed: str) -> str:
    """Of an error that is the end of an output, what went wrong first, else its last lines."""
    lines = error.split("\n")
    if len(lines) <= MOST_LINES and not printed:
        return error
    found = first_error(printed or error)
    return found.text if found else "\n".join(lines[-SHOWN_LINES:])


def row_of(
    known: BatchRun,
    actor: Actor,
    entered: Entered,
    *,
    files: Sequence[str],
    decision: FeedbackResponse | None,
    result: RowResult | None,
) -> BatchRow:
    key, member, stop = key_of(known), known.member, known.member.stop
    # The answer that is on its way, or the last word about a run that has ended.
    is_told = decision is not None and not member.is_open
    return BatchRow(
        known=known,
        run=known.run,
        asked=known.asked,
        key=key,
        name=member.name,
        branch=member.branch,
        stop=stop,
        status=known.run.status if member.waits_its_turn else status_of(stop),
        is_open=member.is_open,
        takes_words=known.asked is not None and known.asked.feedback_type.takes_text,
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
        return permissions.refusal_to_answer(actor, known.run, known.asked.deciders)
    if permissions.may_steer(actor, known.run):
        return ""
    return "Only operators and the person who started the run can retry or abort it."


def _picks(options: Sequence[Option], chosen: str) -> list[Pick]:
    return [
        Pick(
            option=option,
            weight="stop" if option.weight == "stop" else "plain",  # nothing is suggested for all
            is_chosen=option.value == chosen,
        )
        for option in options
    ]


def rank(row: BatchRow) -> tuple[int, str, int]:
    return _ORDER.index(row.stop), row.kind, row.run.pk


def _kind_key(known: BatchRun) -> str:
    if not known.member.is_open:
        return ""
    kind = known.member.asks.kind if known.member.asks else ("failed",)
    return f"{kind[0]}-{crc32(repr(kind).encode()):08x}"


def kinds_of(rows: Iterable[BatchRow]) -> list[RequestKind]:
    """What several runs can be told alike; words are told by a card instead."""
    groups: dict[str, list[BatchRow]] = {}
    for row in rows:
        if row.is_open and not row.refusal and row.picks and not row.takes_words:
            groups.setdefault(row.kind, []).append(row)
    return [
        RequestKind(
            key=key,
            label=group[0].asked.feedback_type.label if group[0].asked else "Failed",
            count=len(group),
            picks=_picks([pick.option for pick in group[0].picks], ""),
        )
        for key, group in groups.items()
        if len(group) > 1
    ]


def cards_of(rows: Iterable[BatchRow], entered: Entered) -> list[Card]:
    groups: dict[str, list[BatchRow]] = {}
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


def _card(key: str, rows: Sequence[BatchRow], entered: Entered) -> Card:
    asks = rows[0].known.member.asks
    ticked = entered.ticks.get(key)
    return Card(
        key=key,
        prompt=asks.prompt if asks else "",
        questions=[q for q in asks.questions if q != asks.prompt] if asks else (),
        ticks=[Tick(row=row, is_on=ticked is None or row.key in ticked) for row in rows],
        text=entered.cards.get(key, ""),
    )
