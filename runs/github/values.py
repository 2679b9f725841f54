"""What GitHub is told and what it tells, as values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Self

# What GitHub shows when the account behind a comment is gone; nobody has it.
GHOST = "ghost"


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """A token, or an App's id and private key, for one API."""

    api_url: str
    token: str = field(default="", repr=False)
    app_id: str = ""
    app_key: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """An issue, wherever it is."""

    repository: str
    issue: int


class Permission(StrEnum):
    """What a person may do in a repository."""

    NONE = "none"
    READ = "read"
    TRIAGE = "triage"
    WRITE = "write"
    MAINTAIN = "maintain"
    ADMIN = "admin"

    @property
    def can_write(self) -> bool:
        return self in (Permission.WRITE, Permission.MAINTAIN, Permission.ADMIN)

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> Self:
        """The exact role; a role an organisation made for itself counts as the one it extends."""
        role = data.get("role_name")
        return cls(role) if role in set(cls) else cls(data["permission"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Comment:
    """A comment on an issue or a pull request, as the API gives it."""

    id: int
    body: str
    author: str
    author_id: int | None  # stays when the login changes; None when the account is gone
    is_bot: bool
    url: str
    created_at: datetime
    updated_at: datetime
    repository: str
    issue: int

    @property
    def is_edited(self) -> bool:
        """Whether the text may be somebody else's: whoever maintains a repository can edit it."""
        return self.updated_at != self.created_at

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> Self:
        """Raises KeyError, TypeError or ValueError for anything that is not a comment."""
        owner, name, _, issue = data["issue_url"].split("/")[-4:]
        return cls(
            id=int(data["id"]),
            body=data["body"] or "",
            author=_login(data["user"]),
            author_id=int(data["user"]["id"]) if data["user"] else None,
            is_bot=_is_bot(data["user"]),
            url=data["html_url"],
            created_at=datetime.fromisoformat(data["created_at"]),
            updated_at=datetime.fromisoformat(data["updated_at"]),
            repository=f"{owner}/{name}",
            issue=int(issue),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class GitHubUser:
    """An account on GitHub: the number is the person, the login only their present name."""

    id: int
    login: str
    is_bot: bool

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> Self:
        return cls(id=int(data["id"]), login=str(data["login"]), is_bot=_is_bot(data))


@dataclass(frozen=True, slots=True, kw_only=True)
class Issue:
    number: int
    title: str
    body: str
    author: str
    labels: tuple[str, ...]
    state: str
    url: str = ""

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> Self:
        return cls(
            number=int(data["number"]),
            title=data["title"],
            body=data["body"] or "",
            author=_login(data["user"]),
            labels=tuple(label["name"] for label in data["labels"]),
            state=data["state"],
            url=data["html_url"],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """Comments made or changed since a moment, oldest change first, and what to ask next with."""

    comments: tuple[Comment, ...]
    etag: str


def _login(user: Mapping[str, Any] | None) -> str:
    return GHOST if user is None else str(user["login"])


def _is_bot(user: Mapping[str, Any] | None) -> bool:
    return user is not None and (user["type"] == "Bot" or user["login"].endswith("[bot]"))
