"""Finds a request by its id."""

from feedback.models import FeedbackRequest
from runs.accounts import membership
from runs.domain.values.actors import Actor
from runs.domain.values.errors import NotFound
from runs.jobs import log_context


def find_request(request_id: str, *, seen_by: Actor | None) -> FeedbackRequest:
    """Nobody in `seen_by` is the site itself, for which every project exists."""
    requests = FeedbackRequest.objects.select_related("run__project")
    found = requests.filter(request_id=request_id.strip()).first()
    if found is None or (seen_by and not membership.sees(seen_by, found.run.project)):
        raise NotFound(f"There is no request {request_id!r}.")
    log_context.note_run(found.run.run_id)
    return found
