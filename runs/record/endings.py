"""How a run ended, and by whom: rejected by a decision and cancelled are not the same."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from runs.domain.values.events import EventType
from runs.domain.values.status import RunStatus
from runs.models import Event, Run


class RunOutcome(StrEnum):
    COMPLETED = "completed"
    REJECTED = "rejected"  # somebody's answer ended the run
    CANCELLED = "cancelled"  # somebody ended the run itself
    FAILED = "failed"  # it rests until an operator resumes it


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    outcome: RunOutcome
    by: str = ""  # who decided that, where it is known

    def __str__(self) -> str:
        return f"{self.outcome.value} by {self.by}" if self.by else self.outcome.value


_ALONE = {RunStatus.COMPLETED: RunOutcome.COMPLETED, RunStatus.FAILED: RunOutcome.FAILED}


def ending_of(run: Run) -> Ending | None:
    return endings([run]).get(run.pk)


def endings(runs: Iterable[Run]) -> dict[int, Ending]:
    """By the runs' keys, of those that rest; only cancelled ones cost a query."""
    known = list(runs)
    found = {run.pk: Ending(outcome=_ALONE[run.state]) for run in known if run.state in _ALONE}
    if cancelled := [run.pk for run in known if run.state is RunStatus.CANCELLED]:
        found |= {pk: Ending(outcome=RunOutcome.CANCELLED) for pk in cancelled}
        told = Event.objects.filter(run__in=cancelled, type=EventType.WORKFLOW_CANCELLED)
        rows = told.order_by("number").values_list("run_id", "document")
        found |= {pk: _told(document) for pk, document in rows}
    return found


def _told(document: Mapping[str, object]) -> Ending:
    about, user = document.get("metadata"), str(document.get("user", ""))
    # Histories of before say it by naming nobody.
    by_nobody = not user and document.get("source") == "faber"
    is_decided = by_nobody or (isinstance(about, Mapping) and "decision" in about)
    return Ending(outcome=RunOutcome.REJECTED if is_decided else RunOutcome.CANCELLED, by=user)
