"""The record a site of ours puts beside a run directory, as values that fit into rows."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from feedback.exchange.run_directory import Count, RequestId, Time
from runs.domain.planning.titles import LONGEST
from runs.domain.responses.results import ResultStatus
from runs.domain.values.phases import Phase
from runs.domain.values.questions import Action, FeedbackType, Gate
from runs.trackers import Tracker

Json = dict[str, JsonValue]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Commit = Annotated[str, Field(pattern=r"^[0-9a-f]{0,64}$")]
Title = Annotated[str, Field(max_length=LONGEST)]
Ordinal = Annotated[int, Field(ge=1, le=2**31 - 1)]
Maybe = Annotated[str, Field(pattern=r"^([0-9a-f]{64})?$")]


class Kept(BaseModel):
    """Part of the record: what another version wrote and this one does not know is left out."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)


class Moment(Kept):
    """What the record was taken with; both must still be the same."""

    last_event_hash: Maybe
    state: Sha256


class KeptBatch(Kept):
    batch_id: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,40}$")]
    workflow_id: Annotated[str, Field(max_length=100)]
    concurrency: Annotated[int, Field(ge=1, le=1000)]
    issue: Annotated[str, Field(max_length=50)]
    started_by: Annotated[str, Field(max_length=200)]
    created_at: Time


class KeptRun(Kept):
    workflow_ref: Annotated[str, Field(max_length=1000)]
    position: Count
    entered_phase: Phase | Literal[""]
    approvals: dict[str, str]
    warnings_total: Count
    error: str
    started_by_account: Annotated[str, Field(max_length=200)]
    started_by_token: Annotated[str, Field(max_length=100)] = ""
    own_title: Title = ""
    forked_at: Annotated[str, Field(max_length=200)] = ""
    batch: KeptBatch | None


class KeptAttempt(Kept):
    phase: Phase
    step: Annotated[str, Field(max_length=150)]
    is_hook: bool
    is_remote: bool
    position: Count
    number: Count
    action: Annotated[str, Field(max_length=20)]
    reason: Annotated[str, Field(max_length=500)]
    feedback: Json | None
    failure_context: Json | None
    status: Literal["finished", "lost", "cancelled"]
    queued_at: Time
    started_at: Time | None
    finished_at: Time | None
    result: ResultStatus | Literal[""]
    response: JsonValue
    late_response: JsonValue
    files: list[str]
    session: Annotated[str, Field(max_length=200)]
    usage: JsonValue
    taken_over_from: Annotated[str, Field(max_length=250)] = ""


class KeptArtifact(Kept):
    path: Annotated[str, Field(min_length=1, max_length=500)]
    revision: Annotated[int, Field(ge=1, le=2**31 - 1)]
    sha256: Sha256
    size: Count
    created_at: Time
    attempt: Count | None


class KeptSnapshot(Kept):
    """The code changes that a request showed; the listing says which files there are."""

    place: Annotated[str, Field(max_length=200)]
    previous: Count | None
    base: Commit
    head: Commit
    tree: Commit
    files: Count
    additions: Count
    deletions: Count
    commits: Count
    created_at: Time
    listing: Sha256


class KeptOption(Kept):
    value: str
    label: str
    action: Action
    description: str
    needs_words: bool = False


class KeptResponse(Kept):
    response: str
    action: Action
    comment: str
    items: list[Json]
    skipped: bool
    decides: bool
    state: Literal["held", "taken", "retracted"]
    held_until: Time | None
    identity: Annotated[str, Field(max_length=250)]
    provided_by: Json
    seal: Maybe
    received_at: Time
    edits: list[Json] = []
    override: Json = {}
    rule: Json = {}


class KeptInquiry(Kept):
    number: Ordinal
    question: str
    asked_by: Json
    asked_at: Time
    agent: Annotated[str, Field(max_length=100)]
    state: Literal["answered", "failed", "dropped"]
    answer: str
    problem: str
    answered_at: Time | None
    usage: JsonValue
    cost_usd: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None
    input_tokens: Count | None
    output_tokens: Count | None


class KeptComment(Kept):
    tracker: Tracker = Tracker.GITHUB
    is_merge_request: bool = False
    repository: Annotated[str, Field(max_length=200)]
    issue: Annotated[int, Field(ge=1, le=2**31 - 1)]
    comment_id: Annotated[int, Field(ge=1, le=2**63 - 1)]
    comment_url: Annotated[str, Field(max_length=500)]
    shown: Annotated[str, Field(max_length=64)]


class KeptRequest(Kept):
    request_id: RequestId
    status: Literal["pending", "answered", "cancelled", "superseded"]
    type: FeedbackType
    gate: Gate
    gate_key: Annotated[str, Field(max_length=300)]
    prompt: str
    options: list[KeptOption]
    context: Json
    phase: Phase | Literal[""]
    step: Annotated[str, Field(max_length=150)]
    step_index: Count | None
    reviewers: list[str]
    quorum: Annotated[int, Field(ge=1, le=1000)]
    seal: Maybe
    shown_on_cli: bool
    steps_behind: Count
    fingerprint: Maybe
    requested_at: Time
    ranked_at: Time
    closed_at: Time | None
    own_title: Title = ""
    round: Ordinal = 1
    max_rounds: Ordinal | None = None
    agent: Annotated[str, Field(max_length=100)] = ""
    cost_usd: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    due_at: Time | None = None
    escalate_to: list[str] = []
    escalated_at: Time | None = None
    assignee: Annotated[str, Field(max_length=150)] = ""
    delegated: list[Json] = []
    repeats: Annotated[str, Field(max_length=40)] = ""
    quorum_groups: dict[str, Annotated[int, Field(ge=1, le=1000)]] = {}
    attempt: Count | None
    artifacts: list[Count]
    comment: KeptComment | None
    responses: list[KeptResponse]
    thread: list[KeptInquiry] = []
    snapshot: Count | None = None


class Record(Kept):
    version: Literal[1]
    of: Moment
    run: KeptRun
    attempts: list[KeptAttempt]
    artifacts: list[KeptArtifact]
    snapshots: list[KeptSnapshot] = []
    requests: list[KeptRequest]
