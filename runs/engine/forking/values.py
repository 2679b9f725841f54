"""What is taken over from another run, as values."""

from collections.abc import Sequence
from dataclasses import dataclass

from runs.domain.planning.forks import GateBehind
from runs.domain.workflow.plan import Unit
from runs.models import Artifact, Run, StepAttempt


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenStep:
    """A step that counts as done: as it was executed there, or because it was skipped."""

    unit: Unit
    attempt: StepAttempt | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fork:
    """Where a new run begins, and everything of the original that is before it."""

    original: Run
    at: int
    key: str  # phase:step
    commit: str  # that its worktree begins with; empty: it works in the folder as it is
    steps: Sequence[TakenStep]
    files: Sequence[Artifact]  # the newest revision of each, without its content
    approved: Sequence[GateBehind]  # decided there, on what the new run begins with
    left_out: Sequence[str]  # the other gates before the point

    @property
    def facts(self) -> dict[str, object]:
        """What the history says of it."""
        return {
            "from": self.key,
            "taken_over": {
                "run_id": self.original.run_id,
                "steps": [step.unit.key for step in self.steps],
                "commit": self.commit or None,
                "gates": list(dict.fromkeys(gate.name for gate in self.approved)),
            },
        }
