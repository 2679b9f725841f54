"""The six statuses of a run and the moves between them."""

from enum import StrEnum

from runs.domain.values.errors import Refused


class RequestStatus(StrEnum):
    """How a request stands; only a pending one can be answered."""

    PENDING = "pending"
    ANSWERED = "answered"
    CANCELLED = "cancelled"
    SUPERSEDED = "superseded"


class RunStatus(StrEnum):
    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    AWAITING_FEEDBACK = "awaiting_feedback"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_final(self) -> bool:
        return not MOVES[self]

    @property
    def is_stopped(self) -> bool:
        """Whether nothing happens until somebody does something."""
        return self not in (RunStatus.PENDING, RunStatus.IN_PROGRESS)

    @property
    def label(self) -> str:
        return self.value.replace("_", " ")


MOVES: dict[RunStatus, frozenset[RunStatus]] = {
    RunStatus.PENDING: frozenset({RunStatus.IN_PROGRESS, RunStatus.CANCELLED}),
    RunStatus.IN_PROGRESS: frozenset(
        {
            RunStatus.AWAITING_FEEDBACK,
            RunStatus.COMPLETED,
            RunStatus.FAILED,
            RunStatus.CANCELLED,
        }
    ),
    RunStatus.AWAITING_FEEDBACK: frozenset({RunStatus.IN_PROGRESS, RunStatus.CANCELLED}),
    RunStatus.FAILED: frozenset({RunStatus.IN_PROGRESS, RunStatus.CANCELLED}),
    RunStatus.COMPLETED: frozenset(),
    RunStatus.CANCELLED: frozenset(),
}


def check_move(current: RunStatus, target: RunStatus) -> None:
    if target not in MOVES[current]:
        raise Refused(f"A run that is {current.label} cannot become {target.label}.")
