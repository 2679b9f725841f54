"""What an executor is given, and what it hands back."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol

from runs.domain.responses.results import Result, failure
from runs.domain.values.numbers import seconds_of
from runs.domain.values.secrets.redaction import SECRET_VARIABLES, redact
from runs.domain.workflow.definition import Step
from runs.domain.workflow.evidence import Checked
from runs.isolation.sheltering import Isolation

# Why a step was ended from outside, and what people are told about it.
ENDINGS = {
    "timeout": "The step timed out after {timeout}.",
    "stopped": "The step was stopped before it finished.",
    "lost": "The step and its child processes were killed.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """One step to execute; its placeholders are filled."""

    step: Step
    key: str  # "phase:step"
    briefing: dict[str, object]
    workspace: Path
    environment: Mapping[str, str]
    timeout: float
    session: str = ""  # in which an agent executed this step before, and may go on
    # What was counted for each session of the run: some agents tell what a session cost in all.
    counted: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    kept: tuple[Path, ...] = ()  # folders besides the workspace that it needs to see
    reads_only: bool = False  # where steps are isolated it cannot write to these folders either


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    result: Result
    stdout: str = ""
    stderr: str = ""
    exit_code: int | None = None  # None when nothing was started or nobody saw it end
    ended: str = ""  # one of ENDINGS, when it did not end by itself
    session: str = ""  # in which an agent can be asked on
    usage: Mapping[str, object] | None = None  # what an agent says it cost
    divergences: tuple[str, ...] = ()  # what it claimed beyond its step
    evidence: tuple[Checked, ...] = ()  # what was looked for besides its word
    said: Result | None = None  # its own word, where the evidence told otherwise


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What this site lets steps do."""

    agent_command: tuple[str, ...] = ()
    project_agent: str = ""  # goes before the site's; a workflow's goes before both
    python_prefixes: tuple[str, ...] = ()
    secrets: tuple[str, ...] = SECRET_VARIABLES
    isolation: Isolation = field(default_factory=Isolation)
    conceal: Callable[[str], str] = redact  # what a line goes through before it is shown


class Hold(NamedTuple):
    """How long a step may go on without another word from whoever has it."""

    until: float  # on the monotonic clock
    patience: float  # so long it stands still after that if it can, and then is ended


class Watcher(Protocol):
    """Whoever looks on while a step runs."""

    def line(self, stream: str, text: str) -> None:
        """A line was printed to "stdout" or "stderr"; long ones are cut, floods thinned out."""

    def should_stop(self) -> bool:
        """Asked at least every half second; true ends the step at once."""

    def hold(self) -> Hold | None:
        """Asked as often; none means that nobody else could have the step."""


def ended_early(ended: str, order: Order) -> Result:
    return failure(ENDINGS[ended].format(timeout=seconds_of(order.timeout)))
