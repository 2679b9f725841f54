"""What a delivery of GitHub's is about."""

from runs.domain.values.plain_json import number_at, text_at
from runs.trackers import Place

EVENT = "issue_comment"
_SIGNALS = ("labeled", "assigned")
_LARGEST_NUMBER = 2**63 - 1
_LARGEST_ISSUE = 2**31 - 1


def repository(payload: object) -> str:
    name = text_at(payload, "repository", "full_name")
    # A name with a NUL would be an error to PostgreSQL instead of nobody's.
    return name if "\0" not in name else ""


def new_text(event: str, payload: object) -> str:
    """What a new comment says; nothing when the delivery is about anything else."""
    is_new = event == EVENT and text_at(payload, "action") == "created"
    return text_at(payload, "comment", "body") if is_new else ""


def comment_of(payload: object) -> tuple[Place, int] | None:
    """Which comment to ask for; GitHub knows on which issue it is."""
    number = number_at(payload, "comment", "id")
    if not repository(payload) or not 0 < number <= _LARGEST_NUMBER:
        return None
    return Place(repository=repository(payload), issue=0), number


def signalled(event: str, payload: object) -> Place | None:
    """The issue that got a label or somebody who is to do it; None for anything else."""
    number = number_at(payload, "issue", "number")
    is_one = event == "issues" and text_at(payload, "action") in _SIGNALS
    if not is_one or not repository(payload) or not 0 < number <= _LARGEST_ISSUE:
        return None
    return Place(repository=repository(payload), issue=number)
