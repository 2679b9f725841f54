"""Finds a request by its id."""

from feedback.models import FeedbackRequest
from runs.domain.values.errors import NotFound


def find_request(request_id: str) -> FeedbackRequest:
    found = FeedbackRequest.objects.filter(request_id=request_id.strip()).first()
    if found is None:
        raise NotFound(f"There is no request {request_id!r}.")
    return found
