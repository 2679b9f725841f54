"""The shapes of requests and answers, as OpenAPI tells them."""

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator
from typing_extensions import TypedDict

from runs.api.schemas import REQUEST_ID, RUN_ID, Sent
from runs.changes.values import FileStatus, Since
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


class ChangesCounted(BaseModel):
    """How much the run had changed in its repository when it asked."""

    base: str = Field(description="The commit the run started at.")
    head: str = Field(
        description="The snapshot commit; a separate one if there are uncommitted changes."
    )
    files: int
    additions: int
    deletions: int
    commits: int


class ChangedFileJson(BaseModel):
    path: str
    old_path: str | None
    status: FileStatus
    additions: int
    deletions: int
    binary: bool
    truncated: bool
    patch: str | None = Field(description="A patch for `git apply`; null when binary or too large.")


class CommitJson(BaseModel):
    sha: str
    subject: str
    author: str
    at: str


class ChangesJson(BaseModel):
    """What a run had changed when it asked."""

    request_id: str
    base: str
    head: str
    since: Since
    files: list[ChangedFileJson]
    commits: list[CommitJson]
    truncated: bool = Field(description="Whether files or patches were omitted.")


class OverrideJson(BaseModel):
    reason: str
    rule: str = Field(description="What was set aside: reviewers, quorum, or none.")


class ResponseJson(BaseModel):
    response: str
    action: Action
    comment: str
    items: list[dict[str, Any]]
    values: dict[str, Any] = Field(description="Answers to typed questions, by their ids.")
    provided_by: dict[str, Any]
    received_at: str
    imported: bool
    timed_out: bool = Field(description="Nobody decided in time; the workflow says this for that.")
    override: OverrideJson | None = Field(description="Where an operator decided for others.")


# A name that no attribute can have; with another one in its place, some answers would show that.
DelegationJson = TypedDict("DelegationJson", {"from": str, "to": str, "at": str, "comment": str})


class ThreadEntryJson(BaseModel):
    """A question that a reviewer asked the agent, and its reply."""

    number: int = Field(description="Among those of the request, from 1.")
    question: str
    asked_by: dict[str, Any]
    asked_at: str
    status: Literal["pending", "answered", "failed", "closed"] = Field(
        description="`closed`: the request was decided or withdrawn before there was a reply."
    )
    agent: str | None
    answer: str | None = Field(description="Markdown, as the agent wrote it.")
    problem: str | None = Field(description="Why there is no answer.")
    answered_at: str | None
    cost_usd: float | None


class RequestJson(BaseModel):
    """Request JSON."""

    request_id: str
    run_id: str
    title: str = Field(description="The run's title; of a clarification or selection the question.")
    work_id: str | None
    type: FeedbackType
    status: Status
    round: int = Field(description="The round of this request, from 1.")
    agent: str | None = Field(
        description="The agent of the step: `claude`, `codex` or its program."
    )
    cost_usd: float | None = Field(
        description="Cost reported by the agent, over all attempts of the step."
    )
    asked_again: bool = Field(description="A person refused the very same in this run before.")
    assignee: str | None = Field(description="Who is to look at it first.")
    quorum: int | dict[str, int] = Field(description="How many must agree, or of each group.")
    still_needed: str | None = Field(description="Who must still agree, in words.")
    delegated: list[DelegationJson] = Field(description="Who handed it over to whom.")
    due_at: str | None = Field(description="When a decision should be there.")
    on_timeout: str | None = Field(description="The option that is taken then, if nobody decides.")
    escalated_to: list[str] = Field(description="Who is asked too, since nobody had decided.")
    prompt: str
    options: list[OptionJson]
    context: dict[str, Any]
    artifacts: list[ArtifactJson]
    changes: ChangesCounted | None = None
    resume_point: dict[str, Any]
    phase: str
    step: str
    requested_at: str
    notification_sent: dict[str, Any]
    seal: str
    url: str
    response: ResponseJson | None
    answers: list[ResponseJson]
    thread: list[ThreadEntryJson] = Field(
        description="What reviewers asked the agent before deciding, and its replies."
    )

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "request_id": REQUEST_ID,
                    "run_id": RUN_ID,
                    "title": "Export invoices as CSV",
                    "work_id": "124",
                    "type": "approval",
                    "status": "pending",
                    "round": 1,
                    "agent": "claude",
                    "cost_usd": 0.42,
                    "asked_again": False,
                    "assignee": None,
                    "delegated": [],
                    "quorum": 1,
                    "still_needed": None,
                    "due_at": "2026-11-16T13:04:10Z",
                    "on_timeout": "reject",
                    "escalated_to": [],
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
                    "changes": {
                        "base": "4f0c1a9…",
                        "head": "b31d7e2…",
                        "files": 3,
                        "additions": 41,
                        "deletions": 7,
                        "commits": 1,
                    },
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
                    "thread": [],
                }
            ]
        }
    )


