"""The documents of a run directory as values: what they must say, and what may be missing."""

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, TypeVar

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    ValidationError,
)

from runs.domain.values.errors import Problem
from runs.domain.values.events import EventType
from runs.domain.values.ids import is_run_id
from runs.domain.values.phases import Phase
from runs.domain.values.questions import Action, FeedbackType
from runs.domain.values.status import RunStatus
from runs.domain.workflow.definition import AutonomyLevel
from runs.domain.workflow.plan import Plan
from runs.domain.workflow.problems import problems_of

T = TypeVar("T", bound=BaseModel)
Json = dict[str, JsonValue]

# A type becomes part of a file's name when the run is exported again.
_TYPE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,59}")
_SLUG = re.compile(r"[A-Za-z0-9_-]+")  # what an address can hold


def _of_our_age(at: datetime) -> datetime:
    """Years that any time zone and any database can still tell."""
    if not 1970 <= at.year <= 9000:
        raise ValueError("is not a plausible time")
    return at


def _speakable(name: str) -> str:
    if not _SLUG.fullmatch(name):
        raise ValueError("is not a valid request id: use letters, digits, - and _")
    return name


Time = Annotated[AwareDatetime, AfterValidator(_of_our_age)]
Count = Annotated[int, Field(ge=0, le=2**31 - 1)]
RequestId = Annotated[str, Field(min_length=1, max_length=40), AfterValidator(_speakable)]


class ForeignDocument(BaseModel):
    """A value others wrote: unknown fields are theirs, known ones must be right."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)


class ResumePoint(ForeignDocument):
    phase: Phase
    step: Annotated[str, Field(max_length=150)]
    step_index: Count | None = None


class RequestDocument(ForeignDocument):
    request_id: RequestId
    type: FeedbackType
    prompt: str
    options: tuple[str, ...] = ()
    context: Json = {}
    requested_at: Time
    notification_sent: Json = {}
    resume_point: ResumePoint | None = None


class Answered(ForeignDocument):
    request_id: RequestId
    request_type: FeedbackType
    response: str
    action: Action | None = None
    comment: str | None = None
    provided_by: Json
    received_at: Time


class StepFound(ForeignDocument):
    id: str = ""
    name: str = ""


class PhaseFound(ForeignDocument):
    status: str = ""
    steps: tuple[StepFound, ...] = ()
    retry_count: Count = 0


class StateDocument(ForeignDocument):
    run_id: str
    status: RunStatus
    current_phase: Phase | None = None
    current_step: Annotated[str, Field(max_length=150)] | None = None
    last_event_id: Count | None = None
    updated_at: Time | None = None
    completed_at: Time | None = None
    cancelled_at: Time | None = None
    phases: dict[Phase, PhaseFound] = {}
    artifacts: Json = {}
    feedback_request: RequestDocument | None = None
    resume_point: ResumePoint | None = None
    feedback_history: tuple[Answered, ...] = ()
    cancellation_reason: str | None = None

    @property
    def point(self) -> ResumePoint | None:
        """The step the run stands at, wherever the document says so."""
        asked = self.feedback_request
        told = (asked and asked.resume_point) or self.resume_point
        if told is None and self.current_phase and self.current_step:
            return ResumePoint(phase=self.current_phase, step=self.current_step)
        return told


class Relationships(ForeignDocument):
    rerun_of: str | None = None


class Metadata(ForeignDocument):
    run_id: str
    work_id: Annotated[str, Field(max_length=50)] | None = None
    target: Annotated[str, Field(max_length=500)] | None = None
    workflow_id: Annotated[str, Field(max_length=100)] = "default"
    autonomy: AutonomyLevel = AutonomyLevel.GUARDED
    phases: tuple[Phase, ...] = tuple(Phase)
    created_at: Time
    created_by: Annotated[str, Field(max_length=200)] = "unknown"
    relationships: Relationships = Relationships()
    environment: Json = {}
    project: Annotated[str, Field(max_length=200)] | None = None
    workspace: Annotated[str, Field(max_length=1000)] | None = None
    additional_instructions: str | None = None
    inputs: dict[str, str] = {}
    plan_hash: str | None = None
    plan: Plan | None = None


class EventFound(ForeignDocument):
    event_id: Annotated[int, Field(ge=1, le=2**31 - 1)]
    type: str
    timestamp: Time
    run_id: str
    phase: Annotated[str, Field(max_length=20)] | None = None
    step: Annotated[str, Field(max_length=150)] | None = None
    message: str = ""
    metadata: Json = {}

    @property
    def key(self) -> str:
        return f"{self.phase}:{self.step}"

    @property
    def request_id(self) -> str:
        return str(self.metadata.get("request_id") or "")


def read(kind: type[T], text: str) -> tuple[T | None, list[Problem]]:
    """A document as a value, or everything that is wrong with it."""
    try:
        value = kind.model_validate_json(text)
    except ValidationError as error:
        return None, problems_of(error)
    problems = list(_own_rules(value))
    return (None if problems else value), problems


def _own_rules(value: BaseModel) -> list[Problem]:
    if isinstance(value, EventFound) and not _TYPE.fullmatch(value.type):
        return [Problem("type", "is not a valid event type: use letters, digits and _")]
    if isinstance(value, StateDocument | Metadata) and not is_run_id(value.run_id):
        return [Problem("run_id", f"{value.run_id!r} is not a run id; it is ORG/NAME/UUID")]
    return []


def of_type(events: Sequence[EventFound], kind: EventType) -> list[EventFound]:
    return [event for event in events if event.type == kind]


def entered_phase(events: Sequence[EventFound]) -> str:
    """The phase whose start is on record; none when a round of the loop has just begun."""
    entered = ""
    for event in events:
        if event.type == EventType.PHASE_START:
            entered = event.phase or ""
        elif event.type == EventType.RETRY_LOOP_ENTER:
            entered = ""
    return entered if entered in list(Phase) else ""
