"""What the fake GitHub remembers: repositories, issues, comments, people, tokens."""

import itertools
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

TOKEN = "ghp_tests0123456789abcdefghijklmnopqrst"
SECRET = "the webhook's secret, ünïcode"
LOGIN = "faber-site"

# What the older of two fields of the permission answer says for each role.
_OLD_NAMES = {"maintain": "write", "triage": "read"}


def now() -> datetime:
    return datetime.now(UTC)


def stamp(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


@dataclass(slots=True, kw_only=True)
class StoredComment:
    id: int
    repo: str
    issue: int
    author: str
    body: str
    created_at: datetime
    updated_at: datetime
    author_id: int
    reactions: list[tuple[str, str]] = field(default_factory=list)

    def as_json(self, url: str) -> dict[str, Any]:
        return {
            "id": self.id,
            "url": f"{url}/repos/{self.repo}/issues/comments/{self.id}",
            "html_url": f"https://github.test/{self.repo}/issues/{self.issue}#issuecomment-{self.id}",
            "issue_url": f"{url}/repos/{self.repo}/issues/{self.issue}",
            "user": user_json(self.author, self.author_id),
            "body": self.body,
            "created_at": stamp(self.created_at),
            "updated_at": stamp(self.updated_at),
            "author_association": "NONE",
            "performed_via_github_app": None,
        }


@dataclass(slots=True, kw_only=True)
class StoredIssue:
    repo: str
    number: int
    title: str
    body: str
    author: str
    author_id: int
    labels: list[str] = field(default_factory=list)
    assignees: list[str] = field(default_factory=list)
    state: str = "open"

    def as_json(self, url: str) -> dict[str, Any]:
        return {
            "number": self.number,
            "url": f"{url}/repos/{self.repo}/issues/{self.number}",
            "html_url": f"https://github.test/{self.repo}/issues/{self.number}",
            "title": self.title,
            "body": self.body,
            "user": user_json(self.author, self.author_id),
            "labels": [{"name": name, "color": "ededed"} for name in self.labels],
            "assignees": [{"login": login} for login in self.assignees],
            "state": self.state,
        }


@dataclass(slots=True, kw_only=True)
class StoredEvent:
    """A label that was put on or taken off, or an assignment; the API has more kinds."""

    id: int
    repo: str
    issue: int
    event: str
    name: str  # of the label, or who it is assigned to
    author: str
    author_id: int
    at: datetime
    named_id: int = 0

    def as_json(self, url: str) -> dict[str, Any]:
        author = user_json(self.author, self.author_id)
        base = {"id": self.id, "event": self.event, "created_at": stamp(self.at), "actor": author}
        if "label" in self.event:
            return {**base, "label": {"name": self.name, "color": "ededed"}}
        assignee = user_json(self.name, self.named_id)
        return {**base, "actor": assignee, "assignee": assignee, "assigner": author}


@dataclass(slots=True, kw_only=True)
class StoredStatus:
    """A status of a commit; the newest of a context counts."""

    repo: str
    sha: str
    context: str
    state: str
    description: str
    target_url: str
    author: str


@dataclass(slots=True, kw_only=True)
class StoredPull:
    repo: str
    number: int
    title: str
    body: str
    head: str
    base: str
    sha: str

    def as_json(self, url: str) -> dict[str, Any]:
        return {
            "number": self.number,
            "url": f"{url}/repos/{self.repo}/pulls/{self.number}",
            "html_url": f"https://github.test/{self.repo}/pull/{self.number}",
            "title": self.title,
            "body": self.body,
            "state": "open",
            "head": {"ref": self.head, "sha": self.sha},
            "base": {"ref": self.base},
        }


@dataclass(slots=True, kw_only=True)
class InstallationToken:
    installation: int
    expires: float


def user_json(login: str, number: int) -> dict[str, Any] | None:
    """An empty login is an account that is gone."""
    if not login:
        return None
    return {"login": login, "id": number, "type": "Bot" if login.endswith("[bot]") else "User"}


class State:
    """Everything people did; repositories are found without regard to case."""

    def __init__(self) -> None:
        self.clock: Callable[[], datetime] = now
        self.lock = threading.RLock()
        self.tokens = {TOKEN: LOGIN}
        self.issues: dict[tuple[str, int], StoredIssue] = {}
        self.by_id: dict[int, StoredComment] = {}
        self.pulls: dict[tuple[str, int], StoredPull] = {}
        self.events: list[StoredEvent] = []
        self.statuses: list[StoredStatus] = []
        self.old_commits: set[str] = set()  # that pull requests ended with before
        self.repositories: dict[str, str] = {}
        self.roles: dict[tuple[str, str], tuple[str, str]] = {}
        self.users: dict[str, int] = {LOGIN.lower(): 501}  # the number stays, the login may change
        self.app_id = ""
        self.app_slug = "faber-app"
        self.app_public_key = ""
        self.manifests: dict[str, dict[str, Any]] = {}  # by the code that is exchanged for the App
        self.made_from: dict[str, Any] = {}
        self.installations: dict[str, int] = {}
        self.installation_tokens: dict[str, InstallationToken] = {}
        self.token_seconds = 3600
        self._ids = itertools.count(1001)
        self._people = itertools.count(502)

    def add_repository(self, repo: str) -> None:
        self.repositories.setdefault(repo.lower(), repo)

    def add_issue(
        self,
        repo: str,
        number: int | None = None,
        *,
        title: str = "A title",
        body: str = "What is wrong.",
        author: str = "ida",
        labels: tuple[str, ...] = (),
    ) -> int:
        """Also makes the repository; gives the issue's number."""
        with self.lock:
            self.add_repository(repo)
            number = number or self._next_number(repo)
            self.issues[repo.lower(), number] = StoredIssue(
                repo=self.repositories[repo.lower()],
                number=number,
                title=title,
                body=body,
                author=author,
                author_id=self.add_user(author),
                labels=list(labels),
            )
        return number

    def add_pull(
        self, repo: str, *, head: str, sha: str = "", title: str = "A change", body: str = ""
    ) -> StoredPull:
        """A pull request into main; the commit it ends with is whatever its maker says."""
        with self.lock:
            self.add_repository(repo)
            made = StoredPull(
                repo=self.repositories[repo.lower()],
                number=self._next_number(repo),
                title=title,
                body=body,
                head=head,
                base="main",
                sha=sha or "c0ffee" * 6 + "c0ff",
            )
            self.pulls[repo.lower(), made.number] = made
        return made

    def push(self, pull: StoredPull, sha: str) -> None:
        """Someone pushes to the branch of a pull request."""
        with self.lock:
            self.old_commits.add(pull.sha)
            pull.sha = sha

    def _next_number(self, repo: str) -> int:
        """Issues and pull requests are counted together."""
        taken = [known for name, known in (*self.issues, *self.pulls) if name == repo.lower()]
        return max(taken, default=0) + 1

    def add_user(self, login: str) -> int:
        """Somebody's number; who has none yet gets one."""
        with self.lock:
            return self.users.get(login.lower()) or self.users.setdefault(
                login.lower(), next(self._people)
            )

    def rename_user(self, login: str, new: str) -> None:
        """The person keeps their number, roles and comments; anybody may take the old login."""
        with self.lock:
            number = self.users.pop(login.lower())
            self.users[new.lower()] = number
            for repo, name in list(self.roles):
                if name == login.lower():
                    self.roles[repo, new.lower()] = self.roles.pop((repo, name))
            for made in self.by_id.values():
                if made.author_id == number:
                    made.author = new

    def issue(self, repo: str, number: int) -> StoredIssue:
        return self.issues[repo.lower(), number]

    def grant(self, repo: str, login: str, role: str, *, extends: str = "") -> None:
        """A role of GitHub's, or one of an organisation's own that extends one of them."""
        with self.lock:
            self.add_repository(repo)
            self.add_user(login)
            old = extends or _OLD_NAMES.get(role, role)
            self.roles[repo.lower(), login.lower()] = (old, role)

    def comment(self, repo: str, issue: int, body: str, *, author: str = "rita") -> StoredComment:
        """Someone comments; a login that ends in [bot] is a bot, an empty one is gone since."""
        with self.lock:
            moment = self.clock().replace(microsecond=0)
            made = StoredComment(
                id=next(self._ids),
                repo=self.issue(repo, issue).repo,
                issue=issue,
                author=author,
                author_id=self.add_user(author),
                body=body,
                created_at=moment,
                updated_at=moment,
            )
            self.by_id[made.id] = made
        return made

    def label(self, repo: str, issue: int, name: str, *, author: str = "rita") -> StoredEvent:
        """Someone puts a label on an issue."""
        with self.lock:
            labels = self.issue(repo, issue).labels
            labels += [name] if name not in labels else []
            return self._happened(repo, issue, "labeled", name, author)

    def unlabel(self, repo: str, issue: int, name: str, *, author: str = "rita") -> StoredEvent:
        with self.lock:
            self.issue(repo, issue).labels.remove(name)
            return self._happened(repo, issue, "unlabeled", name, author)

    def assign(self, repo: str, issue: int, login: str, *, author: str = "rita") -> StoredEvent:
        with self.lock:
            self.issue(repo, issue).assignees.append(login)
            return self._happened(repo, issue, "assigned", login, author)

    def _happened(self, repo: str, issue: int, event: str, name: str, author: str) -> StoredEvent:
        made = StoredEvent(
            id=next(self._ids),
            repo=self.issue(repo, issue).repo,
            issue=issue,
            event=event,
            name=name,
            author=author,
            author_id=self.add_user(author),
            at=self.clock().replace(microsecond=0),
            named_id=self.add_user(name) if event == "assigned" else 0,
        )
        self.events.append(made)
        return made

    def edit(self, comment_id: int, body: str) -> StoredComment:
        with self.lock:
            found = self.by_id[comment_id]
            found.body = body
            found.updated_at = self.clock().replace(microsecond=0)
        return found

    def delete(self, comment_id: int) -> StoredComment:
        with self.lock:
            return self.by_id.pop(comment_id)

    def comments(self, repo: str, issue: int | None = None) -> list[StoredComment]:
        """What can be read there now, in the order it was written."""
        with self.lock:
            return [
                comment
                for _, comment in sorted(self.by_id.items())
                if comment.repo.lower() == repo.lower() and issue in (None, comment.issue)
            ]
