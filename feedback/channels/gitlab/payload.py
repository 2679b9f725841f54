"""What a delivery of GitLab's is about."""

from runs.domain.values.plain_json import number_at, text_at
from runs.gitlab import values
from runs.trackers import Place

# Of notes on confidential issues too.
EVENTS = ("Note Hook", "Confidential Note Hook")
_ISSUES = ("Issue Hook", "Confidential Issue Hook")
_LARGEST_NUMBER = 2**63 - 1
_LARGEST_ISSUE = 2**31 - 1
_TARGETS = {"Issue": "issue", "WorkItem": "issue", "MergeRequest": "merge_request"}


def repository(payload: object) -> str:
    name = text_at(payload, "project", "path_with_namespace")
    # A name with a NUL would be an error to PostgreSQL instead of nobody's.
    return name if "\0" not in name else ""


def new_text(event: str, payload: object) -> str:
    """What a new note says; nothing when the delivery is about anything else."""
    # Before 16.11 there was no action, and no delivery about an edit.
    action = text_at(payload, "object_attributes", "action") or "create"
    is_new = event in EVENTS and action == "create"
    return text_at(payload, "object_attributes", "note") if is_new else ""


def comment_of(payload: object) -> tuple[Place, int] | None:
    """Which note to ask for, and on what: GitLab shows a note only there."""
    number = number_at(payload, "object_attributes", "id")
    kind = text_at(payload, "object_attributes", "noteable_type")
    of = number_at(payload, _TARGETS.get(kind, ""), "iid")
    place = values.place(repository(payload), kind, of)
    if not place or not place.repository or not 0 < number <= _LARGEST_NUMBER:
        return None
    return place, number


def signalled(event: str, payload: object) -> Place | None:
    """The issue whose labels changed, or that was opened with some; None for anything else."""
    number = number_at(payload, "object_attributes", "iid")
    has_labels = isinstance(payload, dict) and bool(payload.get("labels"))
    if event not in _ISSUES or not has_labels or not 0 < number <= _LARGEST_ISSUE:
        return None
    return values.place(repository(payload), "Issue", number) if repository(payload) else None
