"""Whether what was executed is what was planned, told from the history alone."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from runs.domain.values.events import EventType
from runs.domain.values.numbers import number_of

# The events a verdict needs; everything else in a history is beside the point.
TELLING = (
    EventType.STEP_START,
    EventType.STEP_COMPLETE,
    EventType.STEP_SKIP,
    EventType.STEP_ERROR,
    EventType.RETRY_LOOP_ENTER,
)

_LOOPED = ("build:", "evaluate:")


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """The part of an event that verification reads."""

    type: str
    key: str  # phase:step
    is_backed: bool = True  # False for an end that no execution stands behind


@dataclass(frozen=True, slots=True, kw_only=True)
class Divergence:
    """A response that claimed more than its step, and was refused."""

    number: int  # of the event
    key: str
    attempt: int
    message: str
    claims: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    matched: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    reordered: tuple[str, ...] = ()
    fabricated: tuple[str, ...] = ()
    taken_over: tuple[str, ...] = ()  # of the matched: another run executed them
    # Refused, so the run stayed on its plan in spite of them.
    divergences: tuple[Divergence, ...] = ()

    @property
    def conforms(self) -> bool:
        return not (self.missing or self.extra or self.reordered or self.fabricated)

    def summary(self) -> str:
        faults = [
            f"{name}: {', '.join(keys)}"
            for name in ("missing", "extra", "reordered", "fabricated")
            if (keys := getattr(self, name))
        ]
        taken = f", {len(self.taken_over)} of them taken over" if self.taken_over else ""
        return "; ".join(faults) or f"{number_of(len(self.matched), 'step')} as planned{taken}"


def verify(planned: Sequence[str], traces: Iterable[Trace]) -> Verdict:
    """Compare the planned steps with the traces of what was executed, in order."""
    order = {key: index for index, key in enumerate(planned)}
    done: set[str] = set()
    started: set[str] = set()
    extra: dict[str, None] = {}
    reordered: dict[str, None] = {}
    fabricated: dict[str, None] = {}
    for trace in traces:
        if trace.type == EventType.RETRY_LOOP_ENTER:
            # The loop does build and evaluate anew: what was done there counts no more.
            done = {key for key in done if not key.startswith(_LOOPED)}
        elif trace.key not in order:
            extra[trace.key] = None
        elif trace.type == EventType.STEP_START:
            started.add(trace.key)
            if any(earlier not in done for earlier in planned[: order[trace.key]]):
                reordered[trace.key] = None
        elif trace.type == EventType.STEP_SKIP:
            done.add(trace.key)
        elif trace.key not in started or not trace.is_backed:
            fabricated[trace.key] = None
        else:
            # One start carries one end: a second end needs a start of its own.
            started.discard(trace.key)
            if trace.type == EventType.STEP_COMPLETE:
                done.add(trace.key)
    return Verdict(
        matched=tuple(key for key in planned if key in done),
        missing=tuple(key for key in planned if key not in done),
        extra=tuple(extra),
        reordered=tuple(reordered),
        fabricated=tuple(fabricated),
    )


def verify_so_far(planned: Sequence[str], traces: Iterable[Trace], *, reached: int) -> Verdict:
    """The verdict at a gate: only the steps before it can be missing yet."""
    verdict = verify(planned, traces)
    due = set(planned[:reached])
    return replace(verdict, missing=tuple(key for key in verdict.missing if key in due))
