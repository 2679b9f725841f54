"""A run's events as its page lists them: newest first, all of them or those of one kind."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Count, Q

from runs.models import Event, Run

NEWEST = 20

# Told by how a type begins, so that the spellings of other writers find their kind too.
KINDS: Mapping[str, tuple[str, ...]] = {
    "workflow": ("workflow_",),
    "phases": ("phase_", "retry_loop_", "checkpoint"),
    "steps": ("step_", "retry_attempt", "skill_", "agent_", "hook_", "divergence"),
    "decisions": ("feedback_", "approval_", "decision_"),
    "artifacts": ("artifact_", "spec_", "docs_", "test_", "commit_", "branch_", "pr_"),
}
OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class KindShown:
    value: str
    count: int
    is_chosen: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Chronicle:
    events: Sequence[Event]
    kinds: Sequence[KindShown]
    chosen: str  # one kind, or empty for every one
    total: int  # of the chosen kind

    @property
    def has_more(self) -> bool:
        return len(self.events) < self.total


def chronicle(run: Run, *, kind: str, everything: bool) -> Chronicle:
    counts = _counts(run)
    chosen = kind if kind in counts else ""
    events = Event.objects.filter(run=run).order_by("-number")
    if chosen:
        events = events.filter(_of_kind(chosen))
    return Chronicle(
        events=list(events if everything else events[:NEWEST]),
        kinds=[
            KindShown(value=name, count=counts[name], is_chosen=name == chosen)
            for name in (*KINDS, OTHER)
            if counts[name]
        ],
        chosen=chosen,
        total=counts[chosen] if chosen else counts.total(),
    )


def kind_of(event_type: str) -> str:
    return next((name for name, starts in KINDS.items() if event_type.startswith(starts)), OTHER)


def _counts(run: Run) -> Counter[str]:
    counts: Counter[str] = Counter()
    types = Event.objects.filter(run=run).order_by().values_list("type").annotate(Count("pk"))
    for event_type, count in types:
        counts[kind_of(event_type)] += count
    return counts


def _of_kind(kind: str) -> Q:
    if kind == OTHER:
        return ~_begins([start for starts in KINDS.values() for start in starts])
    return _begins(KINDS[kind])


def _begins(starts: Sequence[str]) -> Q:
    wanted = Q()
    for start in starts:
        wanted |= Q(type__startswith=start)
    return wanted
