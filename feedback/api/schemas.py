"""The shapes of requests and answers, as OpenAPI tells them."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from runs.api.schemas import REQUEST_ID, RUN_ID, Sent
from runs.domain.values.questions import Action, FeedbackType

Status = Literal["pending", "answered", "cancelled", "superseded"]


class OptionJson(BaseModel):
    value: str
    label: str
    action: Action
    description: str


class ArtifactJson(BaseModel):
    path: str
    revision: int
    sha256: str
    url: str


class ResponseJson(BaseModel):
    response: str
    action: Action
    comment: str
    items: list[dict[str, Any]]
    provided_by: dict[str, Any]
    received_at: str


class RequestJson(BaseModel):
    """Request JSON."""

    request_id: str
    run_id: str
    work_id: str | None
    type: FeedbackType
    status: Status
    prompt: str
    options: list[OptionJson]
    context: dict[str, Any]
    artifacts: list[ArtifactJson]
    resume_point: dict[str, Any]
    phase: str
    step: str
    requested_at: str
    notification_sent: dict[str, Any]
    seal: str
    url: str
    response: ResponseJson | None
    answers: list[ResponseJson]

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "request_id": REQUEST_ID,
                    "run_id": RUN_ID,
                    "work_id": "124",
                    "type": "approval",
                    "status": "pending",
                    "prompt": "Approve starting the Release phase?",
                    "options": [
                        {
                            "value": "approve",
                            "label": "Approve",
                            "action": "continue",
                            "description": "Start the Release phase",
                        }
                    ],
                    "context": {},
                    "artifacts": [],
                    "resume_point": {"phase": "release", "step": "merge", "step_index": 0},
                    "phase": "release",
                    "step": "merge",
                    "requested_at": "2026-11-16T09:04:10Z",
                    "notification_sent": {
                        "cli": False,
                        "issue_comment": False,
                        "comment_url": None,
                    },
                    "seal": "9f2c…",
                    "url": f"https://faber.example.org/requests/{REQUEST_ID}/",
                    "response": None,
                    "answers": [],
                }
            ]
        }
    )


class Requests(BaseModel):
    items: list[RequestJson]
    next_cursor: str | None


Number = Annotated[int, Field(strict=True, ge=1)]


class ItemSent(Sent):
    """A remark on a place of an artifact."""

    path: str
    line: Number | None = None
    end_line: Number | None = None
    revision: Number | None = None
    quote: str | None = None
    kind: Literal["must", "should", "question"] | None = None
    body: Annotated[str, Field(min_length=1)]


class GiveAnswer(Sent):
    response: str = Field(description="An option, its number or an alias; or the words asked for.")
    comment: str = ""
    items: list[ItemSent] = []
    seal: str = Field("", description="What you saw; refused as stale when it has changed.")

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"response": "approve", "comment": "Well done."}]},
    )