class AskedJson(RequestJson):
    """Request JSON, for the program that asked."""

    # Only with a callback_url, and only here: what its calls are signed with.
    callback_secret: str | None = None


class Requests(BaseModel):
    items: list[RequestJson]
    next_cursor: str | None


Number = Annotated[int, Field(strict=True, ge=1)]


class ItemSent(Sent):
    """A comment on lines of an artifact or of the code changes."""

    path: str
    line: Number | None = None
    end_line: Number | None = None
    revision: Number | None = None
    side: Literal["old", "new"] | None = Field(None, description="Of the code changes.")
    quote: str | None = None
    kind: Literal["must", "should", "question", "suggestion"] | None = None
    replacement: str | None = Field(
        None, description="For a suggestion: the new text; empty deletes the lines."
    )
    body: str = ""

    @model_validator(mode="after")
    def names_lines_in_order(self) -> Self:
        if self.end_line is not None and not 1 <= (self.line or 0) <= self.end_line:
            raise ValueError("end_line belongs to a line that is not below it")
        return self

    @model_validator(mode="after")
    def says_something(self) -> Self:
        if (self.kind == "suggestion") != (self.replacement is not None):
            raise ValueError(
                "replacement is required for the kind suggestion and not allowed otherwise"
            )
        if self.replacement is None and not self.body:
            raise ValueError("body must not be empty")
        return self


class EditSent(Sent):
    """A file as the approver wants it."""

    path: str
    content: str


class WithdrawRequest(Sent):
    """Nothing: the address says it all."""


class AskAgent(Sent):
    question: str = Field(min_length=1, max_length=10_000, pattern=r"\S")


class ReplyToQuestion(Sent):
    answer: str = Field(min_length=1, max_length=50_000, pattern=r"\S", description="Markdown.")


class DelegateRequest(Sent):
    to: str = Field(min_length=1, max_length=150, description="An account.")
    comment: str = Field("", max_length=2000)

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"to": "rita", "comment": "On leave until Monday."}]},
    )


class OverrideRequest(Sent):
    response: str | dict[str, Any]
    reason: str = Field(min_length=1, max_length=5000, description="On record with the decision.")
    comment: str = ""
    seal: str = Field(
        "", description="The seal you saw; refused as stale if the content changed since."
    )

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"response": "approve", "reason": "Rita is on leave."}]},
    )


class RuleSent(Sent):
    """A standing rule that is to come of an answer about a tool."""

    pattern: str = Field(
        "",
        description="The exact call (the default), first words of a command followed by ` *`, or "
        "a path in which `*` stands for a name and `**` for folders.",
    )
    mode: Literal["shadow", "on"] = Field(
        "on", description="shadow: it decides nothing and notes what it would have done."
    )
    expires: str = Field("", description="A date, a time, or a duration such as 12h, 7d, 4w.")
    effect: Literal["allow", "ask"] | None = Field(
        None, description="allow goes with always_allow; ask makes calls like this always ask."
    )


class GiveAnswer(Sent):
    response: str | dict[str, Any] = Field(
        description="An option, its number or an alias; the words asked for; or the answers to "
        "the request's `context.questions`, by their ids."
    )
    comment: str = ""
    items: list[ItemSent] = []
    edits: list[EditSent] = Field(
        [], description="With approve: your edited versions of the request's files."
    )
    rule: RuleSent | None = Field(None, description="With always_allow, allow or deny of a tool.")
    seal: str = Field(
        "", description="The seal you saw; refused as stale if the content changed since."
    )

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"response": "approve", "comment": "Well done."}]},
    )
