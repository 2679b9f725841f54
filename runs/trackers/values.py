"""What a tracker is told and what it tells, as values; each tracker reads its own JSON."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

# What a tracker shows when the account behind a comment is gone; nobody has it.
GHOST = "ghost"
AWAITING_LABEL = "faber:awaiting"  # on an issue whose run waits for a decision
# A tracker that counts milliseconds may need some between making a comment and having made it.
_MADE_WITHIN = timedelta(seconds=1)


class Tracker(StrEnum):
    GITHUB = "github"
    GITLAB = "gitlab"

    @property
    def label(self) -> str:
        return {"github": "GitHub", "gitlab": "GitLab"}[self]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """An issue, wherever it is; or a merge request, where those are numbered apart from issues."""

    repository: str
    issue: int
    tracker: Tracker = Tracker.GITHUB
    is_merge_request: bool = False

    @property
    def work_ids(self) -> tuple[str, ...]:
        """How a run may call it."""
        number = str(self.issue)
        return (f"mr-{number}", f"MR-{number}") if self.is_merge_request else (number,)

    def __str__(self) -> str:
        return f"{self.repository}{'!' if self.is_merge_request else '#'}{self.issue}"


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


class SignalKind(StrEnum):
    LABEL = "label"
    ASSIGNMENT = "assignment"


class CheckState(StrEnum):
    """How a check on a pull request stands; each tracker has its own words."""

    PENDING = "pending"
    SUCCESS = "success"
    FAILURE = "failure"


@dataclass(frozen=True, slots=True, kw_only=True)
class Comment:
    """A comment on an issue, a pull request or a merge request, as the API gives it."""

    id: int
    body: str
    author: str
    author_id: int | None  # stays when the login changes; None when the account is gone
    is_bot: bool
    url: str
    created_at: datetime
    updated_at: datetime
    place: Place

    @property
    def is_edited(self) -> bool:
        """Whether the text may be somebody else's: whoever maintains a repository can edit it."""
        return abs(self.updated_at - self.created_at) >= _MADE_WITHIN


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """A label that somebody put on an issue, or somebody whom they assigned it to."""

    id: int  # of the event, which is the tracker's own record of it
    kind: SignalKind
    name: str  # of the label, or the login
    author: str
    author_id: int | None
    is_bot: bool
    at: datetime
    place: Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Signals:
    """What was done to issues since a moment, and what to ask next with."""

    signals: tuple[Signal, ...]
    etag: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackerUser:
    """An account on a tracker: the number is the person, the login only their present name."""

    id: int
    login: str
    is_bot: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Issue:
    number: int
    title: str
    body: str
    author: str
    labels: tuple[str, ...]
    state: str
    url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """Comments made or changed since a moment, oldest change first, and what to ask next with."""

    comments: tuple[Comment, ...]
    etag: str = ""
