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
    """A comment on an issue or a pull request, as the API and the webhook give it."""

    id: int
    body: str
    author: str
    is_bot: bool
    url: str
    created_at: datetime
    updated_at: datetime
    issue: int

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> Self:
        """Raises KeyError, TypeError or ValueError for anything that is not a comment."""
        return cls(
            id=int(data["id"]),
            body=data["body"] or "",
            author=_login(data["user"]),
            is_bot=_is_bot(data["user"]),
            url=data["html_url"],
            created_at=datetime.fromisoformat(data["created_at"]),
            updated_at=datetime.fromisoformat(data["updated_at"]),
            issue=int(data["issue_url"].rpartition("/")[2]),
        )


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
