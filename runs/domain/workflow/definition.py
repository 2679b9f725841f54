"""A workflow as its author wrote it: values only, checked when they are read."""

import re
import shlex
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, PlainValidator

from runs.domain.values.moments.durations import read_duration
from runs.domain.values.phases import Phase
from runs.domain.values.questions import Action, FeedbackType


def _duration(text: str) -> str:
    return str(read_duration(text))


def _quorum(value: object) -> object:
    """A number of people, or of each group: `{group:leads: 1}`."""
    counts = value.values() if isinstance(value, dict) else [value]
    if value == {}:
        raise ValueError("must not be empty")
    if not all(isinstance(count, int) and not isinstance(count, bool) for count in counts):
        raise ValueError("must be a whole number, or one for each group:NAME")
    if any(count < 1 for count in counts if isinstance(count, int)):
        raise ValueError("must be at least 1")
    for name in value if isinstance(value, dict) else ():
        if not str(name).startswith("group:"):
            raise ValueError(f"{name} is no group; write group:NAME")
    return value


Quorum = Annotated[int | dict[str, int], PlainValidator(_quorum)]
DurationText = Annotated[str, AfterValidator(_duration)]
Identifier = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]*$", max_length=100)]
LABEL = re.compile(r"[a-z0-9][a-z0-9_.-]{0,39}")  # of a machine, such as gpu
Label = Annotated[str, Field(pattern=f"^{LABEL.pattern}$")]
MAX_SECONDS = 31 * 24 * 3600  # more would overflow the clocks of some platforms


class Value(BaseModel):
    """A frozen value that refuses unknown keys and wrong types."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class AutonomyLevel(StrEnum):
    DRY_RUN = "dry-run"
    ASSIST = "assist"
    GUARDED = "guarded"
    AUTONOMOUS = "autonomous"


class CheckIn(StrEnum):
    PER_STEP = "per-step"
    PER_PHASE = "per-phase"
    END_ONLY = "end-only"


class Tolerance(StrEnum):
    NONE = "none"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class Limits(Value):
    max_total_warnings: Annotated[int, Field(ge=1, le=1000)] | None = None
    max_total_errors: Annotated[int, Field(ge=1, le=100)] | None = None
    on_limit_reached: Literal["stop", "truncate"] = "stop"


class Autonomy(Value):
    level: AutonomyLevel = AutonomyLevel.GUARDED
    pause_before_release: bool = False
    require_approval_for: tuple[str, ...] = ()
    allow_destructive_auto: bool = False
    check_in_frequency: CheckIn | None = None
    warning_tolerance: Tolerance | None = None
    error_tolerance: Tolerance | None = None
    limits: Limits | None = None


class ResultHandling(Value):
    """What follows a step's result; an absent key is inherited (step, phase, workflow, default)."""

    on_success: Literal["continue", "prompt"] | None = None
    on_warning: Literal["continue", "prompt", "stop"] | None = None
    on_failure: Literal["stop", "continue"] | None = None
    on_pending_input: Literal["wait"] | None = None


class StepOption(Value):
    """An option a step's author offers instead of its type's own."""

    value: Annotated[str, Field(min_length=1)]
    action: Action | None = None
    description: str = ""


class Escalation(Value):
    """Who is asked too when nobody has decided by then."""

    after: DurationText
    to: Annotated[tuple[str, ...], Field(min_length=1)]


class Agent(Value):
    """Who does agent steps: a kind that is known by name, a command of its own, or both."""

    kind: Literal["claude", "codex", "plain"] = "plain"
    command: tuple[str, ...] = ()


class Evidence(Value):
    """What must be there before a step counts as done; exactly one of these is given."""

    commit: Literal[True] | None = None  # a new commit on the run's branch
    artifact: str | None = None  # a file the step must have handed in or changed
    file: str | None = None  # a file that must exist in the workspace
    command: tuple[str, ...] | None = None  # must end with exit code 0


