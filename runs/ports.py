"""What `runs` needs from outside: somebody who puts questions to people."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from importlib import import_module
from typing import NamedTuple, Protocol, cast

from django.conf import settings

from runs.domain.values.questions import Gate, Question
from runs.domain.workflow.plan import Unit
from runs.models import Artifact, CodeSnapshot, Run, StepAttempt


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """Where a question comes from: its gate, what it shows, and the attempt it follows."""

    gate_key: str
    shown: Sequence[Artifact]
    after: StepAttempt | None
    now: datetime
    snapshot: CodeSnapshot | None = None  # what the run changed, where that is known; not written


class PendingRequest(NamedTuple):
    request_id: str
    due_at: datetime | None


class CodeShown(NamedTuple):
    """How much a run has changed in its repository, and the request that shows it."""

    request_id: str
    files: int
    additions: int
    deletions: int


class NewRequest(Protocol):
    """A question that is ready to be put to people."""

    @property
    def request_id(self) -> str: ...

    def open(self) -> None:
        """Put it to them, when its run is written and parks."""


class Asker(Protocol):
    """Called inside the transaction that changes a run, and able to refuse."""

    def prepared(self, run: Run, unit: Unit, question: Question, asking: Asking) -> NewRequest:
        """Make a request and write nothing; this may be before the transaction."""

    def approve_by_policy(self, request_id: str) -> None:
        """Answer a request that the workflow allows to be approved without a person."""

    def ask_again(self, run: Run) -> None:
        """Tell people what a run asks that nobody here was told of yet."""

    def withdraw(self, run: Run, reason: str) -> None:
        """Cancel whatever the run still asks."""

    def run_moved(self, run: Run) -> None:
        """Hear that a run began, failed or came to rest for good."""

    def pull_opened(self, run: Run) -> None:
        """Hear that a run names a pull request it did not name before."""

    def decisions(self, run: Run) -> list[dict[str, object]]:
        """Every request of the run with its answer, oldest first, as plain values."""

    def code_shown(self, run: Run) -> CodeShown | None:
        """What the newest request with code changes shows of them."""

    def inquiries(self, run: Run) -> list[dict[str, object]]:
        """What reviewers ask the executor outside of a run, and nobody has replied to."""

    def answered_in(self, run: Run) -> Collection[tuple[str, Mapping[str, object] | None]]:
        """The session of each answer that an agent gave to a reviewer, and what it said it cost."""

    def approved_gates(self, run: Run) -> Collection[tuple[Gate, str, str]]:
        """The gates whose last decision was to go on, with phase and, if it is a step's, step."""

    def pending(self, runs: Sequence[Run]) -> dict[int, PendingRequest]:
        """What runs ask at present, by the runs' keys."""


@cache
def asker() -> Asker:
    return cast("Asker", import_module(settings.FABER_ASKER))
