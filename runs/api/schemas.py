"""The shapes that programs send and get, as OpenAPI tells them."""

from base64 import b64decode
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    JsonValue,
    StrictInt,
    WithJsonSchema,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from runs.domain.values.errors import Invalid, Problem
from runs.domain.values.questions import FeedbackType
from runs.domain.values.status import RunStatus
from runs.domain.workflow.definition import MAX_SECONDS, AutonomyLevel, Budget
from runs.record.endings import RunOutcome

RUN_ID = "acme/app/0b8f3a52-5f0c-4a3e-9a44-2f1c8f0b6f11"
REQUEST_ID = "fr-20261116-a1b2c3"


class Sent(BaseModel):
    """What a program sends; a key nobody knows is refused, as it is most often a typing error."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _null_is_nothing(cls, sent: Any) -> Any:
        """What may be left out may be null, as in what programs get from here."""
        if not isinstance(sent, dict):
            return sent
        fields = cls.model_fields.items()
        optional = {each.alias or name for name, each in fields if not each.is_required()}
        return {
            key: value for key, value in sent.items() if value is not None or key not in optional
        }

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        told = handler(core_schema)
        shape = handler.resolve_ref_schema(told)
        for name, field in shape.get("properties", {}).items():
            if name not in shape.get("required", ()):
                shape["properties"][name] = _nullable(field)
        return told


_ABOUT = ("title", "description", "default")


def _nullable(field: JsonSchemaValue) -> JsonSchemaValue:
    null = {"type": "null"}
    kinds = field.get("anyOf")
    if kinds is not None:
        return field if null in kinds else {**field, "anyOf": [*kinds, null]}
    about: JsonSchemaValue = {key: field[key] for key in _ABOUT if key in field}
    kind = {key: value for key, value in field.items() if key not in about}
    return {"anyOf": [kind, null], **about}


class ProblemJson(BaseModel):
    place: str
    message: str


class ErrorDetails(BaseModel):
    model_config = ConfigDict(extra="allow")

    options: list[str] | None = None
    problems: list[ProblemJson] | None = None


class ErrorBody(BaseModel):
    code: str
    message: str
    details: dict[str, Any]


class Error(BaseModel):
    """What every refusal looks like."""

    error: ErrorBody

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "error": {
                        "code": "invalid_response",
                        "message": "'maybe' is not one of the options: approve, reject.",
                        "details": {"options": ["approve", "reject"]},
                    }
                }
            ]
        }
    )


Shapes = dict[int, Any]


def answers(shapes: Shapes, *refusals: int) -> Shapes:
    """Every status a call may answer with; without a good token none is answered otherwise."""
    return {**shapes, **dict.fromkeys((401, 403, 413, 422, 429, 500, *refusals), Error)}


class ProgressJson(BaseModel):
    done: int
    total: int


class LateResult(BaseModel):
    """What an attempt handed back when its step was somebody else's, or nobody's."""

    phase: str
    step: str
    attempt: int
    reason: str = Field(description="Why the lease was lost.")
    response: dict[str, Any]


class RunJson(BaseModel):
    """Run JSON."""

    run_id: str
    title: str = Field(
        description="The issue's title, else the target, else the first heading of an artifact, "
        "else the workflow's name."
    )
    work_id: str | None
    project: str
    workflow_id: str
    status: RunStatus
    current_phase: str | None
    current_step: str | None
    resume_point: dict[str, Any] | None
    progress: ProgressJson
    artifacts: dict[str, Any]
    batch_id: str | None
    started_by: str
    started_by_token: str | None = None
    created_at: str
    updated_at: str
    completed_at: str | None
    error: str | None
    outcome: RunOutcome | None = Field(
        None, description="How the run ended: `rejected` by an answer or `cancelled` by a person."
    )
    ended_by: str | None = Field(None, description="Who rejected or cancelled the run.")
    late_results: list[LateResult] | None = Field(
        None,
        description="What steps handed back after their lease was lost, which changed nothing; "
        "null in a list of runs.",
    )
    cost_usd: float | None = Field(
        None, description="What its agents say they cost so far; null when none told it."
    )
    input_tokens: int | None = None
    output_tokens: int | None = None
    budget: Budget | None = Field(
        None, description="What its agents may cost before the run asks, with what was raised."
    )
    pending_request: str | None
    due_at: str | None = Field(None, description="When the pending request should be decided.")
    rerun_of: str | None = Field(None, description="The run that this one repeats.")
    rerun_from: str | None = Field(
        None,
        description="The step it began at; everything before was taken over from that run.",
    )
    url: str

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "run_id": RUN_ID,
                    "title": "Export invoices as CSV",
                    "work_id": "124",
                    "project": "Acme/App",
                    "workflow_id": "default",
                    "status": "awaiting_feedback",
                    "current_phase": "architect",
                    "current_step": "write-spec",
                    "resume_point": {"phase": "architect", "step": "write-spec", "step_index": 0},
                    "progress": {"done": 3, "total": 11},
                    "artifacts": {"spec_path": "specs/124.md"},
                    "batch_id": None,
                    "started_by": "rita",
                    "started_by_token": None,
                    "created_at": "2026-11-16T09:00:00Z",
                    "updated_at": "2026-11-16T09:04:10Z",
                    "completed_at": None,
                    "error": None,
                    "outcome": None,
                    "ended_by": None,
                    "late_results": [],
                    "cost_usd": 1.27,
                    "input_tokens": 412_000,
                    "output_tokens": 9_300,
                    "budget": {"usd": 5, "tokens": None},
                    "pending_request": REQUEST_ID,
                    "due_at": None,
                    "url": f"https://faber.example.org/runs/{RUN_ID}/",
                }
            ]
        }
    )


class StartedRunJson(RunJson):
    """Run JSON, for the program that started it."""

    warnings: list[str] = Field(
        [], description="Possible problems, such as an agent that is not installed."
    )


class Runs(BaseModel):
    items: list[RunJson]
    next_cursor: str | None


class Events(BaseModel):
    items: list[dict[str, Any]]
    next_cursor: str | None


class AddEvent(Sent):
    type: str = Field(description="Event type: commit_create, test_run, checkpoint…")
    message: str = Field(description="What happened, in one sentence.")
    metadata: dict[str, JsonValue] = {}

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "type": "test_run",
                    "message": "42 of 47 tests passed",
                    "metadata": {"passed_count": 42, "failed_count": 5},
                }
            ]
        },
    )


class DivergenceJson(BaseModel):
    event_id: int
    step: str
    attempt: int
    message: str
    claims: list[str]


class VerdictJson(BaseModel):
    conforms: bool
    matched: list[str]
    missing: list[str]
    extra: list[str]
    reordered: list[str]
    fabricated: list[str]
    divergences: list[DivergenceJson] = Field(
        description="Claims beyond a step that were refused; the run stayed on its plan."
    )


WorkId = str | StrictInt


# Judged with the workflow, so that a start is told all that is wrong with it.
AutonomyName = Annotated[
    str, WithJsonSchema({"type": "string", "enum": [level.value for level in AutonomyLevel]})
]


class StartRun(Sent):
    workflow: str | dict[str, JsonValue] = Field(
        description="A workflow's id, or with an operator's token a whole definition."
    )
    work_id: WorkId = ""
    project: str = Field("", description="ORG/NAME; its registered workspace is used.")
    workspace: str = Field("", description="A folder on the server, by its full path.")
    target: Annotated[str, Field(max_length=500)] = ""
    autonomy: AutonomyName | None = None
    phases: list[str] = []
    inputs: dict[str, str | int | float | bool] = {}
    prompt: str = ""
    budget: Budget | None = Field(
        None, description="In place of the workflow's; more than that needs an operator's token."
    )

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"workflow": "default", "work_id": "124"}]},
    )


class CancelRun(Sent):
    reason: Annotated[str, Field(min_length=1, max_length=500, pattern=r"\S")]


class RerunRun(Sent):
    autonomy: AutonomyLevel | None = None
    phases: list[str] = []
    from_step: str = Field(
        "",
        alias="from",
        description="A step as `phase:step`: the new run begins there and takes over what was "
        "done before it.",
    )


Seconds = Annotated[int, Field(strict=True, ge=1, le=MAX_SECONDS)]


class NextStep(Sent):
    lease_seconds: Seconds | None = Field(
        None, description="How long the lease lasts; default: the step's timeout."
    )


class FileSent(Sent):
    path: Annotated[str, Field(min_length=1, max_length=500)]
    content: str
    encoding: Literal["base64"] | None = Field(None, description="For binary content.")

    @property
    def data(self) -> bytes:
        if self.encoding is None:
            return self.content.encode()
        try:
            return b64decode(self.content, validate=True)
        except ValueError as error:
            raise Invalid([Problem("files", f"{self.path!r} is not base64")]) from error


class FinishStep(Sent):
    lease: str
    response: dict[str, JsonValue] = Field(description="The skill response.")
    files: list[FileSent] = Field([], description="Files of the step, kept as revisions.")
    artifacts: list[FileSent] = Field([], description="Deprecated alias of `response`.")

    @property
    def sent(self) -> list[tuple[str, bytes]]:
        return [(file.path, file.data) for file in (*self.files, *self.artifacts)]

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "lease": "laptop/600/Yk2-0vGr",
                    "response": {"status": "success", "message": "All tests pass."},
                }
            ]
        },
    )


class KeepStep(Sent):
    lease: str


class NextDecision(BaseModel):
    """What an outside executor is to do next."""

    action: Literal["execute", "wait", "done"]
    request_id: str | None = Field(None, description="With `wait`: the open request, if any.")
    questions: list[dict[str, Any]] | None = Field(
        None, description="With `wait`: what reviewers ask you, as in a request's `thread`."
    )
    status: RunStatus | None = Field(None, description="With `done`: how the run ended.")
    lease: str | None = None
    lease_until: str | None = None
    phase: str | None = None
    step: str | None = None
    definition: dict[str, Any] | None = Field(None, description="The step as its author wrote it.")
    briefing: dict[str, Any] | None = None


OptionName = Annotated[str, Field(min_length=1, max_length=100, pattern=r"\S")]


class OptionSent(Sent):
    value: OptionName
    action: Literal["continue", "revise", "retry", "skip", "abort", "answer"] | None = None
    description: Annotated[str, Field(max_length=500)] = ""


class AskPeople(Sent):
    type: FeedbackType
    prompt: Annotated[str, Field(min_length=1, max_length=20_000, pattern=r"\S")]
    options: list[OptionSent | OptionName] = []
    context: dict[str, JsonValue] = {}
    artifact: FileSent | None = None
    callback_url: Annotated[str, Field(max_length=2000)] = Field(
        "", description="URL that receives the signed request once it is answered or withdrawn."
    )


class AskInRun(AskPeople):
    lease: str = Field("", description="Your lease if you hold the step; asking ends it.")


class AskAlone(AskPeople):
    project: str = ""
    work_id: WorkId = ""