class Step(Value):
    id: Identifier
    name: str = ""
    description: str = ""
    run: str | tuple[str, ...] | None = None
    prompt: str | None = None
    command: str | None = None
    skill: str | None = None
    python: Annotated[str, Field(pattern=r"^[\w.]+:[\w.]+$")] | None = None
    remote: bool = False
    config: dict[str, JsonValue] = {}
    arguments: dict[str, JsonValue] = {}
    timeout: Annotated[int, Field(ge=1, le=MAX_SECONDS)] | None = None
    requires_approval: bool = False
    approval_type: FeedbackType | None = None
    confirm: bool = False
    artifact: str | None = None
    question: Annotated[str, Field(min_length=1, max_length=2000)] | None = None
    options: tuple[StepOption, ...] = ()
    max_rounds: Annotated[int, Field(ge=1)] | None = None  # of changes; None: as many as it takes
    result_handling: ResultHandling = ResultHandling()
    reviewers: tuple[str, ...] | None = None  # None: the project's; an empty list is refused
    quorum: Quorum = 1  # of people, or of each group
    due: DurationText | None = None  # when a decision should be there; each from the asking
    remind: DurationText | None = None  # again each time it has passed
    escalate: Escalation | None = None
    on_timeout: str | None = None  # the option that is taken when it is due
    allow_timeout_approval: bool | None = None  # that option may let the run go on
    on_crash: Literal["retry", "ask"] = "retry"
    agent: Agent | None = None
    evidence: tuple[Evidence, ...] = ()
    paths: tuple[str, ...] = ()  # globs of the files it is to touch; others are marked
    needs: tuple[Label, ...] = ()  # labels of the machine it is executed on

    @property
    def title(self) -> str:
        return self.name or self.id

    @property
    def quorum_groups(self) -> dict[str, int]:
        """How many of each group must agree; none where it is only a number."""
        return self.quorum if isinstance(self.quorum, dict) else {}

    @property
    def quorum_number(self) -> int:
        return self.quorum if isinstance(self.quorum, int) else sum(self.quorum.values())

    @property
    def argv(self) -> tuple[str, ...]:
        """The words of its command; raises ValueError when its quotes do not match."""
        return tuple(shlex.split(self.run)) if isinstance(self.run, str) else self.run or ()

    @property
    def commands(self) -> tuple[tuple[str, ...], ...]:
        """Everything that is started for it, but for agents."""
        return (self.argv, *(piece.command for piece in self.evidence if piece.command))

    @property
    def is_for_agent(self) -> bool:
        return bool(self.prompt or self.command or self.skill)


class HookType(StrEnum):
    DOCUMENT = "document"
    SCRIPT = "script"
    SKILL = "skill"
    PROMPT = "prompt"


class Hook(Value):
    """Something older files run at a phase's boundary; it is no step of the plan."""

    type: HookType
    name: str
    description: str = ""
    path: str | None = None
    skill: str | None = None
    prompt: str | None = None
    config: dict[str, JsonValue] = {}
    parameters: dict[str, JsonValue] = {}
    timeout: Annotated[int, Field(ge=1, le=3600)] | None = None
    on_failure: Literal["stop", "continue"] = "stop"
    result_handling: ResultHandling = ResultHandling()


class WorkflowPhase(Value):
    """One phase of one file; None means the file does not say, so an ancestor may."""

    enabled: bool | None = None
    description: str = ""
    pre_steps: tuple[Step, ...] = ()
    steps: tuple[Step, ...] | None = None
    post_steps: tuple[Step, ...] = ()
    max_retries: Annotated[int, Field(ge=0, le=10)] | None = None
    require_approval: bool | None = None
    result_handling: ResultHandling = ResultHandling()


class Workflow(Value):
    id: Identifier
    description: str = ""
    extends: str | None = None
    skip_steps: tuple[str, ...] = ()
    phases: dict[Phase, WorkflowPhase] = {}
    hooks: dict[str, tuple[Hook, ...]] = {}
    autonomy: Autonomy | None = None
    result_handling: ResultHandling = ResultHandling()
    agent: Agent | None = None  # for the steps that name none
    worktree: bool | None = None  # each run in a git worktree of its own
    paths: tuple[str, ...] = ()  # globs of the files that its steps are to touch
    # For the steps that say nothing themselves.
    due: DurationText | None = None
    remind: DurationText | None = None
    escalate: Escalation | None = None
    on_timeout: str | None = None
    allow_timeout_approval: bool | None = None
