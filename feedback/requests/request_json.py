"""Requests and responses as plain values, in the shapes programs rely on."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.conf import settings

from feedback.models import FeedbackRequest, FeedbackResponse
from feedback.requests.code_changes import counts_of
from feedback.requests.handover import authority
from feedback.requests.inquiries.thread import threads_of
from runs.domain.values.events import timestamp
from runs.domain.values.questions import Option


def request_url(request: FeedbackRequest) -> str:
    return f"{settings.FABER_BASE_URL}/requests/{request.request_id}/"


_ANSWER_FIELDS = ("response", "action", "comment", "items", "provided_by", "received_at")


def response_shape(response: FeedbackResponse) -> dict[str, object]:
    shape = _answer_shape(**{key: getattr(response, key) for key in _ANSWER_FIELDS})
    return {
        **shape,
        "values": response.values,
        "imported": response.imported,
        "timed_out": response.timed_out,
        "override": response.override or None,
    }


def _answer_shape(
    *, provided_by: Mapping[str, object], received_at: datetime, **said: object
) -> dict[str, object]:
    at = timestamp(received_at)
    return {**said, "provided_by": {**provided_by, "timestamp": at}, "received_at": at}


def option_shape(option: Option) -> dict[str, object]:
    """An option as a request keeps it."""
    return {
        "value": option.value,
        "label": option.label,
        "action": option.action.value,
        "description": option.description,
        "needs_words": option.needs_words,
    }


def audit_shape(response: FeedbackResponse) -> dict[str, object]:
    """One line of the audit: who decided what, where, when and through which door."""
    request = response.request
    return {
        "request_id": request.request_id,
        "run_id": request.run.run_id,
        "project": request.run.project.name,
        "type": request.type,
        "response": response.response,
        "action": response.action,
        "comment": response.comment,
        "user": response.who,
        "source": response.source,
        "method": response.provided_by.get("method", ""),
        "received_at": timestamp(response.received_at),
        "state": response.state,
        "imported": response.imported,
    }


def _notification_shape(*, shown_on_cli: bool, comment_url: str | None) -> dict[str, object]:
    return {
        "cli": shown_on_cli,
        "issue_comment": bool(comment_url),
        "comment_url": comment_url or None,
    }


def _comment_url(request: FeedbackRequest) -> str | None:
    delivery = getattr(request, "delivery", None)  # a request on no issue has none
    return delivery.comment_url if delivery else None


def request_shape(request: FeedbackRequest) -> dict[str, object]:
    return request_shapes([request])[0]


def request_shapes(requests: Sequence[FeedbackRequest]) -> list[dict[str, object]]:
    """Request JSON of each; how many queries that takes depends on what came with the rows."""
    shown, changes, threads = _shown(requests), counts_of(requests), threads_of(requests)
    return [
        {
            **_request_shape(request, shown[request.pk], changes.get(request.pk)),
            "thread": threads.get(request.pk, []),
        }
        for request in requests
    ]


def _counted(request: FeedbackRequest) -> list[FeedbackResponse]:
    given = request.responses.all()
    return [each for each in given if not (each.is_retracted or each.imported)]


_Revision = tuple[str, int, str]


def _shown(requests: Sequence[FeedbackRequest]) -> Mapping[int, list[_Revision]]:
    """What each request shows, without the content of any file."""
    rows = FeedbackRequest.artifacts.through.objects.filter(feedbackrequest__in=requests)
    shown: dict[int, list[_Revision]] = defaultdict(list)
    for pk, path, revision, sha256 in rows.order_by(
        "artifact__path", "artifact__revision"
    ).values_list("feedbackrequest_id", "artifact__path", "artifact__revision", "artifact__sha256"):
        shown[pk].append((path, revision, sha256))
    return shown


def _request_shape(
    request: FeedbackRequest, shown: Sequence[_Revision], changes: Mapping[str, object] | None
) -> dict[str, object]:
    decision = request.decision
    url = request_url(request)
    return {
        "request_id": request.request_id,
        "run_id": request.run.run_id,
        "title": request.title,
        "work_id": request.run.work_id or None,
        "type": request.type,
        "status": request.status,
        "round": request.round,
        "agent": request.agent or None,
        "cost_usd": request.cost_usd,
        "asked_again": bool(request.repeats),
        "assignee": request.assignee or None,
        "delegated": request.delegated,
        "quorum": request.quorum_groups or request.quorum,
        "still_needed": authority.still_needed(request, _counted(request)) or None,
        "due_at": timestamp(request.due_at) if request.due_at else None,
        "on_timeout": request.on_timeout or None,
        "escalated_to": request.escalated_to,
        "prompt": request.prompt,
        "options": [
            {key: option.get(key, "") for key in ("value", "label", "action", "description")}
            for option in request.options
        ],
        "context": request.context,
        "artifacts": [
            {
                "path": path,
                "revision": revision,
                "sha256": sha256,
                "url": f"{url}artifacts/{revision}/{path}",
            }
            for path, revision, sha256 in shown
        ],
        "changes": changes,
        "resume_point": request.resume_point,
        "phase": request.phase,
        "step": request.step,
        "requested_at": timestamp(request.requested_at),
        "notification_sent": _notification_shape(
            shown_on_cli=request.shown_on_cli, comment_url=_comment_url(request)
        ),
        "seal": request.seal,
        "url": url,
        "response": response_shape(decision) if decision else None,
        "answers": [
            response_shape(response)
            for response in request.responses.all()
            if not response.is_retracted
        ],
    }


# What a decision is made of, read in one query; the last ones are those of its answer.
DECISION_FIELDS = (
    *("request_id", "status", "type", "prompt", "options", "context", "requested_at"),
    *("shown_on_cli", "phase", "step", "step_index", "delivery__comment_url"),
    *("decided__response", "decided__action", "decided__comment", "decided__items"),
    *("decided__provided_by", "decided__received_at", "decided__imported"),
)


def decision_shape(row: Mapping[str, Any]) -> dict[str, object]:
    """What a run's state and context need to know of one request."""
    return {
        "request_id": row["request_id"],
        "status": row["status"],
        "type": row["type"],
        "prompt": row["prompt"],
        "options": [option["value"] for option in row["options"]],
        "context": row["context"],
        "requested_at": timestamp(row["requested_at"]),
        "notification_sent": _notification_shape(
            shown_on_cli=row["shown_on_cli"], comment_url=row["delivery__comment_url"]
        ),
        "resume_point": {key: row[key] for key in ("phase", "step", "step_index")},
        "response": _answer_shape(**{key: row[f"decided__{key}"] for key in _ANSWER_FIELDS})
        if row["decided__received_at"]
        else None,
        "imported": bool(row["decided__imported"]),
    }
