"""GitHub's JSON, read into what every tracker tells."""

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
    TrackerUser,
)

_SIGNALS = {"labeled": SignalKind.LABEL, "assigned": SignalKind.ASSIGNMENT}


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """A token, or an App's id and private key, for one API."""

    api_url: str
    token: str = field(default="", repr=False)
    app_id: str = ""
    app_key: str = field(default="", repr=False)


def permission(data: Mapping[str, Any]) -> Permission:
    """The exact role; a role an organisation made for itself counts as the one it extends."""
    role = data.get("role_name")
    return Permission(role if role in set(Permission) else data["permission"])


def comment(data: Mapping[str, Any]) -> Comment:
    """Raises KeyError, TypeError or ValueError for anything that is not a comment."""
    owner, name, _, issue = data["issue_url"].split("/")[-4:]
    return Comment(
        id=int(data["id"]),
        body=data["body"] or "",
        author=_login(data["user"]),
        author_id=int(data["user"]["id"]) if data["user"] else None,
        is_bot=_is_bot(data["user"]),
        url=data["html_url"],
        created_at=datetime.fromisoformat(data["created_at"]),
        updated_at=datetime.fromisoformat(data["updated_at"]),
        place=Place(repository=f"{owner}/{name}", issue=int(issue)),
    )


def person(data: Mapping[str, Any]) -> TrackerUser:
    return TrackerUser(id=int(data["id"]), login=str(data["login"]), is_bot=_is_bot(data))


def issue(data: Mapping[str, Any]) -> Issue:
    return Issue(
        number=int(data["number"]),
        title=data["title"],
        body=data["body"] or "",
        author=_login(data["user"]),
        labels=tuple(label["name"] for label in data["labels"]),
        state=data["state"],
        url=data["html_url"],
    )


def event_at(data: Mapping[str, Any]) -> datetime:
    return datetime.fromisoformat(data["created_at"])


def signals(rows: Iterable[Mapping[str, Any]], at: Place | str) -> list[Signal]:
    """The labels and assignments among events: of one issue, or of a repository that names each."""
    return [
        _signal(row, at)
        for row in rows
        # An issue that was deleted is not named any more.
        if row["event"] in _SIGNALS and (isinstance(at, Place) or row["issue"])
    ]


def _signal(data: Mapping[str, Any], at: Place | str) -> Signal:
    kind = _SIGNALS[data["event"]]
    is_label = kind is SignalKind.LABEL
    # Of an assignment the actor is whom it is assigned to.
    author = data["actor"] if is_label else data.get("assigner")
    return Signal(
        id=int(data["id"]),
        kind=kind,
        name=str(data["label"]["name"]) if is_label else _login(data["assignee"]),
        author=_login(author),
        author_id=int(author["id"]) if author else None,
        is_bot=_is_bot(author),
        at=event_at(data),
        place=Place(repository=at, issue=int(data["issue"]["number"]))
        if isinstance(at, str)
        else at,
    )


def _login(user: Mapping[str, Any] | None) -> str:
    return GHOST if user is None else str(user["login"])


def _is_bot(user: Mapping[str, Any] | None) -> bool:
    return user is not None and (user["type"] == "Bot" or user["login"].endswith("[bot]"))
