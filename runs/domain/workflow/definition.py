"""A workflow as its author wrote it: values only, checked when they are read."""

import re
import shlex
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    PlainValidator,
    WithJsonSchema,
)

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


_COUNT = {"type": "integer", "minimum": 1}
_COUNTS = {"anyOf": [_COUNT, {"type": "object", "additionalProperties": _COUNT}]}
Quorum = Annotated[int | dict[str, int], PlainValidator(_quorum), WithJsonSchema(_COUNTS)]
DurationText = Annotated[str, AfterValidator(_duration)]
Identifier = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]*$", max_length=100)]
LABEL = re.compile(r"[a-z0-9][a-z0-9_.-]{0,39}")  # of a machine, such as gpu
Label = Annotated[str, Field(pattern=f"^{LABEL.pattern}$")]
MAX_SECONDS = 31 * 24 * 3600  # more would overflow the clocks of some platforms


class Value(BaseModel):
    """A frozen value that refuses unknown keys and wrong types."""

    # Validators are built when the first is needed: most commands read no workflow.
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)


def build_validators() -> None:
    """Build all of them now, for whoever forks: each child would build them again."""
    for kind in Value.__subclasses__():
        kind.model_rebuild()


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
    """The warning that reaches this number asks, unless `on_limit_reached` is `truncate`."""
    max_total_errors: Annotated[int, Field(ge=1, le=100)] | None = None
    """Accepted, without effect: every failure stops."""
    on_limit_reached: Literal["stop", "truncate"] = "stop"
    """What happens at `max_total_warnings`."""


class Autonomy(Value):
    level: AutonomyLevel = AutonomyLevel.GUARDED
    """How much the run does by itself."""
    pause_before_release: bool = False
    """Asks before `release`."""
    require_approval_for: tuple[str, ...] = ()
    """Phases, step ids or `phase:step` that need an approval before they start."""
    allow_destructive_auto: bool = False
    """`autonomous` runs approve their own gates, on record as `policy`."""
    check_in_frequency: CheckIn | None = None
    """How often the run reports progress; without it, never."""
    warning_tolerance: Tolerance | None = None
    """A graver warning asks, like `on_warning: stop`."""
    error_tolerance: Tolerance | None = None
    """Accepted, without effect: every failure stops."""
    limits: Limits | None = None
    """Numbers that end the tolerance."""


class ResultHandling(Value):
    """What follows a step's result; an absent key is inherited (step, phase, workflow, default)."""

    on_success: Literal["continue", "prompt"] | None = None
    """`prompt` asks for approval."""
    on_warning: Literal["continue", "prompt", "stop"] | None = None
    """`prompt` and `stop` ask: continue, fix or stop."""
    on_failure: Literal["stop", "continue"] | None = None
    """Steps always stop; `continue` is for hooks."""
    on_pending_input: Literal["wait"] | None = None
    """The run waits for the answer."""


class StepOption(Value):
    """An option a step's author offers instead of its type's own."""

    value: Annotated[str, Field(min_length=1)]
    """The name people choose."""
    action: Action | None = None
    """What the answer does to the run; known names such as `approve` have their own."""
    description: str = ""
    """Shown beside the option."""


class Escalation(Value):
    """Who is asked too when nobody has decided by then."""

    after: DurationText
    """Counted from the request."""
    to: Annotated[tuple[str, ...], Field(min_length=1)]
    """Accounts and `group:NAME` that are then asked as well."""


class Agent(Value):
    """Who does agent steps: a kind that is known by name, a command of its own, or both."""

    kind: Literal["claude", "codex", "plain"] = "plain"
    """How FABER talks to the program."""
    command: tuple[str, ...] = ()
    """The program and its arguments; default: the command that the site has for this kind."""


class Budget(Value):
    """What agents may use up before people are asked; one of these at least is given."""

    usd: Annotated[float, Field(ge=0.01, le=1_000_000)] | None = None
    """Dollars that agents may cost before the run asks."""
    tokens: Annotated[int, Field(ge=1, le=10**12)] | None = None
    """Tokens that agents may use before the run asks."""

    @property
    def is_empty(self) -> bool:
        return self.usd is None and self.tokens is None


class Evidence(Value):
    """What must be there before a step counts as done; exactly one of these is given."""

    commit: Literal[True] | None = None
    """A new commit on the run's branch."""
    artifact: str | None = None
    """A file that the step must have handed in or changed."""
    file: str | None = None
    """A file that must exist in the workspace."""
    command: tuple[str, ...] | None = None
    """A command that must exit with 0."""


