"""How any tracker is asked: what its client can do, and what its module offers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from runs.trackers.values import (
    CheckState,
    Comment,
    Issue,
    News,
    Permission,
    Place,
    Signal,
    Signals,
    TrackerUser,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the site's settings say of a tracker."""

    allow: tuple[str, ...]  # logins that may command without permission in the repository
    poll_seconds: int
    webhook_secret: str
    credentials: str  # what to set, for whoever has to


class TrackerClient(Protocol):
    """Each call is made once, except that reading is tried a second time."""

    @property
    def login(self) -> str:
        """The login under which this site comments, asked for once."""

    def whoami(self) -> str:
        """That login, asked of the tracker now: whether the credentials are good."""

    def as_posted(self, body: str) -> str:
        """What has to be sent so that a comment shows this and does nothing."""

    def issue(self, place: Place) -> Issue: ...

    def user(self, login: str) -> TrackerUser:
        """Whoever has this login now."""

    def comment(self, place: Place, comment_id: int) -> Comment:
        """A comment as it stands there now."""

    def create_comment(
        self, place: Place, body: str, *, check: Callable[[], None] | None = None
    ) -> Comment:
        """After `Unreachable` the comment may be there: look for it before posting again.

        The check is made last of all and may raise.
        """

    def edit_comment(self, place: Place, comment_id: int, body: str) -> Comment: ...

    def comments_of(self, place: Place, since: datetime | None = None) -> tuple[Comment, ...]:
        """All comments of an issue, or those changed since a moment, in the order they came."""

    def comments_since(self, repo: str, since: datetime, etag: str = "") -> News | None:
        """What was written on any issue since then; None: as before."""

    def signals_of(self, place: Place) -> tuple[Signal, ...]:
        """The labels that were ever put on an issue, and whom it was assigned to, by whom."""

    def signals_since(
        self, repo: str, since: datetime, labels: Sequence[str], etag: str = ""
    ) -> Signals | None:
        """The same of any issue since then, of these labels at least; None: as before."""

    def permission(self, repo: str, login: str, user_id: int | None = None) -> Permission:
        """What somebody may do; none for whoever took over the login of the person meant."""

    def own_permission(self, repo: str) -> Permission:
        """What the site itself may do there."""

    def react(self, place: Place, comment_id: int, content: str) -> None: ...

    def add_label(self, place: Place, name: str) -> None: ...

    def remove_label(self, place: Place, name: str) -> None:
        """Removing what is not there is fine."""

    def head_of(self, place: Place) -> str:
        """The commit that a pull or merge request ends with now."""

    def set_check(
        self, place: Place, commit: str, state: CheckState, description: str, url: str
    ) -> None:
        """Show on a commit how the site's check stands; the same again is fine."""

    def close(self) -> None: ...


class Service(Protocol):
    """What the module of a tracker offers."""

    def is_on(self) -> bool:
        """Whether there are credentials at all."""

    def options(self) -> Options: ...

    def client(self) -> TrackerClient:
        """The client for the present settings, kept with its connections by each process."""

    def reader(self, seconds: int) -> TrackerClient:
        """A client that only one thread uses, to read what is there within so many seconds."""

    def place_of(self, project: str, work_id: str) -> Place | None:
        """The issue that a work id names; None where the tracker is off or it names none."""
