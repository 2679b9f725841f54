"""What a webhook can hear of, and which of it just happened."""

from collections.abc import Sequence
from enum import StrEnum

from runs.domain.values.errors import Invalid, Problem
from runs.domain.values.nearest import nearest
from runs.domain.values.status import RequestStatus, RunStatus


class WebhookEvent(StrEnum):
    REQUEST_OPENED = "request.opened"
    REQUEST_DECIDED = "request.decided"
    REQUEST_WITHDRAWN = "request.withdrawn"
    RUN_STARTED = "run.started"
    RUN_FINISHED = "run.finished"
    RUN_FAILED = "run.failed"
    RUN_CANCELLED = "run.cancelled"

    @property
    def about(self) -> str:
        """When it is sent, for people."""
        return _ABOUT[self]


_ABOUT = {
    WebhookEvent.REQUEST_OPENED: "a request waits for a decision",
    WebhookEvent.REQUEST_DECIDED: "a decision took effect",
    WebhookEvent.REQUEST_WITHDRAWN: "a request was withdrawn or replaced",
    WebhookEvent.RUN_STARTED: "a run started",
    WebhookEvent.RUN_FINISHED: "a run completed",
    WebhookEvent.RUN_FAILED: "a run failed; it can be resumed",
    WebhookEvent.RUN_CANCELLED: "a run was cancelled or rejected",
}
_OF_RUN = {
    RunStatus.COMPLETED: WebhookEvent.RUN_FINISHED,
    RunStatus.FAILED: WebhookEvent.RUN_FAILED,
    RunStatus.CANCELLED: WebhookEvent.RUN_CANCELLED,
}


def of_request(status: RequestStatus, *, is_held: bool) -> WebhookEvent | None:
    """What became of a request; nothing while its answer can be taken back."""
    match status:
        case RequestStatus.ANSWERED if not is_held:
            return WebhookEvent.REQUEST_DECIDED
        case RequestStatus.CANCELLED | RequestStatus.SUPERSEDED:
            return WebhookEvent.REQUEST_WITHDRAWN
    return None


def of_run(status: RunStatus) -> WebhookEvent:
    """A run that was announced and has not ended has just begun."""
    return _OF_RUN.get(status, WebhookEvent.RUN_STARTED)


def read(names: Sequence[str]) -> list[WebhookEvent]:
    """The events of these names, in their own order; no names are all events."""
    wanted = {name.strip() for name in names if name.strip()}
    if unknown := sorted(wanted - set(WebhookEvent)):
        raise Invalid([Problem("event", _unknown(name)) for name in unknown])
    return [event for event in WebhookEvent if not wanted or event in wanted]


def _unknown(name: str) -> str:
    near = nearest(name, WebhookEvent)
    hint = f"Did you mean {near}?" if near else f"Use one of {', '.join(WebhookEvent)}."
    return f"there is no event {name!r}. {hint}"
