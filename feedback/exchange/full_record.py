"""What is on record about a run beyond what the seeds' files have a place for."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from feedback.models import FeedbackRequest, Inquiry
from runs.changes import archive
from runs.models import Artifact, Batch, CodeSnapshot, Run, StepAttempt

Json = dict[str, object]

VERSION = 1

_OF_A_RUN = (
    *("workflow_ref", "position", "entered_phase", "approvals", "warnings_total"),
    *("error", "started_by_account", "started_by_token", "own_title", "forked_at"),
)
_OF_A_BATCH = ("batch_id", "workflow_id", "concurrency", "issue", "started_by", "created_at")
_OF_AN_ATTEMPT = (
    *("phase", "step", "is_hook", "is_remote", "position", "number", "action", "reason"),
    *("feedback", "failure_context", "status", "queued_at", "started_at", "finished_at"),
    *("result", "response", "late_response", "files", "session", "usage", "taken_over_from"),
)
_OF_A_REVISION = ("path", "revision", "sha256", "size", "created_at")
_OF_A_SNAPSHOT = (
    *("place", "base", "head", "tree", "files", "additions", "deletions", "commits"),
    "created_at",
)
_OF_A_REQUEST = (
    *("request_id", "status", "type", "gate", "gate_key", "prompt", "options", "context"),
    *("phase", "step", "step_index", "reviewers", "quorum", "seal", "shown_on_cli"),
    *("steps_behind", "fingerprint", "requested_at", "ranked_at", "closed_at"),
    *("own_title", "round", "max_rounds", "agent", "cost_usd", "due_at"),
    *("escalate_to", "escalated_at", "assignee", "delegated"),
    *("quorum_groups", "repeats"),
)
_OF_A_RESPONSE = (
    *("response", "action", "comment", "items", "skipped", "decides", "state", "held_until"),
    *("identity", "provided_by", "seal", "received_at", "edits", "override", "rule"),
)
_OF_AN_INQUIRY = (
    *("number", "question", "asked_by", "asked_at", "agent", "state", "answer", "problem"),
    *("answered_at", "usage", "cost_usd", "input_tokens", "output_tokens"),
)
_OF_A_COMMENT = (
    *("tracker", "repository", "issue", "is_merge_request"),
    *("comment_id", "comment_url", "shown"),
)


def record_of(
    run: Run, *, state: str, revisions: Iterable[Artifact], snapshots: Sequence[CodeSnapshot]
) -> Json:
    """The record as one document, bound to the state and the history it was taken with."""
    attempts = list(run.attempts.order_by("pk"))
    numbered = {attempt.pk: number for number, attempt in enumerate(attempts)}
    kept = list(revisions)
    shown = {artifact.pk: number for number, artifact in enumerate(kept)}
    seen = {snapshot.pk: number for number, snapshot in enumerate(snapshots)}
    return {
        "version": VERSION,
        "of": {"last_event_hash": run.last_event_hash, "state": digest(state)},
        "run": _fields(run, _OF_A_RUN) | {"batch": _batch(run.batch)},
        "attempts": [_attempt(attempt) for attempt in attempts],
        "artifacts": [
            _fields(artifact, _OF_A_REVISION)
            | {"attempt": _number_of(numbered, artifact.attempt_id)}
            for artifact in kept
        ],
        "snapshots": [_snapshot(snapshot, seen) for snapshot in snapshots],
        "requests": _requests(run, attempts=numbered, artifacts=shown, snapshots=seen),
    }


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _fields(row: object, names: Iterable[str]) -> Json:
    return {name: _plain(getattr(row, name)) for name in names}


def _number_of(numbers: Mapping[int, int], key: int | None) -> int | None:
    return None if key is None else numbers.get(key)


def _batch(batch: Batch | None) -> Json | None:
    return _fields(batch, _OF_A_BATCH) if batch else None


def _attempt(attempt: StepAttempt) -> Json:
    told = _fields(attempt, _OF_AN_ATTEMPT)
    if attempt.status in StepAttempt.OPEN:
        # Whoever has it goes on here: elsewhere nobody will ever hand it in.
        told["status"] = StepAttempt.Status.LOST.value
    return told


def _snapshot(kept: CodeSnapshot, numbers: Mapping[int, int]) -> Json:
    return _fields(kept, _OF_A_SNAPSHOT) | {
        "previous": _number_of(numbers, kept.previous_id),
        "listing": archive.listing_of(kept)[0],
    }


def _requests(
    run: Run,
    *,
    attempts: Mapping[int, int],
    artifacts: Mapping[int, int],
    snapshots: Mapping[int, int],
) -> list[Json]:
    """Every request in the order it was asked, with every answer."""
    return [
        _fields(request, _OF_A_REQUEST)
        | {
            "attempt": _number_of(attempts, request.attempt_id),
            "artifacts": sorted(
                artifacts[pk] for pk in request.artifacts.values_list("pk", flat=True)
            ),
            "snapshot": _number_of(snapshots, request.snapshot_id),
            "comment": _comment(request),
            "thread": [_inquiry(asked) for asked in request.inquiries.order_by("number")],
            "responses": [
                _fields(given, _OF_A_RESPONSE) for given in request.responses.order_by("pk")
            ],
        }
        for request in run.requests.order_by("pk").select_related("delivery")
    ]


def _inquiry(asked: Inquiry) -> Json:
    told = _fields(asked, _OF_AN_INQUIRY)
    if not asked.is_settled:
        # Whoever is asked is asked here: elsewhere nobody will ever answer.
        told["state"] = Inquiry.Stage.DROPPED.value
    return told


def _comment(request: FeedbackRequest) -> Json | None:
    """The comment on an issue that shows the request, so that it is not posted a second time."""
    delivery = getattr(request, "delivery", None)  # a request on no issue has none
    return _fields(delivery, _OF_A_COMMENT) if delivery and delivery.comment_id else None


def _plain(value: object) -> object:
    return value.astimezone(UTC).isoformat() if isinstance(value, datetime) else value
