"""Requests and responses as plain values, in the shapes programs rely on."""

from django.conf import settings

from feedback.models import FeedbackRequest, FeedbackResponse
from runs.domain.events import timestamp
from runs.domain.questions import Option


def request_url(request: FeedbackRequest) -> str:
    return f"{settings.FABER_BASE_URL}/requests/{request.request_id}/"


def response_shape(response: FeedbackResponse) -> dict[str, object]:
    return {
        "response": response.response,
        "action": response.action,
        "comment": response.comment,
        "items": response.items,
        "provided_by": {**response.provided_by, "timestamp": timestamp(response.received_at)},
        "received_at": timestamp(response.received_at),
    }


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
    }


def notification_shape(request: FeedbackRequest) -> dict[str, object]:
    return {"cli": request.shown_on_cli, "issue_comment": False, "comment_url": None}


def request_shape(request: FeedbackRequest) -> dict[str, object]:
    """Request JSON of the contract."""
    decision = request.decision
    url = request_url(request)
    return {
        "request_id": request.request_id,
        "run_id": request.run.run_id,
        "work_id": request.run.work_id,
        "type": request.type,
        "status": request.status,
        "prompt": request.prompt,
        "options": [
            {key: option.get(key, "") for key in ("value", "label", "action", "description")}
            for option in request.options
        ],
        "context": request.context,
        "artifacts": [
            {
                "path": artifact.path,
                "revision": artifact.revision,
                "sha256": artifact.sha256,
                "url": f"{url}artifacts/{artifact.revision}/{artifact.path}",
            }
            for artifact in request.artifacts.defer("content")
        ],
        "resume_point": request.resume_point,
        "phase": request.phase,
        "step": request.step,
        "requested_at": timestamp(request.requested_at),
        "notification_sent": notification_shape(request),
        "seal": request.seal,
        "url": url,
        "response": response_shape(decision) if decision else None,
        "answers": [response_shape(response) for response in request.responses.all()],
    }


def decision_shape(request: FeedbackRequest) -> dict[str, object]:
    """What a run's state and context need to know of one request."""
    decision = request.decision
    return {
        "request_id": request.request_id,
        "status": request.status,
        "type": request.type,
        "prompt": request.prompt,
        "options": [option["value"] for option in request.options],
        "context": request.context,
        "requested_at": timestamp(request.requested_at),
        "notification_sent": notification_shape(request),
        "resume_point": request.resume_point,
        "response": response_shape(decision) if decision else None,
    }
