"""What a run's history may say: thirty-eight types of event and how one is written down."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum


class EventType(StrEnum):
    WORKFLOW_START = "workflow_start"
    """The run started, with its plan."""
    WORKFLOW_COMPLETE = "workflow_complete"
    """Every phase is done."""
    WORKFLOW_ERROR = "workflow_error"
    """The run failed."""
    WORKFLOW_CANCELLED = "workflow_cancelled"
    """A person cancelled the run, or an answer ended it."""
    WORKFLOW_RESUMED = "workflow_resumed"
    """The run resumed, after an answer or by an operator."""
    WORKFLOW_RERUN = "workflow_rerun"
    """The run repeats another run."""
    PHASE_START = "phase_start"
    """A phase began."""
    PHASE_SKIP = "phase_skip"
    """A phase was skipped, with the reason."""
    PHASE_COMPLETE = "phase_complete"
    """A phase is done."""
    PHASE_ERROR = "phase_error"
    """A phase failed; only in runs that were imported."""
    STEP_START = "step_start"
    """An attempt at a step began."""
    STEP_COMPLETE = "step_complete"
    """A step is done, with its result and evidence."""
    STEP_ERROR = "step_error"
    """An attempt failed."""
    STEP_RETRY = "step_retry"
    """A step runs again: changes were requested, or a failure is retried."""
    STEP_SKIP = "step_skip"
    """A step was skipped, with the reason."""
    FEEDBACK_REQUEST = "feedback_request"
    """A request opened."""
    FEEDBACK_RECEIVED = "feedback_received"
    """A request was answered, with who answered on which channel."""
    DECISION_POINT = "decision_point"
    """The run stopped at this gate, with all that is needed to ask again."""
    APPROVAL_REQUEST = "approval_request"
    """An approval was asked for; only in runs that were imported."""
    APPROVAL_GRANTED = "approval_granted"
    """An answer let the run continue."""
    APPROVAL_DENIED = "approval_denied"
    """An answer ended the run."""
    RETRY_LOOP_ENTER = "retry_loop_enter"
    """A failed evaluation sends the run back to `build`."""
    RETRY_LOOP_EXIT = "retry_loop_exit"
    """The evaluation passed, or the retries are used up."""
    ARTIFACT_CREATE = "artifact_create"
    """A file of the run was kept for the first time."""
    ARTIFACT_MODIFY = "artifact_modify"
    """A new revision of a file was kept."""
    COMMIT_CREATE = "commit_create"
    """A commit was made."""
    BRANCH_CREATE = "branch_create"
    """A branch was made."""
    PR_CREATE = "pr_create"
    """A pull request was opened."""
    PR_MERGE = "pr_merge"
    """A pull request was merged."""
    SPEC_GENERATE = "spec_generate"
    """A specification was written."""
    SPEC_VALIDATE = "spec_validate"
    """A specification was checked."""
    TEST_RUN = "test_run"
    """Tests ran."""
    DOCS_UPDATE = "docs_update"
    """The documentation was updated."""
    CHECKPOINT = "checkpoint"
    """A report on the way."""
    SKILL_INVOKE = "skill_invoke"
    """A skill was called; only in runs that were imported."""
    AGENT_INVOKE = "agent_invoke"
    """An agent was started; only in runs that were imported."""
    HOOK_EXECUTE = "hook_execute"
    """A hook ran."""
    DIVERGENCE = "divergence"
    """An executor claimed more than its step, and was refused."""


# What executors may tell of their own work, each also by a short name; all else is the engine's.
WORK: Mapping[EventType, tuple[str, ...]] = {
    EventType.ARTIFACT_CREATE: ("artifact",),
    EventType.ARTIFACT_MODIFY: (),
    EventType.COMMIT_CREATE: ("commit",),
    EventType.BRANCH_CREATE: ("branch",),
    EventType.PR_CREATE: ("pull_request", "pr"),
    EventType.PR_MERGE: (),
    EventType.SPEC_GENERATE: ("spec",),
    EventType.SPEC_VALIDATE: (),
    EventType.TEST_RUN: ("test",),
    EventType.DOCS_UPDATE: ("documentation", "docs"),
    EventType.CHECKPOINT: (),
}
_BY_NAME = {name: kind for kind, short in WORK.items() for name in (kind.value, *short)}


def of_work(name: str) -> EventType | None:
    """The type of work that somebody means, if they mean one."""
    return _BY_NAME.get("_".join(name.casefold().replace("-", " ").split()))


# Spellings other writers used for the same thing; understood when read, never written.
ALIASES: Mapping[str, EventType] = {
    "approval_requested": EventType.APPROVAL_REQUEST,
    "artifact_created": EventType.ARTIFACT_CREATE,
    "phase_fail": EventType.PHASE_ERROR,
    "step_fail": EventType.STEP_ERROR,
    "step_failed": EventType.STEP_ERROR,
    "workflow_fail": EventType.WORKFLOW_ERROR,
    "workflow_failed": EventType.WORKFLOW_ERROR,
    "skill_invoked": EventType.SKILL_INVOKE,
    "retry_attempt": EventType.STEP_RETRY,
}


def spellings_of(*types: EventType) -> tuple[str, ...]:
    """The names under which these may stand in a history that was brought here."""
    return (*types, *(name for name, meant in ALIASES.items() if meant in types))


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """Something that happened, before the history gave it a number."""

    type: EventType
    phase: str = ""
    step: str = ""
    status: str = ""
    user: str = ""
    source: str = "faber"
    message: str = ""
    duration_ms: int | None = None
    metadata: Mapping[str, object] = field(default_factory=dict)
    artifacts: tuple[Mapping[str, object], ...] = ()
    error: Mapping[str, object] | None = None


def write(entry: Entry, *, number: int, at: datetime, run_id: str) -> dict[str, object]:
    """The event as a run directory holds it; what is empty is left out."""
    document: dict[str, object] = {
        "event_id": number,
        "type": entry.type.value,
        "timestamp": timestamp(at),
        "run_id": run_id,
        "phase": entry.phase,
        "step": entry.step,
        "status": entry.status,
        "user": entry.user,
        "source": entry.source,
        "message": entry.message,
        "duration_ms": entry.duration_ms,
        "metadata": dict(entry.metadata),
        "artifacts": [dict(artifact) for artifact in entry.artifacts],
        "error": dict(entry.error) if entry.error else None,
    }
    return {key: value for key, value in document.items() if value not in ("", None, {}, [])}


def file_name(number: int, event_type: str) -> str:
    return f"{number:03d}-{event_type}.json"


def timestamp(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{at.microsecond // 1000:03d}Z"


def chain(previous_hash: str, document: Mapping[str, object]) -> str:
    """The hash that binds an event to every event before it."""
    canonical = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(f"{previous_hash}\n{canonical}".encode()).hexdigest()
