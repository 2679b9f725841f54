"""How long decisions take, who takes them, and what holds everything up now."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from itertools import islice
from math import ceil
from typing import NamedTuple, TypeVar

from django.db.models import CharField, Count, F, Q, QuerySet
from django.db.models.fields.json import KT
from django.db.models.functions import Cast

from feedback.models import FeedbackRequest, FeedbackResponse
from feedback.models.requests import of_open
from feedback.totals.kept import ANSWERS, BY_PEOPLE, OVERRIDES, TIMEOUTS
from runs.accounts.membership import Sight
from runs.domain.values.phases import Phase
from runs.domain.values.questions import FeedbackType, Gate
from runs.domain.values.status import RequestStatus
from runs.models.run import TITLED_BY

MOST = 5_000  # answers read for the figures; the newest count
SHOWN_DAYS = 30
NAMED = 5  # open requests named as what holds things up
PEOPLE = 12

_PENDING = RequestStatus.PENDING
_RETRACTED = FeedbackResponse.State.RETRACTED

GATES = {
    Gate.PHASE: "Before a phase",
    Gate.BEFORE_STEP: "Before a step",
    Gate.AFTER_STEP: "After a step",
    Gate.WARNING: "On a warning",
    Gate.FAILURE: "On a failure",
    Gate.INPUT: "Question from a step",
    Gate.CHECK_IN: "Check-in",
    Gate.BUDGET: "On a used-up budget",
}


_Key = TypeVar("_Key")
_Row = TypeVar("_Row")


class Waited(NamedTuple):
    """One request, as far as the figures need it."""

    gate: str
    type: str
    phase: str
    milliseconds: int
    is_open: bool


class TimedAnswer(NamedTuple):
    name: str
    decides: bool  # the one that ended the waiting, where several had to answer
    waited: Waited


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """The waiting of one group; open requests count with what they have waited so far."""

    label: str
    count: int
    open: int
    median_ms: int
    p90_ms: int
    longest_ms: int


@dataclass(slots=True)
class _Group:
    times: list[int] = field(default_factory=list)
    open: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    name: str
    count: int
    median_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Lateness:
    """Of what was asked with a due date: how much was not decided by then."""

    due: int
    late: int  # decided after it was due, or still open
    timed_out: int
    overridden: int  # decided by an operator in others' place, due or not

    @property
    def share(self) -> int:
        return round(100 * self.late / self.due) if self.due else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    by_gate: Sequence[Figure]
    by_phase: Sequence[Figure]
    overall: Figure
    people: Sequence[Person]
    people_left_out: int
    days: Sequence[tuple[date, int]]
    oldest: Sequence[FeedbackRequest]
    blocking: Sequence[FeedbackRequest]
    is_cut: bool
    lateness: Lateness

    @property
    def is_empty(self) -> bool:
        return not (self.overall.count or self.people or self.oldest)


def statistics(*, since: datetime | None, now: datetime, sight: Sight) -> Statistics:
    """Of what was answered since then, and of everything that is open."""
    answers, is_cut = _limited(_answers(since, sight))
    waited = [answer.waited for answer in answers if answer.decides] + _still_open(now, sight)
    people = by_person((answer.name, answer.waited.milliseconds) for answer in answers)
    return Statistics(
        by_gate=grouped(waited, lambda one: (one.gate, one.type), _gate_label),
        by_phase=_in_order(grouped(waited, lambda one: one.phase, str.capitalize)),
        overall=_overall(waited),
        people=people[:PEOPLE],
        people_left_out=max(0, len(people) - PEOPLE),
        days=_days(now, sight),
        oldest=list(_open(sight).order_by("requested_at")[:NAMED]),
        blocking=list(of_open(_open(sight)).order_by("-steps_behind", "requested_at")[:NAMED]),
        is_cut=is_cut,
        lateness=_lateness(since, now, sight),
    )


# Pure: what is made of the values


def percentile(ordered: Sequence[int], share: float) -> int:
    """The nearest rank: a value that really occurred."""
    return ordered[max(0, ceil(share * len(ordered)) - 1)] if ordered else 0


def grouped(
    waited: Iterable[Waited], key: Callable[[Waited], _Key], label: Callable[[_Key], str]
) -> list[Figure]:
    """A figure for each group, the one that waits longest first."""
    groups: dict[_Key, _Group] = defaultdict(_Group)
    for one in waited:
        group = groups[key(one)]
        group.times.append(one.milliseconds)
        group.open += one.is_open
    figures = [figure(label(name), group.times, group.open) for name, group in groups.items()]
    return sorted(figures, key=lambda one: one.median_ms, reverse=True)


def figure(label: str, times: Iterable[int], is_open: int = 0) -> Figure:
    ordered = sorted(times)
    return Figure(
        label=label,
        count=len(ordered),
        open=is_open,
        median_ms=percentile(ordered, 0.5),
        p90_ms=percentile(ordered, 0.9),
        longest_ms=ordered[-1] if ordered else 0,
    )


def by_person(answers: Iterable[tuple[str, int]]) -> list[Person]:
    """Who answers, the busiest first."""
    times: dict[str, list[int]] = defaultdict(list)
    for name, milliseconds in answers:
        times[name].append(milliseconds)
    people = [
        Person(name=name, count=len(taken), median_ms=percentile(sorted(taken), 0.5))
        for name, taken in times.items()
    ]
    return sorted(people, key=lambda person: (-person.count, person.name))


# What is read


def _answers(since: datetime | None, sight: Sight) -> Iterator[TimedAnswer]:
    """What people answered, the newest first."""
    rows = (
        _given(since, sight)
        .order_by("-received_at")
        .values_list(
            KT("provided_by__user"),
            "decides",
            "request__gate",
            "request__type",
            "request__phase",
            _written("request__requested_at"),
            _written("received_at"),
        )
    )
    read = datetime.fromisoformat
    for name, decides, gate, kind, phase, start, end in rows[: MOST + 1].iterator():
        milliseconds = _milliseconds(read(start), read(end))
        waited = Waited(gate, kind, phase, milliseconds, is_open=False)
        yield TimedAnswer(name or "somebody", decides, waited)


def _still_open(now: datetime, sight: Sight) -> list[Waited]:
    asked = FeedbackRequest.objects.filter(status=_PENDING).order_by("requested_at")
    rows = sight.of(asked, "run__project").values_list("gate", "type", "phase", "requested_at")[
        :MOST
    ]
    return [
        Waited(gate, kind, phase, _milliseconds(start, now), is_open=True)
        for gate, kind, phase, start in rows
    ]


def _given(since: datetime | None, sight: Sight) -> QuerySet[FeedbackResponse]:
    """Answers of people; what a policy approved or its author took back does not count."""
    given = FeedbackResponse.objects.filter(BY_PEOPLE).exclude(state=_RETRACTED)
    given = sight.of(given, "request__run__project")
    return given.filter(received_at__gte=since) if since else given


def _lateness(since: datetime | None, now: datetime, sight: Sight) -> Lateness:
    due = sight.of(FeedbackRequest.objects.filter(due_at__isnull=False), "run__project")
    closed = due.filter(status=RequestStatus.ANSWERED)
    decided = (closed.filter(closed_at__gte=since) if since else closed).aggregate(
        due=Count("pk"), late=Count("pk", filter=Q(closed_at__gt=F("due_at")))
    )
    waiting = due.filter(status=_PENDING)
    day = since.astimezone(UTC).date() if since else None
    taken_back = _taken_back(sight).exclude(override={})
    return Lateness(
        due=decided["due"] + waiting.count(),
        late=decided["late"] + waiting.filter(due_at__lt=now).count(),
        timed_out=TIMEOUTS.total(sight, day).counted,
        overridden=OVERRIDES.total(sight, day).counted
        - (taken_back.filter(received_at__gte=_midnight(day)) if day else taken_back).count(),
    )


def _days(now: datetime, sight: Sight) -> list[tuple[date, int]]:
    """Answers of people on each of the last days, the days without one among them."""
    first = now.astimezone(UTC).date() - timedelta(days=SHOWN_DAYS - 1)
    counts = {day: sums.counted for day, sums in ANSWERS.by_day(sight, first).items()}
    taken_back = Counter(_taken_back(sight).values_list("received_at__date", flat=True))
    days = [first + timedelta(days=number) for number in range(SHOWN_DAYS)]
    return [(day, counts.get(day, 0) - taken_back[day]) for day in days]


def _taken_back(sight: Sight) -> QuerySet[FeedbackResponse]:
    """Few; what is kept counts them too."""
    found = FeedbackResponse.objects.filter(BY_PEOPLE, state=_RETRACTED)
    return sight.of(found, "request__run__project").order_by()


def _open(sight: Sight) -> QuerySet[FeedbackRequest]:
    pending = FeedbackRequest.objects.filter(status=_PENDING).select_related("run__project")
    return sight.of(pending, "run__project").only(
        "request_id",
        "type",
        "own_title",
        "phase",
        "step",
        "reviewers",
        "steps_behind",
        "requested_at",
        "run__run_id",
        "run__uuid",
        "run__work_id",
        *(f"run__{field}" for field in TITLED_BY),
        "run__project__name",
    )


def _limited(rows: Iterator[_Row]) -> tuple[list[_Row], bool]:
    kept = list(islice(rows, MOST))
    return kept, next(rows, None) is not None


def _written(field: str) -> Cast:
    """A moment as the database writes it, in UTC: to read it so is ten times as fast."""
    return Cast(field, CharField())


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time.min, UTC)


def _milliseconds(start: datetime, end: datetime) -> int:
    return max(0, int((end - start).total_seconds() * 1000))


def _overall(waited: Iterable[Waited]) -> Figure:
    known = list(waited)
    return figure(
        "Every request", (one.milliseconds for one in known), sum(o.is_open for o in known)
    )


def _gate_label(key: tuple[str, str]) -> str:
    gate, kind = key
    return f"{GATES[Gate(gate)]} · {FeedbackType(kind).label}"


def _in_order(figures: Iterable[Figure]) -> list[Figure]:
    """Phases stand as they follow each other, not as they wait."""
    order = [phase.title for phase in Phase]
    return sorted(figures, key=lambda one: order.index(one.label) if one.label in order else 99)
