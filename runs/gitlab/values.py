"""GitLab's JSON, read into what every tracker tells."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from runs.trackers import (
    GHOST,
    Comment,
    Issue,
    Permission,
    Place,
    Signal,
    SignalKind,
    Tracker,
    TrackerUser,
)

# Accounts that GitLab makes for tokens and services; a note does not say so otherwise.
_BOT = re.compile(r"(?:project|group)_\d+_bot\w*|service_account_\w+", re.ASCII)
_KINDS = {"Issue": False, "WorkItem": False, "MergeRequest": True}
# The lowest level with each permission, the highest first.
_LEVELS = (
    (50, Permission.ADMIN),
    (40, Permission.MAINTAIN),
    (30, Permission.WRITE),
    (20, Permission.TRIAGE),
    (10, Permission.READ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GitLabAccess:
    """A token for one GitLab."""

    url: str
    token: str = field(default="", repr=False)


def place(repository: str, kind: str, number: int) -> Place | None:
    """What a note hangs on; None for what is no issue and no merge request."""
    if kind not in _KINDS or number <= 0:
        return None
    return Place(
        tracker=Tracker.GITLAB,
        repository=repository,
        issue=number,
        is_merge_request=_KINDS[kind],
    )


def comment(data: Mapping[str, Any], at: Place, web: str) -> Comment:
    """Raises KeyError, TypeError or ValueError for anything that is not a note."""
    author = data["author"] or {"username": GHOST, "id": None}
    number = int(data["id"])
    return Comment(
        id=number,
        body=data["body"] or "",
        author=str(author["username"]),
        author_id=author["id"] and int(author["id"]),
        # What GitLab itself notes down is nobody's speech.
        is_bot=bool(data["system"]) or _BOT.fullmatch(author["username"]) is not None,
        url=f"{address(at, web)}#note_{number}",
        created_at=datetime.fromisoformat(data["created_at"]),
        updated_at=datetime.fromisoformat(data["updated_at"]),
        place=at,
    )


def address(at: Place, web: str) -> str:
    """Where people see an issue or a merge request."""
    kind = "merge_requests" if at.is_merge_request else "issues"
    return f"{web}/{at.repository}/-/{kind}/{at.issue}"


def noted(event: Mapping[str, Any], repository: str, web: str) -> Comment | None:
    """The comment an event tells of; None when it is on a commit or a snippet."""
    note = event["note"]
    at = place(repository, note["noteable_type"], int(note.get("noteable_iid") or 0))
    return comment(note, at, web) if at else None


def signals(rows: Iterable[Mapping[str, Any]], at: Place) -> list[Signal]:
    """The labels that were put on an issue; one that was deleted since has no name."""
    return [_signal(row, at) for row in rows if row["action"] == "add" and row["label"]]


def _signal(data: Mapping[str, Any], at: Place) -> Signal:
    author = data["user"] or {"username": GHOST, "id": None}
    return Signal(
        id=int(data["id"]),
        kind=SignalKind.LABEL,
        name=str(data["label"]["name"]),
        author=str(author["username"]),
        author_id=author["id"] and int(author["id"]),
        is_bot=_BOT.fullmatch(author["username"]) is not None,
        at=datetime.fromisoformat(data["created_at"]),
        place=at,
    )


def person(data: Mapping[str, Any]) -> TrackerUser:
    login = str(data["username"])
    is_bot = bool(data.get("bot")) or _BOT.fullmatch(login) is not None
    return TrackerUser(id=int(data["id"]), login=login, is_bot=is_bot)


def permission(member: Mapping[str, Any]) -> Permission:
    """What the role of a member allows; one who is blocked or not yet in may do nothing."""
    if member.get("state", "active") != "active":
        return Permission.NONE
    level = int(member["access_level"])
    return next((allowed for least, allowed in _LEVELS if level >= least), Permission.NONE)


def issue(data: Mapping[str, Any]) -> Issue:
    author = data["author"]
    return Issue(
        number=int(data["iid"]),
        title=data["title"],
        body=data["description"] or "",
        author=str(author["username"]) if author else GHOST,
        labels=tuple(str(label) for label in data["labels"]),
        state="open" if data["state"] == "opened" else str(data["state"]),
        url=data["web_url"],
    )
