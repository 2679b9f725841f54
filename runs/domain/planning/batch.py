"""A group of runs as a whole: who has stopped, and what they ask."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from runs.domain.values.background import BackgroundSection
from runs.domain.values.errors import Invalid, Problem
from runs.domain.values.events import timestamp
from runs.domain.values.questions import Action, FeedbackType, Option, options_of
from runs.domain.values.status import RunStatus

MOST_RUNS = 1000
MOST_AT_ONCE = 200
AT_ONCE = 10

# What a person may do with a run that failed and asks nothing: all of it but to skip.
FAILED_OPTIONS: tuple[Option, ...] = tuple(
    option
    for option in options_of(FeedbackType.ERROR_RESOLUTION)
    if option.action is not Action.SKIP
)


class Stop(StrEnum):
    """Where a coordinator finds a run: stopped in one of four ways, or still going."""

    COMPLETED = "completed"
    AWAITING_FEEDBACK = "awaiting_feedback"
    ERROR = "error"
    CANCELLED = "cancelled"
    IN_PROGRESS = "in_progress"


_STOPS = {
    RunStatus.COMPLETED: Stop.COMPLETED,
    RunStatus.AWAITING_FEEDBACK: Stop.AWAITING_FEEDBACK,
    RunStatus.FAILED: Stop.ERROR,
    RunStatus.CANCELLED: Stop.CANCELLED,
    RunStatus.IN_PROGRESS: Stop.IN_PROGRESS,
    RunStatus.PENDING: Stop.IN_PROGRESS,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What one run asks."""

    request_id: str
    type: FeedbackType
    prompt: str
    options: tuple[Option, ...] = ()
    phase: str = ""
    step: str = ""
    questions: tuple[str, ...] = ()
    error: str = ""
    told: tuple[BackgroundSection, ...] = ()
    context: Mapping[str, object] = field(default_factory=dict)

    @property
    def kind(self) -> tuple[str, ...]:
        """Equal for requests that can be given the same answer."""
        return (self.type.value, *(option.value for option in self.options))

    @property
    def sameness(self) -> str:
        """Equal for requests that ask the same thing, however it is spaced or capitalised."""
        words = " ".join([self.prompt, *self.questions]).casefold()
        return re.sub(r"\W+", " ", words).strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One run of a group, as far as the group is concerned."""

    run_id: str
    status: RunStatus
    work_id: str = ""
    target: str = ""
    phase: str = ""
    step: str = ""
    error: str = ""
    artifacts: Mapping[str, object] = field(default_factory=dict)
    asks: Asked | None = None  # None while an answer is about to take effect, too

    @property
    def stop(self) -> Stop:
        stop = _STOPS[self.status]
        if stop is Stop.AWAITING_FEEDBACK and self.asks is None:
            return Stop.IN_PROGRESS
        return stop

    @property
    def waits_its_turn(self) -> bool:
        return self.status is RunStatus.PENDING

    @property
    def uuid(self) -> str:
        return self.run_id.rpartition("/")[2]

    @property
    def name(self) -> str:
        """What people call it: by its work id, else by the beginning of its uuid."""
        return f"#{self.work_id}" if self.work_id else self.uuid[:8]

    @property
    def branch(self) -> str:
        return str(self.artifacts.get("branch_name") or "")

    @property
    def is_open(self) -> bool:
        """Whether a person can answer it: it asks, or it failed."""
        return self.stop in (Stop.AWAITING_FEEDBACK, Stop.ERROR)

    @property
    def options(self) -> tuple[Option, ...]:
        """What it can be answered with now."""
        if self.asks:
            return self.asks.options
        return FAILED_OPTIONS if self.stop is Stop.ERROR else ()


@dataclass(frozen=True, slots=True)
class Counts:
    total: int
    by_stop: Mapping[Stop, int]
    waiting: int  # for their turn; they count as in progress

    @property
    def all_stopped(self) -> bool:
        return not self.by_stop[Stop.IN_PROGRESS]

    @property
    def stopped(self) -> int:
        return self.total - self.by_stop[Stop.IN_PROGRESS]

    @property
    def needs_feedback(self) -> int:
        return self.by_stop[Stop.AWAITING_FEEDBACK] + self.by_stop[Stop.ERROR]


def count(members: Sequence[Member]) -> Counts:
    return Counts(
        len(members),
        Counter(member.stop for member in members),
        sum(member.waits_its_turn for member in members),
    )


def check_concurrency(number: int) -> int:
    if not 1 <= number <= MOST_AT_ONCE:
        problem = Problem("concurrency", f"{number} is not between 1 and {MOST_AT_ONCE}")
        raise Invalid([problem])
    return number


def listed(text: str) -> tuple[str, ...]:
    """Work ids as people list them: by commas, spaces or lines, with or without `#`."""
    words = re.split(r"[\s,;]+", text)
    return tuple(bare for word in words if (bare := word.lstrip("#")))


def check_distinct(ids: Sequence[str], place: str = "work_ids") -> None:
    """Two runs on one work id could not be told apart when somebody answers."""
    problems = [
        Problem(place, f"{name} is listed {times} times. List each work id once")
        for name, times in Counter(ids).items()
        if times > 1
    ]
    if len(ids) > MOST_RUNS:
        problems.append(
            Problem(place, f"{len(ids)} are too many. A batch has at most {MOST_RUNS} runs")
        )
    if not ids:
        problems.append(Problem(place, "give at least one"))
    if problems:
        raise Invalid(problems)


# The aggregate, as programs read it


def aggregate(batch_id: str, members: Sequence[Member], *, at: datetime) -> dict[str, object]:
    """The specification's report of a whole group."""
    counts = count(members)
    return {
        "batch_id": batch_id,
        "coordinator_id": batch_id,
        "aggregated_at": timestamp(at),
        "total_runs": counts.total,
        **{stop.value: counts.by_stop[stop] for stop in Stop},
        "pending": counts.waiting,
        "all_stopped": counts.all_stopped,
        "needs_feedback": counts.needs_feedback > 0,
        "runs": [_entry(member) for member in members],
    }


def _entry(member: Member) -> dict[str, object]:
    waits = RunStatus.PENDING.value if member.waits_its_turn else member.stop.value
    entry: dict[str, object] = {
        "run_id": member.run_id,
        "status": waits,
        "work_id": member.work_id or None,
        "branch": member.branch or None,
        "phase": member.phase or None,
        "step": member.step or None,
    }
    if member.target:
        entry["target"] = member.target
    match member.stop:
        case Stop.AWAITING_FEEDBACK if member.asks:
            entry |= _asked(member.asks)
        case Stop.ERROR:
            entry |= {"error": member.error, "retryable": True, "options": _values(member.options)}
        case Stop.CANCELLED:
            entry["reason"] = member.error
        case Stop.COMPLETED:
            entry["artifacts"] = dict(member.artifacts)
    return entry


def _asked(asks: Asked) -> dict[str, object]:
    return {
        "feedback_type": asks.type.value,
        "request_id": asks.request_id,
        "feedback_request": {
            "request_id": asks.request_id,
            "type": asks.type.value,
            "prompt": asks.prompt,
            "options": _values(asks.options),
            "context": dict(asks.context),
            "phase": asks.phase,
            "step": asks.step,
        },
    }


def _values(options: Iterable[Option]) -> list[str]:
    return [option.value for option in options]