class Step(Value):
    id: Identifier
    """Unique in the whole chain of workflows."""
    name: str = ""
    """Shown instead of the id."""
    description: str = ""
    """Shown with the step."""
    run: str | tuple[str, ...] | None = None
    """A command in the workspace: a list, or a string that is split into words. No shell runs."""
    prompt: str | None = None
    """Instructions for the agent."""
    command: str | None = None
    """A slash command for the agent."""
    skill: str | None = None
    """A skill for the agent."""
    python: Annotated[str, Field(pattern=r"^[\w.]+:[\w.]+$")] | None = None
    """`module:function`, called in the worker; only modules that `FABER_PYTHON_STEPS` names."""
    remote: bool = False
    """An outside executor fetches and finishes the step over the API."""
    config: dict[str, JsonValue] = {}
    """Values for the skill."""
    arguments: dict[str, JsonValue] = {}
    """Values for the step, with placeholders."""
    timeout: Annotated[int, Field(ge=1, le=MAX_SECONDS)] | None = None
    """Seconds; default `FABER_STEP_TIMEOUT`."""
    requires_approval: bool = False
    """Asks after the step, with what it made."""
    approval_type: FeedbackType | None = None
    """The type of that request; default `approval`."""
    confirm: bool = False
    """Asks before the step, with what it is about to do."""
    artifact: str | None = None
    """A file that the step creates; each change of its content is kept as a revision."""
    question: Annotated[str, Field(min_length=1, max_length=2000)] | None = None
    """The text of the request, with placeholders."""
    options: tuple[StepOption, ...] = ()
    """Options instead of those of the type."""
    max_rounds: Annotated[int, Field(ge=1)] | None = None
    """How often reviewers may request changes; default: no limit."""
    result_handling: ResultHandling = ResultHandling()
    """What follows a result of this step."""
    reviewers: tuple[str, ...] | None = None
    """Accounts and `group:NAME` that may answer; default: those of the project."""
    quorum: Quorum = 1
    """How many approvals are needed, in total or from each group: `{group:leads: 1}`."""
    due: DurationText | None = None
    """How long people may take, from the request."""
    remind: DurationText | None = None
    """How often people are reminded until then."""
    escalate: Escalation | None = None
    """Who is asked as well after a while."""
    on_timeout: str | None = None
    """The option that is taken when the time is up."""
    allow_timeout_approval: bool | None = None
    """That option may be one that lets the run continue."""
    on_crash: Literal["retry", "ask"] = "retry"
    """When its worker dies: run it again, twice at most, or ask."""
    agent: Agent | None = None
    """Who does this step, instead of the workflow's agent."""
    evidence: tuple[Evidence, ...] = ()
    """What must be there before the step counts as done."""
    paths: tuple[str, ...] = ()
    """Globs of the files it is to touch; changes elsewhere are marked in the review."""
    needs: tuple[Label, ...] = ()
    """Labels that the executing machine must have, such as `gpu`."""
    budget: Budget | None = None
    """What its agent may cost in one run, over all attempts."""

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
    """What is executed."""
    name: str
    """Shown in the history."""
    description: str = ""
    """For people."""
    path: str | None = None
    """The document or script."""
    skill: str | None = None
    """Of a `skill` hook."""
    prompt: str | None = None
    """Of a `prompt` hook."""
    config: dict[str, JsonValue] = {}
    """Values for it."""
    parameters: dict[str, JsonValue] = {}
    """Values for it."""
    timeout: Annotated[int, Field(ge=1, le=3600)] | None = None
    """Seconds."""
    on_failure: Literal["stop", "continue"] = "stop"
    """Whether the run continues without it."""
    result_handling: ResultHandling = ResultHandling()
    """What follows its result."""


class WorkflowPhase(Value):
    """One phase of one file; None means the file does not say, so an ancestor may."""

    enabled: bool | None = None
    """`false` skips the phase."""
    description: str = ""
    """Shown, also where its approval is asked."""
    pre_steps: tuple[Step, ...] = ()
    """Executed first; of a chain, from the root down."""
    steps: tuple[Step, ...] | None = None
    """The nearest file of a chain that has them counts; `[]` hides those of an ancestor."""
    post_steps: tuple[Step, ...] = ()
    """Executed last; of a chain, back up to the root."""
    max_retries: Annotated[int, Field(ge=0, le=10)] | None = None
    """Of `evaluate`: how often a failure there sends the run back to `build`."""
    require_approval: bool | None = None
    """Asks before the phase."""
    result_handling: ResultHandling = ResultHandling()
    """What follows a result of its steps."""


class Workflow(Value):
    id: Identifier
    """Lower-case letters, digits, `-` and `_`; begins with a letter."""
    description: str = ""
    """For people."""
    extends: str | None = None
    """The id of another workflow that this one builds on."""
    skip_steps: tuple[str, ...] = ()
    """Ids of inherited steps to skip."""
    phases: dict[Phase, WorkflowPhase] = {}
    """By name: `frame`, `architect`, `build`, `evaluate`, `release`."""
    hooks: dict[str, tuple[Hook, ...]] = {}
    """By boundary (`pre_build`, `post_build`); for older files."""
    autonomy: Autonomy | None = None
    """How much is asked."""
    result_handling: ResultHandling = ResultHandling()
    """What follows a result of any step."""
    agent: Agent | None = None
    """Who does the steps that name no agent."""
    worktree: bool | None = None
    """Each run gets its own git worktree; default: the project's setting."""
    paths: tuple[str, ...] = ()
    """Globs of the files that its steps are to touch."""
    budget: Budget | None = None
    """What the agents of one run may cost."""
    # For the steps that say nothing themselves.
    due: DurationText | None = None
    """For steps that say nothing themselves."""
    remind: DurationText | None = None
    """For steps that say nothing themselves."""
    escalate: Escalation | None = None
    """For steps that say nothing themselves."""
    on_timeout: str | None = None
    """For steps that say nothing themselves."""
    allow_timeout_approval: bool | None = None
    """For steps that say nothing themselves."""
