"""A run's requests as a run directory keeps them: all of them, with every answer."""

from collections.abc import Mapping

from feedback.models import FeedbackRequest, FeedbackResponse
from runs.models import Run
from runs.record.extras import fields, number_of

Json = dict[str, object]

_OF_A_REQUEST = (
    "request_id",
    "status",
    "type",
    "gate",
    "gate_key",
    "prompt",
    "options",
    "context",
    "phase",
    "step",
    "step_index",
    "reviewers",
    "quorum",
    "seal",
    "shown_on_cli",
    "steps_behind",
    "fingerprint",
    "requested_at",
    "ranked_at",
    "closed_at",
)
_OF_A_RESPONSE = (
    "response",
    "action",
    "comment",
    "items",
    "skipped",
    "decides",
    "state",
    "held_until",
    "identity",
    "provided_by",
    "seal",
    "received_at",
)
_OF_A_COMMENT = ("repository", "issue", "comment_id", "comment_url", "shown")


def remembered(
    run: Run, *, attempts: Mapping[int, int], artifacts: Mapping[int, int]
) -> list[Json]:
    """Every request in the order it was asked; attempts and artifacts by their number."""
    asked = run.requests.order_by("pk").select_related("delivery")
    return [
        fields(request, _OF_A_REQUEST)
        | {
            "attempt": number_of(attempts, request.attempt_id),
            "artifacts": sorted(
                artifacts[pk] for pk in request.artifacts.values_list("pk", flat=True)
            ),
            "comment": _comment(request),
            "responses": [fields(given, _OF_A_RESPONSE) for given in _in_order(request)],
        }
        for request in asked
    ]


def _in_order(request: FeedbackRequest) -> list[FeedbackResponse]:
    return list(request.responses.order_by("pk"))


def _comment(request: FeedbackRequest) -> Json | None:
    """The comment on an issue that shows the request, so that it is not posted a second time."""
    delivery = getattr(request, "delivery", None)  # a request on no issue has none
    return fields(delivery, _OF_A_COMMENT) if delivery and delivery.comment_id else None
